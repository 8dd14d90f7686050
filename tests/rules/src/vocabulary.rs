//! The field's words: what the project used to call things stands nowhere any more.

/// A word or phrase that must not stand, out of `vocabulary.tsv`.
pub struct Entry<'a> {
    /// The word, as it is written; a capital counts.
    pub word: &'a str,
    /// What to write instead.
    pub instead: &'a str,
    /// Where it must not stand: prefixes of paths from `/`, the project's folder; one with `!` is left out.
    pub places: Vec<&'a str>,
}

/// The entries of the table: a line each, with tabs between word, replacement and places.
pub fn entries(table: &str) -> Vec<Entry<'_>> {
    let lines = table.lines().skip(1).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let mut cells = line.split('\t');
            let mut cell = || cells.next().expect("three cells in a line of vocabulary.tsv");
            Entry { word: cell(), instead: cell(), places: cell().split(' ').collect() }
        })
        .collect()
}

impl Entry<'_> {
    /// The lines of a file where the word stands.
    pub fn found_in(&self, path: &str, text: &str) -> Vec<usize> {
        let (left_out, places): (Vec<&str>, Vec<&str>) =
            self.places.iter().copied().partition(|place| place.starts_with('!'));
        let path = format!("/{path}");
        let holds = places.iter().any(|place| path.starts_with(place))
            && !left_out.iter().any(|place| path.starts_with(&place[1..]));
        let lines = (1..).zip(text.lines()).filter(|(_, line)| holds && self.stands_in(line));
        lines.map(|(n, _)| n).collect()
    }

    fn stands_in(&self, line: &str) -> bool {
        line.match_indices(self.word).any(|(at, word)| {
            !goes_on(line[..at].chars().next_back(), word.chars().next())
                && !goes_on(word.chars().next_back(), line[at + word.len()..].chars().next())
        })
    }
}

/// Whether two neighbours are of one word.
fn goes_on(left: Option<char>, right: Option<char>) -> bool {
    let of_a_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    of_a_word(left) && of_a_word(right)
}
