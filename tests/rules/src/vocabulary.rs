//! The field's words: what the project used to call things stands nowhere any more.

/// A word or phrase that must not stand, out of `vocabulary.tsv`.
pub struct Entry<'a> {
    /// The word, as it is written; a capital counts.
    pub word: &'a str,
    /// What to write instead.
    pub instead: &'a str,
    /// Path prefixes where it must not stand; one with `!` is left out of them.
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
        let holds = places.iter().any(|place| path.starts_with(place))
            && !left_out.iter().any(|place| path.starts_with(&place[1..]));
        let lines = (1..).zip(text.lines()).filter(|(_, line)| holds && self.stands_in(line));
        lines.map(|(n, _)| n).collect()
    }

    fn stands_in(&self, line: &str) -> bool {
        line.match_indices(self.word).any(|(at, word)| {
            let before = line[..at].chars().next_back();
            let after = line[at + word.len()..].chars().next();
            ![before, after].into_iter().flatten().any(is_of_a_word)
        })
    }
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
