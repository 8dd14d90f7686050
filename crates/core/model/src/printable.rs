//! Text of others, made fit for a terminal and for lines.

/// The text with `?` for what a terminal would obey or a reader could not see: control characters, ends of
/// lines and marks of direction. Any user names his processes, and root looks at them.
pub fn printable(text: &str) -> String {
    text.replace(is_unprintable, "?")
}

fn is_unprintable(c: char) -> bool {
    let directs =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || directs || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_replaced_and_nothing_else() {
        assert_eq!(printable("a\u{1b}]0;x\u{7}\nb\u{9b}2J\u{202e}c"), "a?]0;x??b?2J?c");
        assert_eq!(printable("kworker/0:1 ünï \"\\\""), "kworker/0:1 ünï \"\\\"");
    }
}
