//! Names of a file's tables, found without walking the list of them.

use std::collections::BTreeMap;

use super::problem::did_you_mean;
use super::value::clipped;

/// Names that are told where none is similar.
const MOST_NAMED: usize = 3;

/// Names and where each stands in the list that they are of.
pub(super) struct Names {
    /// The table that has them: `group`, `program`.
    word: &'static str,
    places: BTreeMap<String, usize>,
}

impl Names {
    pub(super) fn new(word: &'static str) -> Names {
        Names { word, places: BTreeMap::new() }
    }

    /// Adds a name. False: it was there, and stays where it was.
    pub(super) fn add(&mut self, name: &str, place: usize) -> bool {
        let is_new = !self.places.contains_key(name);
        if is_new {
            self.places.insert(name.to_string(), place);
        }
        is_new
    }

    /// The place of a name.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// The place of a name, or what is wrong with it.
    pub(super) fn find(&self, name: &str) -> Result<usize, String> {
        self.place(name).ok_or_else(|| {
            let (word, hint) = (self.word, self.hint(name, |_| true));
            format!("no {word} `{}`; expected a [[{word}]] of that name{hint}", clipped(name))
        })
    }

    /// `; did you mean ...?` where one of these places has a similar name, else the first of their names.
    pub(super) fn hint(&self, wrong: &str, fits: impl Fn(usize) -> bool) -> String {
        let names = self.places.iter().filter(|(_, place)| fits(**place));
        let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
        let known: Vec<String> =
            names.iter().take(MOST_NAMED).map(|name| format!("\"{name}\"")).collect();
        match did_you_mean(wrong, &names) {
            hint if hint.is_empty() && !known.is_empty() => {
                format!("; there is {}", known.join(", "))
            }
            hint => hint,
        }
    }
}
