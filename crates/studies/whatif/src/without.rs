//! A scenario without some of its programs.

use model::{Failure, did_you_mean};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use crate::others::plain;

/// The text without programs of these names, with their threads and changes, and a sentence for each name
/// that stands for others. Of what a trace alone knows the process's name will do: `rustc` is every
/// `rustc-4711-p3`.
///
/// [`Failure::Input`] where there is none, with those that there are.
pub fn without(text: &str, names: &[String]) -> Result<(String, Vec<String>), Failure> {
    if names.is_empty() {
        return Ok((text.to_string(), Vec::new()));
    }
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| Failure::Input(format!("the scenario of the trace: {error}")))?;
    let mut said = Vec::new();
    for name in names {
        let gone = remove(&mut document, name)?;
        let meant = format!("without {name}: {} gone", list(&gone));
        said.extend((gone != [name.clone()]).then_some(meant));
    }
    Ok((document.to_string(), said))
}

/// The programs that go: the one of this name, or else the processes that have it.
fn remove(document: &mut DocumentMut, name: &str) -> Result<Vec<String>, Failure> {
    let programs = tables(document, "program");
    let all: Vec<String> = programs.iter().filter_map(|one| word(one, "name")).collect();
    let mut named: Vec<String> = all.iter().filter(|own| *own == name).cloned().collect();
    if named.is_empty() {
        let wanted = plain(name);
        named = all.iter().filter(|own| is_process(own, &wanted)).cloned().collect();
    }
    if named.is_empty() {
        let names: Vec<&str> = all.iter().map(String::as_str).collect();
        let hint = did_you_mean(name, &names);
        let there = names.join(", ");
        return Err(Failure::Input(format!(
            "--without {name}: no such program{hint}: there is {there}"
        )));
    }
    let is_of = |table: &Table, key: &str, names: &[String]| {
        word(table, key).is_some_and(|own| names.contains(&own))
    };
    let goes = |one: &&Table| is_of(one, "name", &named) || is_of(one, "process", &named);
    let gone: Vec<String> =
        programs.iter().filter(goes).filter_map(|one| word(one, "name")).collect();
    programs.retain(|one| !is_of(one, "name", &gone));
    tables(document, "change").retain(|one| !is_of(one, "program", &gone));
    Ok(named)
}

/// Whether a program of a scenario is a process of this name that a trace saw: `NAME-4711-p3`.
fn is_process(own: &str, name: &str) -> bool {
    let rest = own.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
    let mut parts = rest.into_iter().flat_map(|rest| rest.split('-')).rev();
    let is_number = |part: &str| part.parse::<u64>().is_ok();
    let is_place = |part: &str| part.strip_prefix('p').is_some_and(is_number);
    own == name
        || parts.next().is_some_and(is_place)
            && parts.next().is_none_or(is_number)
            && parts.next().is_none()
}

/// So many names are listed.
const LISTED: usize = 5;

fn list(names: &[String]) -> String {
    let listed = names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    let verb = if names.len() == 1 { "is" } else { "are" };
    match names.len().saturating_sub(LISTED) {
        0 => format!("{listed} {verb}"),
        more => format!("{listed} and {more} more {verb}"),
    }
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
        for (name, meant) in [("sh", true), ("sh[7]", true), ("sh-7-p2", false)] {
            let (left, said) = without(TEXT, &[name.to_string()]).expect("it is there");
            assert!(left.contains("web") && !left.contains("sh"), "{left}");
            let meant = meant.then(|| format!("without {name}: sh-7-p2 is gone"));
            assert_eq!(said, Vec::from_iter(meant));
        }
        assert_eq!(without(TEXT, &[]).expect("as it was"), (TEXT.to_string(), Vec::new()));
        let said = without(TEXT, &["bash".into()]).unwrap_err();
        assert_eq!(said.exit_code(), 2);
        assert!(
            said.to_string().contains("no such program")
                && said.to_string().contains("web, sh-7-p2")
        );
    }

    /// `batch` is not the beginning of other names.
    #[test]
    fn no_other_program_goes_whose_name_begins_alike() {
        let names = ["batch-night", "batch-7-p2", "batch-8-p3", "batch-night-9-p4", "batch-p5"];
        let text = |names: &[&str]| -> String {
            names.iter().map(|name| format!("[[program]]\nname = \"{name}\"\n\n")).collect()
        };
        let left = |names: &[&str]| {
            let (left, said) = without(&text(names), &["batch".into()]).expect("it is there");
            let left: Vec<String> =
                left.split('"').skip(1).step_by(2).map(str::to_string).collect();
            (left, said)
        };
        let (others, said) = left(&names);
        assert_eq!(others, ["batch-night", "batch-night-9-p4"]);
        assert_eq!(said, ["without batch: batch-7-p2, batch-8-p3, batch-p5 are gone"]);
        let (others, said) = left(&[&names[..], &["batch"]].concat());
        assert!(
            others == names && said.is_empty(),
            "the one of that very name: {others:?} {said:?}"
        );
        assert!(without(&text(&names[..1]), &["batch".into()]).is_err());
    }
}
