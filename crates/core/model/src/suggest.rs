//! The word that was probably meant.

/// The candidate nearest to a misspelt word, if one is near: at most a third of its letters off, one at
/// least.
pub(crate) fn closest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(word, name);
    let near = candidates.iter().copied().min_by_key(|name| distance(name))?;
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
}
