//! Tables of a TOML document that know their place and record what is wrong with them.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::homes::homes;
use super::problem::Problems;
use super::value::{clipped, found};
use crate::suggest::closest;

/// A table of the file.
pub struct Table<'a> {
    /// What it describes, for messages: `machine`, `program`.
    pub word: &'a str,
    /// Where a missing key is reported.
    pub place: Range<usize>,
    /// Where problems go.
    pub problems: &'a Problems,
    entries: &'a DeTable<'a>,
    /// Keys that an unknown one was probably meant to be: they are misspelt and not missing.
    misspelt: RefCell<Vec<String>>,
}

impl<'a> Table<'a> {
    /// The whole document, a scenario or whatever `word` says; what it lacks is reported at its first line.
    pub fn document(word: &'a str, entries: &'a DeTable<'a>, problems: &'a Problems) -> Table<'a> {
        Table { word, place: 0..0, entries, problems, misspelt: RefCell::default() }
    }

    /// The table that a value is; anything else is a problem.
    pub fn of(
        word: &'a str,
        value: &'a Spanned<DeValue<'a>>,
        problems: &'a Problems,
    ) -> Option<Table<'a>> {
        match value.get_ref() {
            DeValue::Table(entries) => Some(Table {
                word,
                place: value.span(),
                entries,
                problems,
                misspelt: RefCell::default(),
            }),
            other => {
                let (found, example) = (found(other), example(word));
                problems
                    .add(value.span(), format!("{word}: found {found}; expected a table{example}"));
                None
            }
        }
    }

    /// Reports every key that is not one of these.
    pub fn expect_keys(&self, known: &[&str]) {
        let unknown = self.entries.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        for key in unknown {
            let word = key.get_ref().as_ref();
            let homes = homes(self.word, word);
            let near = if homes.is_empty() { closest(word, known) } else { None };
            self.misspelt.borrow_mut().extend(near.map(str::to_string));
            let hint = near.map_or_else(
                || match &homes[..] {
                    [] => format!("; expected {}", list(known)),
                    homes => format!("; it belongs {}", list(homes)),
                },
                |near| format!("; did you mean `{near}`?"),
            );
            let text = format!("{}: unknown key `{}`{hint}", self.word, clipped(word));
            self.problems.add(key.span(), text);
        }
    }

    /// The value of a key, unread.
    pub fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.entries.get(key)
    }

    /// Where the value of a key stands; where the table begins if it has no such key.
    pub fn place_of(&self, key: &str) -> Range<usize> {
        self.get(key).map_or(self.place.clone(), Spanned::span)
    }

    /// Reports a problem with the value of a key.
    pub fn wrong(&self, key: &str, text: impl AsRef<str>) {
        self.problems.add(self.place_of(key), format!("{key}: {}", text.as_ref()));
    }

    /// Reads a key that may be absent. `None` also where it is wrong, which is then reported.
    pub fn optional<T>(
        &self,
        key: &str,
        read: impl Fn(&DeValue) -> Result<T, String>,
    ) -> Option<T> {
        match read(self.get(key)?.get_ref()) {
            Ok(value) => Some(value),
            Err(text) => {
                self.wrong(key, text);
                None
            }
        }
    }

    /// Reads a key that must be there. `None` where it is missing or wrong, which is then reported.
    pub fn required<T>(
        &self,
        key: &str,
        read: impl Fn(&DeValue) -> Result<T, String>,
    ) -> Option<T> {
        if self.get(key).is_none() {
            self.missing(&[key]);
        }
        self.optional(key, read)
    }

    /// Reports that none of the keys is there, unless one of them is but misspelt.
    pub fn missing(&self, keys: &[&str]) {
        let misspelt = self.misspelt.borrow();
        if !keys.iter().any(|key| misspelt.iter().any(|known| known == key)) {
            let text = format!("{}: missing key `{}`", self.word, keys.join("` or `"));
            self.problems.add(self.place.clone(), text);
        }
    }

    /// The table under a key that must be there.
    pub fn table(&self, key: &'a str) -> Option<Table<'a>> {
        match self.get(key) {
            Some(value) => Table::of(key, value, self.problems),
            None => {
                self.missing(&[key]);
                None
            }
        }
    }

    /// The table under a key that may be absent.
    pub fn sub(&self, key: &'a str) -> Option<Table<'a>> {
        Table::of(key, self.get(key)?, self.problems)
    }

    /// Reads the entries of a list that may be absent, each with its place; `example` is such a list. `None`
    /// also where an entry is wrong, which is then reported.
    pub fn list<T>(
        &self,
        key: &str,
        example: &str,
        read: impl Fn(&DeValue) -> Result<T, String>,
    ) -> Option<Vec<(T, Range<usize>)>> {
        let items = match self.get(key)?.get_ref() {
            DeValue::Array(items) if !items.is_empty() => items,
            DeValue::Array(_) => {
                let text = "found an empty list; expected at least one entry, such as";
                self.wrong(key, format!("{text} {example}"));
                return None;
            }
            other => {
                self.wrong(
                    key,
                    format!("found {}; expected a list such as {example}", found(other)),
                );
                return None;
            }
        };
        let (mut entries, mut is_whole) = (Vec::with_capacity(items.len()), true);
        for item in items {
            match read(item.get_ref()) {
                Ok(entry) => entries.push((entry, item.span())),
                Err(text) => {
                    self.problems.add(item.span(), format!("{key}: {text}"));
                    is_whole = false;
                }
            }
        }
        is_whole.then_some(entries)
    }

    /// The tables of `[[key]]`, none if it is absent.
    pub fn tables(&self, key: &'a str) -> Vec<Table<'a>> {
        let Some(value) = self.get(key) else { return Vec::new() };
        match value.get_ref() {
            DeValue::Array(items) => {
                items.iter().filter_map(|item| Table::of(key, item, self.problems)).collect()
            }
            other => {
                let header = if key == "states" { "machine.idle.states" } else { key };
                let (found, example) = (found(other), example(key).replacen('{', "[{", 1));
                let close = if example.is_empty() { "" } else { "]" };
                self.wrong(
                    key,
                    format!("found {found}; expected tables, each under [[{header}]], or a list{example}{close}"),
                );
                Vec::new()
            }
        }
    }
}

/// `"a", "b" or "c"`, as they stand in the file.
pub(super) fn quoted(words: &[&str]) -> String {
    list(&words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>())
}

/// An entry of a scenario's table where one is expected; empty for other files' tables.
fn example(word: &str) -> &'static str {
    match word {
        "machine" => " such as { cpus = 4 }",
        "interrupts" | "idle" | "frequency" | "memory" | "kernel" | "migration" => {
            ", {} for what is usual"
        }
        "states" => " such as { name = \"C1\", exit = \"2us\", residency = \"2us\" }",
        "arrivals" => " such as { rate = \"100/s\" }",
        "group" => " such as { name = \"web-1\" }",
        "program" => " such as { name = \"web-1\", kind = \"batch\" }",
        "change" => " such as { at = \"1s\", offline = 1 }",
        _ => "",
    }
}

/// `a, b or c`.
pub(super) fn list<S: Borrow<str>>(words: &[S]) -> String {
    match words {
        [] => "nothing".to_string(),
        [word] => word.borrow().to_string(),
        [first @ .., last] => format!("{} or {}", first.join(", "), last.borrow()),
    }
}
