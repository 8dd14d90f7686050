//! What is told of a text that is no TOML: where quotes alone are missing.

use std::ops::Range;

use toml::de::DeTable;

/// What ends a value that has no quotes.
const ENDS: [char; 5] = [',', ']', '}', '#', '='];

/// `; texts stand in quotes: "60%"` where the line of a place can be read once its value stands in quotes.
pub(super) fn hint(text: &str, at: usize) -> Option<String> {
    [&ENDS[..], &['#']].into_iter().find_map(|ends| in_quotes(text, value(text, at, ends)?))
}

fn in_quotes(text: &str, value: Range<usize>) -> Option<String> {
    let bare = text[value.clone()].trim_matches(['"', '\'', '“', '”', '`']);
    let written = match bare.to_ascii_lowercase().as_str() {
        "" => return None,
        flag @ ("true" | "false") => flag.to_string(),
        _ => format!("\"{bare}\""),
    };
    let (before, after) = (&text[..value.start], &text[value.end..]);
    let mended = format!("{before}{written}{after}");
    let line_end = after.find('\n').map_or(mended.len(), |end| mended.len() - after.len() + end);
    let is_read = match DeTable::parse(&mended) {
        Ok(_) => true,
        Err(next) => next.span().is_some_and(|span| span.start > line_end),
    };
    let what = if written.starts_with('"') {
        "texts stand in quotes"
    } else {
        "flags stand in small letters"
    };
    is_read.then(|| format!("; {what}: {written}"))
}

/// The value in which a place of a text lies, or behind which: from the last `=`, `[` or `,` of its line, or
/// from its begin.
fn value(text: &str, at: usize, ends: &[char]) -> Option<Range<usize>> {
    let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at))?;
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let rest = text[line..].find('\n').map_or(text.len(), |end| line + end);
    let first = line + text[line..at].rfind(['=', '[', ',']).map_or(0, |before| before + 1);
    let end = text[first..rest].find(ends).map_or(rest, |end| first + end);
    let value = &text[first..end];
    // What stands before it is a key.
    if text[end..].starts_with('=') || value.trim_start().starts_with('=') {
        return None;
    }
    let (front, back) = (value.len() - value.trim_start().len(), value.trim_end().len());
    (front < back).then(|| first + front..first + back)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Option<String> {
        hint(text, DeTable::parse(text).expect_err("no TOML").span().expect("a place").start)
    }

    #[test]
    fn a_value_without_quotes_is_shown_with_them() {
        for (text, quoted) in [
            ("a = 1\nb = 60%\nc = 1", "\"60%\""),
            ("a = 50ms/100ms # half", "\"50ms/100ms\""),
            ("a = 10ms", "\"10ms\""),
            ("a = batch", "\"batch\""),
            ("a = \"open", "\"open\""),
            ("a = { b = 12k/s, c = 1 }", "\"12k/s\""),
            ("a = [1ms, 2]", "\"1ms\""),
            ("a = “10ms”", "\"10ms\""),
            ("a = 0-3,8 # CPUs", "\"0-3,8\""),
            ("a = [\n  1ms,\n  2ms\n]", "\"1ms\""),
        ] {
            let said = said(text);
            assert!(said.as_ref().is_some_and(|said| said.contains(quoted)), "{text}: {said:?}");
        }
        assert_eq!(said("a = True").as_deref(), Some("; flags stand in small letters: true"));
    }

    /// The controls: quotes would not mend these.
    #[test]
    fn nothing_is_told_where_quotes_are_not_what_is_missing() {
        for text in ["a = ", "a b = 1", "[a", "a = 1\na = 2", "a = = 1", "a"] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
