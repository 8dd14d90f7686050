//! What is wrong with a file, gathered over all of it and shown with the lines it is about.

use std::cell::RefCell;
use std::ops::Range;

use crate::Failure;
use crate::suggest::closest;

/// Problems that are shown: each costs a look through the file, and no one reads more at a time.
const MOST_SHOWN: usize = 50;
/// Characters of a line that are shown before the place and in all.
const SHOWN: (usize, usize) = (120, 200);
/// Characters of what is said to a problem.
const LONGEST_TEXT: usize = 1_000;

/// The problems of one file. Readers add to it and go on, so that one look shows all of them, up to the first
/// fifty.
#[derive(Default)]
pub struct Problems(RefCell<Vec<Problem>>);

struct Problem {
    place: Range<usize>,
    text: String,
}

impl Problems {
    /// Adds a problem at a range of bytes of the file, unless there are enough.
    pub fn add(&self, place: Range<usize>, text: impl Into<String>) {
        if !self.are_enough() {
            let text: String = text.into().chars().take(LONGEST_TEXT).collect();
            let text = text.replace(|c| is_unprintable(c) && c != '\n', "?");
            self.0.borrow_mut().push(Problem { place, text });
        }
    }

    /// Whether no more are shown, so that a reader need not look for further ones.
    pub fn are_enough(&self) -> bool {
        self.0.borrow().len() >= MOST_SHOWN
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// All of them in the file's order, as one [`Failure::Input`].
    pub fn into_failure(self, source: &str, file: &str) -> Failure {
        let more = if self.are_enough() { "\nMend these first: there may be more." } else { "" };
        let mut problems = self.0.into_inner();
        problems.sort_by_key(|problem| problem.place.start);
        let shown: Vec<String> =
            problems.iter().map(|problem| problem.show(source, file)).collect();
        Failure::Input(shown.join("\n") + more)
    }
}

impl Problem {
    /// `file:line:column: text`, the line, and carets below the place.
    fn show(&self, source: &str, file: &str) -> String {
        let start = floor(source, self.place.start);
        let end = floor(source, self.place.end.max(start));
        let line_start = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = source[start..].find(['\n', '\r']).map_or(source.len(), |at| start + at);
        let number = 1 + source.as_bytes()[..line_start].iter().filter(|b| **b == b'\n').count();
        let column = source[line_start..start].chars().count() + 1;
        // Of a very long line the part around the place.
        let shown = back(source, line_start, start, SHOWN.0);
        let line: String = source[shown..line_end].chars().take(SHOWN.1).collect();
        let before = &source[shown..start];
        let room = SHOWN.1.saturating_sub(before.chars().count());
        let marked = source[start..end.min(line_end).max(start)].chars().take(room).count().max(1);
        format!(
            "{file}:{number}:{column}: {text}\n{line}\n    {indent}{carets}",
            text = self.text,
            line = format!("    {}", line.replace(is_unprintable, "?")).trim_end(),
            indent = before.replace(|c| c != '\t', " "),
            carets = "^".repeat(marked),
        )
    }
}

/// So many characters back from a place, and not beyond another before it.
fn back(source: &str, first: usize, from: usize, characters: usize) -> usize {
    let before = source[first..from].char_indices().rev().take(characters);
    before.last().map_or(from, |(at, _)| first + at)
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
    fn a_very_long_line_is_shown_around_its_place() {
        let source = format!("{}WRONG{}", "µ".repeat(1_000), "x".repeat(1_000));
        let said = shown(&source, 2_000..2_005);
        let [head, line, carets] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
        assert_eq!(head, "a.toml:1:1001: wrong");
        assert!(line.starts_with("    µ") && line.contains("WRONG") && line.len() < 500, "{line}");
        let column = |text: &str| text.chars().take_while(|c| !"W^".contains(*c)).count();
        assert_eq!((column(line), carets.matches('^').count()), (column(carets), 5));
    }

    #[test]
    fn no_more_than_fifty_are_shown() {
        let problems = Problems::default();
        (0..49).for_each(|_| problems.add(0..0, "wrong"));
        assert!(!problems.are_enough(), "the control");
        (0..100_000).for_each(|_| problems.add(0..0, "wrong"));
        let said = problems.into_failure("a", "a.toml").to_string();
        assert_eq!(said.matches("a.toml:1:1: wrong").count(), 50);
        assert!(said.ends_with("there may be more."), "{said}");
    }

    #[test]
    fn terminals_get_no_control_characters() {
        let problems = Problems::default();
        problems.add(0..0, "found `\u{1b}[2J\u{9b}2J`");
        let said = problems.into_failure("", "a.toml").to_string();
        assert!(said.starts_with("a.toml:1:1: found `?[2J?2J`\n"), "{said}");
        assert_eq!(shown("\u{1b}[2J", 0..1), "a.toml:1:1: wrong\n    ?[2J\n    ^");
    }
}
