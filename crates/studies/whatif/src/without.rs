//! A scenario without some of its programs.

use model::{Failure, did_you_mean};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use crate::others::plain;

/// The text without programs of these names, with their threads and changes. Of what a trace alone knows the
/// process's name will do: `rustc` is every `rustc-4711-p3`.
///
/// [`Failure::Input`] where there is none, with those that there are.
pub fn without(text: &str, names: &[String]) -> Result<String, Failure> {
    if names.is_empty() {
        return Ok(text.to_string());
    }
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| Failure::Input(format!("the scenario of the trace: {error}")))?;
    for name in names {
        remove(&mut document, name)?;
    }
    Ok(document.to_string())
}

fn remove(document: &mut DocumentMut, name: &str) -> Result<(), Failure> {
    let wanted = plain(name);
    let fits = |own: &str| own == name || own == wanted || own.starts_with(&format!("{wanted}-"));
    let programs = tables(document, "program");
    let all: Vec<String> = programs.iter().filter_map(|one| word(one, "name")).collect();
    let gone: Vec<String> = all.iter().filter(|own| fits(own)).cloned().collect();
    if gone.is_empty() {
        let names: Vec<&str> = all.iter().map(String::as_str).collect();
        let hint = did_you_mean(name, &names);
        let there = names.join(", ");
        return Err(Failure::Input(format!(
            "--without {name}: no such program{hint}: there is {there}"
        )));
    }
    let is_gone = |own: Option<String>| own.is_some_and(|own| gone.contains(&own));
    programs.retain(|one| !is_gone(word(one, "name")) && !is_gone(word(one, "process")));
    tables(document, "change").retain(|one| !is_gone(word(one, "program")));
    Ok(())
}

fn tables<'a>(document: &'a mut DocumentMut, key: &str) -> &'a mut ArrayOfTables {
    let item = document.entry(key).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    item.as_array_of_tables_mut().expect("a scenario that was read has tables there")
}

fn word(table: &Table, key: &str) -> Option<String> {
    table.get(key)?.as_str().map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[[program]]\nname = \"web\"\n\n[[program]]\nname = \"sh-7-p2\"\n\n\
        [[change]]\nat = \"0ns\"\nprogram = \"sh-7-p2\"\ncpus = [1]\n\n\
        [[program]]\nname = \"sh-7-p2-t2\"\nprocess = \"sh-7-p2\"\n";

    #[test]
    fn a_program_goes_with_its_threads_and_changes() {
        for name in ["sh", "sh[7]", "sh-7-p2"] {
            let left = without(TEXT, &[name.to_string()]).expect("it is there");
            assert!(left.contains("web") && !left.contains("sh"), "{left}");
        }
        assert_eq!(without(TEXT, &[]).expect("as it was"), TEXT);
        let said = without(TEXT, &["bash".into()]).unwrap_err();
        assert_eq!(said.exit_code(), 2);
        assert!(
            said.to_string().contains("no such program")
                && said.to_string().contains("web, sh-7-p2")
        );
    }
}
