//! What is wrong with a file, gathered over all of it and shown with the lines it is about.

use std::cell::RefCell;
use std::ops::Range;

use crate::Failure;
use crate::suggest::closest;

/// The problems of one file. Readers add to it and go on, so that one look shows all of them.
#[derive(Default)]
pub struct Problems(RefCell<Vec<Problem>>);

struct Problem {
    place: Range<usize>,
    text: String,
}

impl Problems {
    /// Adds a problem at a range of bytes of the file.
    pub fn add(&self, place: Range<usize>, text: impl Into<String>) {
        self.0.borrow_mut().push(Problem { place, text: text.into() });
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// All of them in the file's order, as one [`Failure::Input`].
    pub fn into_failure(self, source: &str, file: &str) -> Failure {
        let mut problems = self.0.into_inner();
        problems.sort_by_key(|problem| problem.place.start);
        let shown: Vec<String> =
            problems.iter().map(|problem| problem.show(source, file)).collect();
        Failure::Input(shown.join("\n"))
    }
}

impl Problem {
    /// `file:line:column: text`, the line, and carets below the place.
    fn show(&self, source: &str, file: &str) -> String {
        let start = floor(source, self.place.start);
        let end = floor(source, self.place.end.max(start));
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = source[start..].find(['\n', '\r']).map_or(source.len(), |at| start + at);
        let number = 1 + source[..line_start].matches('\n').count();
        let before = &source[line_start..start];
        let marked = source[start..end.min(line_end).max(start)].chars().count().max(1);
        format!(
            "{file}:{number}:{column}: {text}\n{line}\n    {indent}{carets}",
            column = before.chars().count() + 1,
            text = self.text,
            line = format!("    {}", source[line_start..line_end].replace(is_unprintable, "?"))
                .trim_end(),
            indent = before.replace(|c| c != '\t', " "),
            carets = "^".repeat(marked),
        )
    }
}

/// The last character boundary up to `at`: a parser's span can point into a character that is no TOML.
fn floor(source: &str, at: usize) -> usize {
    (0..=at.min(source.len())).rev().find(|at| source.is_char_boundary(*at)).unwrap_or(0)
}

/// A file's control characters must not reach the terminal.
fn is_unprintable(c: char) -> bool {
    c.is_control() && c != '\t'
}

/// `; did you mean ...?` where there is a similar word, else nothing.
pub(super) fn did_you_mean(wrong: &str, known: &[&str]) -> String {
    closest(wrong, known).map_or(String::new(), |word| format!("; did you mean `{word}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str, place: Range<usize>) -> String {
        let problems = Problems::default();
        problems.add(place, "wrong");
        problems.into_failure(source, "a.toml").to_string()
    }

    #[test]
    fn columns_count_characters_and_tabs_stay() {
        assert_eq!(shown("x\n\tµ = 12", 8..10), "a.toml:2:6: wrong\n    \tµ = 12\n    \t    ^^");
    }

    #[test]
    fn a_place_over_several_lines_is_marked_to_the_end_of_the_first() {
        assert_eq!(shown("a = [\n1]", 4..8), "a.toml:1:5: wrong\n    a = [\n        ^");
    }

    #[test]
    fn a_place_at_the_end_or_inside_a_character_is_still_shown() {
        assert_eq!(shown("a", 9..12), "a.toml:1:2: wrong\n    a\n     ^");
        assert_eq!(shown("µ", 1..2), "a.toml:1:1: wrong\n    µ\n    ^");
        assert_eq!(shown("", 0..0), "a.toml:1:1: wrong\n\n    ^");
    }

    #[test]
    fn terminals_get_no_control_characters() {
        assert_eq!(shown("\u{1b}[2J", 0..1), "a.toml:1:1: wrong\n    ?[2J\n    ^");
    }
}
