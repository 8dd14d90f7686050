//! Which tables of a scenario have which keys: where a key belongs that stands in another table.

use super::machine::CPU_KEYS;
use super::program::KINDS;
use super::{alteration, groups, mechanisms, program, read};

/// Tables below `[machine]`.
const BELOW: [(&str, &[&str]); 7] = [
    ("interrupts", &mechanisms::INTERRUPTS),
    ("idle", &mechanisms::IDLE),
    ("states", &mechanisms::STATES),
    ("frequency", &mechanisms::FREQUENCY),
    ("memory", &mechanisms::MEMORY),
    ("kernel", &mechanisms::KERNEL),
    ("migration", &mechanisms::MIGRATION),
];
/// The other tables; the first is the scenario itself.
const TABLES: [&str; 5] = ["scenario", "machine", "group", "program", "change"];
/// Tables that are told at most: a key that more of them have is no slip of the place.
const MOST_TOLD: usize = 4;

/// Where a key belongs that a table of this word does not have: `to [[group]]`. Empty where no other table
/// has it, many have it, or the word is none of a scenario's.
pub(super) fn homes(table: &str, key: &str) -> Vec<String> {
    if !TABLES.contains(&table) && !BELOW.iter().any(|(word, _)| *word == table) {
        return Vec::new();
    }
    let all = of_files(key).into_iter().chain(of_kinds(key)).chain(below(key));
    let all: Vec<String> = all.collect();
    if all.len() > MOST_TOLD { Vec::new() } else { all }
}

fn of_files(key: &str) -> Vec<String> {
    let is_machines = CPU_KEYS.contains(&key) || mechanisms::KEYS.contains(&key);
    let has = [
        (read::KEYS.contains(&key) && !TABLES.contains(&key), "before the first table"),
        (is_machines, "to [machine]"),
        (groups::KEYS.contains(&key), "to [[group]]"),
        (program::KEYS.contains(&key), "to [[program]]"),
        (alteration::KEYS.contains(&key), "to [[change]]"),
    ];
    has.iter().filter(|(has, _)| *has).map(|(_, home)| home.to_string()).collect()
}

fn of_kinds(key: &str) -> impl Iterator<Item = String> {
    let kinds = KINDS.into_iter().filter(move |(_, keys)| keys.contains(&key));
    kinds.map(|(kind, _)| format!("to a [[program]] of kind \"{kind}\""))
}

fn below(key: &str) -> impl Iterator<Item = String> {
    let tables = BELOW.into_iter().filter(move |(_, keys)| keys.contains(&key));
    tables.map(|(word, _)| match word {
        "states" => "to [[machine.idle.states]]".to_string(),
        _ => format!("to [machine.{word}]"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_belongs_to_the_tables_that_have_it() {
        assert_eq!(homes("scenario", "promise"), ["to [[group]]"]);
        assert_eq!(homes("machine", "duration"), ["before the first table"]);
        assert_eq!(homes("program", "wait"), ["to a [[program]] of kind \"fork-join\""]);
        assert_eq!(homes("group", "exit"), ["to [[machine.idle.states]]", "to [machine.kernel]"]);
        // The controls: a word of no table, a key that many have, another file's table.
        assert_eq!(homes("scenario", "promis"), [""; 0]);
        assert_eq!(homes("migration", "threads"), [""; 0]);
        assert_eq!(homes("leaf", "duration"), [""; 0]);
    }
}
