//! Other values for keys of a scenario's text: what a sweep varies and `--set` changes.
//!
//! The text is edited, not the scenario: so every change passes the reader's checks, and what ran can be
//! shown and run again.

use std::fmt;
use std::str::FromStr;

use toml_edit::{DocumentMut, Item, Key, TableLike, TomlError, Value};

use crate::suggest::did_you_mean;
use crate::{Failure, Nanos, Scenario};

/// A new value for a key.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The key as it was given.
    key: String,
    path: Vec<Key>,
    value: Value,
}

impl Edit {
    /// A value for a key: names from the file's top with dots between, `program.web.arrivals.utilisation`. A
    /// `[[program]]` or `[[group]]` is named by its `name`; a name with dots or slashes stands in quotes.
    pub fn new(key: &str, value: Value) -> Result<Edit, Failure> {
        let path = Key::parse(key).map_err(|_| {
            let example =
                "expected names with dots between, such as program.web.arrivals.utilisation";
            Failure::Input(format!("key `{key}`: {example}"))
        })?;
        let (key, value) = (key.trim().to_string(), bare(value));
        Ok(Edit { key, path, value })
    }

    /// A span of time for a key.
    pub fn time(key: &str, span: Nanos) -> Result<Edit, Failure> {
        Edit::new(key, Value::from(format!("{}ns", span.0)))
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value as TOML.
    pub fn value(&self) -> String {
        self.value.to_string()
    }
}

/// Without the blanks and comments that stood around it.
fn bare(mut value: Value) -> Value {
    value.decor_mut().clear();
    value
}

impl FromStr for Edit {
    type Err = Failure;

    /// Reads `KEY=VALUE`. A value that is no TOML is a word: `duration=2s`.
    fn from_str(text: &str) -> Result<Edit, Failure> {
        let (key, value) = text.split_once('=').ok_or_else(|| {
            Failure::Input(format!("`{text}`: expected KEY=VALUE, for example duration=2s"))
        })?;
        Edit::new(key, value.trim().parse().unwrap_or_else(|_| Value::from(value.trim())))
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// The text of a scenario with other values. `file` is the name for messages.
///
/// [`Failure::Input`] where a key leads nowhere. Whether the values are right is for
/// [`crate::Scenario::read`] to say.
pub fn edited(text: &str, file: &str, edits: &[Edit]) -> Result<String, Failure> {
    if edits.is_empty() {
        return Ok(text.to_string());
    }
    let mut document: DocumentMut = text.parse().map_err(|error| unread(text, file, &error))?;
    for edit in edits {
        put(document.as_table_mut(), edit)
            .map_err(|wrong| Failure::Input(format!("{file}: key `{}`: {wrong}", edit.key)))?;
    }
    Ok(document.to_string())
}

/// In the words of the scenarios' reader, which has hints.
fn unread(text: &str, file: &str, error: &TomlError) -> Failure {
    let said = Scenario::read(text, file).err();
    said.unwrap_or_else(|| Failure::Input(format!("{file}: {error}")))
}

fn put(top: &mut dyn TableLike, edit: &Edit) -> Result<(), String> {
    let (last, before) = edit.path.split_last().ok_or("expected a name")?;
    let table = walk(top, before)?;
    match table.get_mut(last.get()) {
        Some(Item::Value(value)) => {
            let decor = value.decor().clone();
            *value = edit.value.clone();
            *value.decor_mut() = decor;
        }
        _ => {
            table.insert(last.get(), Item::Value(edit.value.clone()));
        }
    }
    Ok(())
}

/// The table at the end of a path; one of several tables goes by its name.
fn walk<'a>(table: &'a mut dyn TableLike, path: &[Key]) -> Result<&'a mut dyn TableLike, String> {
    let Some((name, rest)) = path.split_first() else { return Ok(table) };
    let name = name.get();
    let keys: Vec<String> = table.iter().map(|(key, _)| key.to_string()).collect();
    let item = table.get_mut(name).ok_or_else(|| absent(name, &keys))?;
    if item.as_array().is_some_and(|list| list.iter().any(Value::is_inline_table)) {
        let list = item.as_array_mut().into_iter().flat_map(|list| list.iter_mut());
        let tables = list.filter_map(Value::as_inline_table_mut);
        return among(tables.map(|table| table as &mut dyn TableLike), name, rest);
    }
    match item {
        Item::ArrayOfTables(tables) => {
            among(tables.iter_mut().map(|table| table as &mut dyn TableLike), name, rest)
        }
        item => {
            let table =
                item.as_table_like_mut().ok_or_else(|| format!("`{name}` holds no keys"))?;
            walk(table, rest)
        }
    }
}

/// The table at the end of a path that begins with the name of one of several.
fn among<'a>(
    tables: impl Iterator<Item = &'a mut dyn TableLike>,
    word: &str,
    path: &[Key],
) -> Result<&'a mut dyn TableLike, String> {
    let (which, rest) = path.split_first().ok_or_else(|| format!("which `{word}`? name one"))?;
    let mut names = Vec::new();
    for table in tables {
        let name = table.get("name").and_then(Item::as_str).unwrap_or_default().to_string();
        if name == which.get() {
            return walk(table, rest);
        }
        names.push(name);
    }
    Err(absent(which.get(), &names))
}

fn absent(name: &str, known: &[String]) -> String {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    format!("there is no `{name}`{}; there is {}", did_you_mean(name, &known), known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# What it shows.\nduration = \"1s\" # long enough\n[machine]\ncpus = 1\n\n\
        [[program]]\nname = \"web\"\narrivals = { law = \"poisson\", utilisation = 0.8 } # busy\n\n\
        [[program]]\nname = \"b.c\"\nthreads = 2\n";

    fn with(edit: &str) -> Result<String, String> {
        edited(TEXT, "a.toml", &[edit.parse().unwrap()]).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_value_changes_and_nothing_else_does() {
        for (edit, before, after) in [
            ("duration=2s", "\"1s\" # long", "\"2s\" # long"),
            ("machine.cpus=4", "cpus = 1", "cpus = 4"),
            ("program.web.arrivals.utilisation=0.9", "0.8 }", "0.9 }"),
            ("program.\"b.c\".threads=7", "threads = 2", "threads = 7"),
        ] {
            assert_eq!(with(edit).unwrap(), TEXT.replace(before, after), "{edit}");
        }
        assert_eq!(edited(TEXT, "a.toml", &[]).unwrap(), TEXT);
    }

    #[test]
    fn a_key_that_is_not_there_is_added_to_its_table() {
        let added = TEXT.replace("cpus = 1\n", "cpus = 1\nsmt = 2\n");
        assert_eq!(with("machine.smt=2").unwrap(), added);
        assert!(with("warm_up=0").unwrap().contains("warm_up = 0\n"));
    }

    #[test]
    fn tables_in_a_list_go_by_their_names_too() {
        let text = "group = [{ name = \"front\", weight = 1 }, { name = \"back\", weight = 2 }]\n";
        let with = |edit: &str| edited(text, "a.toml", &[edit.parse().unwrap()]);
        assert_eq!(with("group.back.weight=7").unwrap(), text.replace("= 2", "= 7"));
        let wrong = with("group.bakc.weight=7").unwrap_err().to_string();
        assert!(wrong.contains("did you mean `back`?"), "{wrong}");
        let numbers = edited("a = [1]\n", "a.toml", &["a.b=1".parse().unwrap()]).unwrap_err();
        assert!(numbers.to_string().contains("`a` holds no keys"), "the control: {numbers}");
    }

    #[test]
    fn a_text_that_cannot_be_edited_is_told_as_one_that_cannot_be_read() {
        let wrong = TEXT.replace("\"1s\"", "1s");
        let said = edited(&wrong, "a.toml", &["duration=2s".parse().unwrap()]).unwrap_err();
        assert!(said.to_string().contains("a.toml:2:12: "), "{said}");
        assert!(said.to_string().ends_with("^^") && said.to_string().contains("\"1s\""), "{said}");
    }

    #[test]
    fn an_unknown_key_names_the_known_ones() {
        for (edit, said) in [
            ("program.wep.threads=1", "there is no `wep` (did you mean `web`?); there is web, b.c"),
            ("maschine.cpus=1", "there is no `maschine` (did you mean `machine`?)"),
            ("duration.seconds=1", "`duration` holds no keys"),
        ] {
            let wrong = with(edit).unwrap_err();
            assert!(wrong.starts_with("a.toml: key `") && wrong.contains(said), "{wrong}");
        }
        for text in ["duration", "a..b=1", "=1"] {
            assert!(text.parse::<Edit>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_edit_prints_as_it_is_read() {
        for (text, printed) in
            [("duration=2s", "duration=\"2s\""), ("machine.cpus = 4", "machine.cpus=4")]
        {
            let edit: Edit = text.parse().unwrap();
            assert_eq!(edit.to_string(), printed);
            assert_eq!(printed.parse::<Edit>().unwrap().to_string(), printed);
        }
    }
}
