//! Files and functions stay small: one that passes the bound is asking which room is missing.

use crate::pages::COLUMNS;

/// Lines of a file at most.
pub const FILE_LINES: usize = 500;
/// Lines of a function at most.
pub const FUNCTION_LINES: usize = 70;
/// Columns of C at most, tabs of 8 (kernel style).
pub const C_COLUMNS: usize = 100;

/// The file's length, if it is too long.
pub fn long_file(text: &str) -> Option<usize> {
    Some(text.lines().count()).filter(|lines| *lines > FILE_LINES)
}

/// Functions that are too long: (line of the head, length).
///
/// Relies on the formatters: a function ends at the first `}` that stands as far left as its head.
pub fn long_functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let heads = lines.iter().enumerate().filter(|(_, line)| is_head(line));
    heads.filter_map(|(at, line)| Some((at + 1, length(&lines[at..], indent(line))?))).collect()
}

/// Lines of C that are too wide.
pub fn wide_lines(text: &str) -> Vec<usize> {
    let columns =
        |line: &str| line.chars().fold(0, |at, c| if c == '\t' { at / 8 * 8 + 8 } else { at + 1 });
    (1..).zip(text.lines()).filter(|(_, line)| columns(line) > C_COLUMNS).map(|(n, _)| n).collect()
}

/// Lines of comments that are wider than prose may be, in a file of this name.
pub fn wide_comments(path: &str, text: &str) -> Vec<usize> {
    let (marks, after_code): (&[&str], &str) =
        if path.ends_with(".py") { (&["#"], "  # ") } else { (&["//", "/*", "*"], " // ") };
    let is_comment = |line: &str| {
        let begins = marks.iter().any(|mark| line.trim_start().starts_with(mark));
        begins || line.split_once(after_code).is_some_and(|(code, _)| !code.contains('"'))
    };
    let wide = |line: &str| line.chars().count() > COLUMNS && is_comment(line);
    (1..).zip(text.lines()).filter(|(_, line)| wide(line)).map(|(n, _)| n).collect()
}

fn length(from_head: &[&str], indent: usize) -> Option<usize> {
    // A function of a trait may have no body.
    let ends = |line: &str| line.trim_start().starts_with('}') || line.ends_with(';');
    let close = |line: &&str| self::indent(line) == indent && ends(line);
    let lines = from_head.iter().position(close)? + 1;
    (lines > FUNCTION_LINES).then_some(lines)
}

fn is_head(line: &str) -> bool {
    let word = line.trim_start();
    let rust = ["fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn ", "const fn ", "pub const fn "];
    let c = !line.starts_with([' ', '\t', '#', '/', '}', '*'])
        && line.contains('(')
        && !line.ends_with(';');
    rust.iter().any(|head| word.starts_with(head)) || c
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
