//! Pages of Markdown: where their links lead, and how long their paragraphs and lines are.

use std::collections::BTreeSet;

/// Words of a paragraph at most.
pub const PARAGRAPH_WORDS: usize = 90;
/// Columns of a line of prose at most.
pub const COLUMNS: usize = 110;

/// What a line of a page is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Heading,
    /// A row of a table, an image alone, a line of a fence or one set apart by four spaces.
    Apart,
    Prose,
}

/// A link of a page: the line where it stands and where it leads.
pub struct Link {
    /// From 1.
    pub line: usize,
    /// As written: `path`, `path#anchor` or `#anchor`.
    pub target: String,
}

/// The links of a page within the project.
pub fn links(text: &str) -> Vec<Link> {
    let prose = lines(text).into_iter().filter(|(_, kind, line)| !is_fence(*kind, line));
    let found = prose.flat_map(|(at, _, line)| {
        let plain = without_code(line);
        let targets = plain.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let ours = targets.filter(|target| !target.contains("://"));
        ours.map(|target| Link { line: at, target: target.to_string() }).collect::<Vec<_>>()
    });
    found.collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
pub fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, kind, line) in lines(text) {
        if kind == Kind::Heading {
            let anchor = anchor(line.trim_start_matches('#').trim());
            let again = (1..).map(|n| format!("{anchor}-{n}")).find(|name| !found.contains(name));
            let name = if found.contains(&anchor) { again } else { Some(anchor) };
            found.extend(name);
        }
    }
    found
}

/// Paragraphs that are too long: (line of the first, words). A point of a list is a paragraph.
pub fn long_paragraphs(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut last = Kind::Blank;
    for (at, kind, line) in lines(text) {
        let words = without_targets(line).split_whitespace().count();
        match found.last_mut() {
            Some(open) if kind == Kind::Prose && last == kind && !begins_point(line) => {
                open.1 += words;
            }
            _ if kind == Kind::Prose => found.push((at, words)),
            _ => {}
        }
        last = kind;
    }
    found.retain(|(_, words)| *words > PARAGRAPH_WORDS);
    found
}

/// Lines of prose that are too wide; one that a single word makes so is not.
pub fn wide_prose(text: &str) -> Vec<usize> {
    let prose = lines(text).into_iter().filter(|(_, kind, _)| *kind == Kind::Prose);
    let wide = prose.filter(|(_, _, line)| {
        line.chars().count() > COLUMNS && line.split_whitespace().count() > 3
    });
    wide.map(|(at, _, _)| at).collect()
}

fn lines(text: &str) -> Vec<(usize, Kind, &str)> {
    let mut fenced = false;
    let mut last = Kind::Blank;
    let kinds = (1..).zip(text.lines()).map(|(at, line)| {
        let is_mark = line.trim_start().starts_with("```");
        last = if fenced || is_mark { Kind::Apart } else { kind(line, last) };
        fenced ^= is_mark;
        (at, last, line)
    });
    kinds.collect()
}

fn kind(line: &str, last: Kind) -> Kind {
    let word = line.trim_start();
    match line {
        _ if word.is_empty() => Kind::Blank,
        _ if line.starts_with('#') => Kind::Heading,
        _ if ["|", "![", "<"].iter().any(|head| word.starts_with(head)) => Kind::Apart,
        _ if line.starts_with("    ") && last != Kind::Prose => Kind::Apart,
        _ => Kind::Prose,
    }
}

/// Whether a line apart is code: in a table and beside an image there may be links.
fn is_fence(kind: Kind, line: &str) -> bool {
    kind == Kind::Apart && !["|", "![", "<"].iter().any(|head| line.trim_start().starts_with(head))
}

fn begins_point(line: &str) -> bool {
    let word = line.trim_start();
    let number = word.trim_start_matches(|c: char| c.is_ascii_digit());
    word.starts_with("* ") || word.starts_with("- ") || (number != word && number.starts_with(". "))
}

/// A line without what stands between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("")
}

fn without_targets(line: &str) -> String {
    let mut pieces = line.split("](");
    let head = pieces.next().unwrap_or_default().to_string();
    pieces.fold(head, |text, piece| text + piece.split_once(')').map_or("", |(_, rest)| rest))
}

fn anchor(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
