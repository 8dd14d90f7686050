//! The word that was probably meant.

/// Candidates that are looked at: comparing a word with each of very many takes minutes.
const MOST_CANDIDATES: usize = 1_000;
/// Bytes of a word that is compared: it costs their product with the candidate's, in time and in memory.
const LONGEST_WORD: usize = 200;

/// The candidate nearest to a misspelt word, if one is near: at most a third of its letters off, one at
/// least. Only the first thousand candidates are looked at, and only words of up to 200 bytes.
pub(crate) fn closest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    if word.len() > LONGEST_WORD {
        return None;
    }
    let distance = |name: &str| strsim::damerau_levenshtein(word, name);
    let short = candidates.iter().copied().take(MOST_CANDIDATES);
    let near = short.filter(|name| name.len() <= LONGEST_WORD).min_by_key(|name| distance(name))?;
    (distance(near) <= (near.chars().count() / 3).max(1)).then_some(near)
}

/// ` (did you mean `WORD`?)` where a candidate is near, else nothing: to stand behind the misspelt word in a
/// message.
pub fn did_you_mean(word: &str, candidates: &[&str]) -> String {
    closest(word, candidates).map_or(String::new(), |near| format!(" (did you mean `{near}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_suggested_and_another_word_is_not() {
        let names = ["default", "nice", "fifo", "rr"];
        assert_eq!(closest("fiof", &names), Some("fifo"));
        assert_eq!(closest("defualt", &names), Some("default"));
        assert_eq!(closest("cts", &names), None);
        assert_eq!(closest("fifo", &[]), None);
    }

    #[test]
    fn a_very_long_word_is_compared_with_nothing() {
        // The control: of this length the matrix of distances would have 10^16 places.
        let long = "f".repeat(100_000_000);
        assert_eq!(closest(&long, &[&long]), None);
        assert_eq!(closest("fiof", &[&long, "fifo"]), Some("fifo"));
    }
}
