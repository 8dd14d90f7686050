//! Prose is read in a window beside something else: comments and pages keep to a width.

/// Columns of a comment in Rust or Python, and of Markdown, at most.
pub const PROSE_COLUMNS: usize = 110;

/// Lines of comments that are too wide, in a file of this name.
pub fn wide_comments(path: &str, text: &str) -> Vec<usize> {
    let (marks, after_code): (&[&str], &str) =
        if path.ends_with(".py") { (&["#"], "  # ") } else { (&["//", "/*", "*"], " // ") };
    too_wide(text, |line| {
        let is_comment = marks.iter().any(|mark| line.trim_start().starts_with(mark));
        is_comment || line.split_once(after_code).is_some_and(|(code, _)| !code.contains('"'))
    })
}

/// Lines of a page that are too wide. Tables, links and fenced code cannot be broken.
pub fn wide_markdown(text: &str) -> Vec<usize> {
    let mut fenced = false;
    too_wide(text, |line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let unbreakable = line.starts_with('|') || line.contains("](") || line.contains("://");
        !fenced && !fence && !unbreakable
    })
}

fn too_wide(text: &str, mut is_prose: impl FnMut(&str) -> bool) -> Vec<usize> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| is_prose(line));
    lines.filter(|(_, line)| line.chars().count() > PROSE_COLUMNS).map(|(n, _)| n).collect()
}
