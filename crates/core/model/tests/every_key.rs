//! Each key of a scenario with values of a wrong type, a wrong unit and out of range: one message each, at
//! the key's line, with a value that can be copied.

mod keys;

use std::collections::BTreeSet;

use keys::{CHANGED, HEAD, KEYS, Key, PROGRAM, text_of};
use model::{Failure, Scenario};

const PAGE: &str = include_str!("../../../../docs/reference/scenarios.md");

/// The place's text with a value for a key, and the key's line from 1 on.
fn document(key: &Key, value: &str) -> (String, usize) {
    let table = text_of(key.place).expect("a known place");
    let head = if table.trim().starts_with('#') { "" } else { HEAD };
    let changed = if table.contains("[[change]]") { CHANGED } else { "" };
    let program = if table.contains("[[program]]") || !changed.is_empty() { "" } else { PROGRAM };
    let text = format!("{head}{changed}{}{program}", table.trim_start());
    let (before, after) = text.split_once("@\n").expect("a line to stand in");
    // What the rest of the table says of the key itself gives way.
    let same = format!("{} = ", key.key);
    let (own, others) = after.split_at(after.find("\n\n").unwrap_or(after.len()));
    let own: Vec<&str> = own.lines().filter(|line| !line.starts_with(&same)).collect();
    let text = format!("{before}{same}{value}\n{}{others}", own.join("\n"));
    (text, before.lines().count() + 1)
}

fn answer(key: &Key, value: &str) -> Result<Scenario, Failure> {
    Scenario::read(&document(key, value).0, "x.toml")
}

/// The message's values that could be copied, as they would stand in a file.
fn examples(message: &str) -> Vec<String> {
    let quoted = message.split('"').skip(1).step_by(2).map(|text| format!("\"{text}\""));
    let closed = |(open, close): (char, char)| {
        let end = message.rfind(close).map_or(0, |end| end + 1);
        let begins = message.match_indices(open).map(|(begin, _)| begin);
        begins.filter_map(move |begin| message.get(begin..end)).map(str::to_string)
    };
    let lists = [('[', ']'), ('{', '}')].into_iter().flat_map(closed);
    let numbers = message.split([' ', ',', ';', '(', ')']).filter(|word| {
        *word == "true" || word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
    });
    let bare = numbers.flat_map(|word| [word.to_string(), format!("\"{word}\"")]);
    let all: Vec<String> = quoted.chain(bare).chain(lists).collect();
    let listed: Vec<String> = all.iter().map(|one| format!("[{one}]")).collect();
    [all, listed].concat()
}

/// What is wrong with the answer to a wrong value, if anything is.
fn fault(key: &Key, wrong: &str) -> Option<String> {
    let Err(failure) = answer(key, wrong) else { return Some("it is taken".to_string()) };
    let (message, line) = (failure.to_string(), document(key, wrong).1);
    let heads: Vec<&str> = message.lines().filter(|one| one.starts_with("x.toml")).collect();
    let is_copied = |example: &String| answer(key, example).is_ok();
    let what = match &heads[..] {
        _ if failure.exit_code() != 2 => "the exit code",
        [head] if !head.starts_with(&format!("x.toml:{line}:")) => "the line",
        [head] if !examples(head).iter().any(is_copied) => "nothing to copy",
        [_] => return None,
        _ => "several messages",
    };
    Some(format!("{what}: {message}"))
}

#[test]
fn a_wrong_value_of_any_key_gets_one_message_with_one_that_is_right() {
    let mut faults = Vec::new();
    for key in KEYS {
        assert!(key.wrong.len() > 1, "{}.{}: {:?}", key.place, key.key, key.wrong);
        let said = |wrong: &&str| {
            Some(format!("{}.{} = {wrong}: {}", key.place, key.key, fault(key, wrong)?))
        };
        faults.extend(key.wrong.iter().filter_map(said));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The control: with a right value each of the same texts is a scenario.
#[test]
fn a_right_value_of_any_key_is_read() {
    for key in KEYS {
        for right in key.right {
            let read = answer(key, right);
            assert!(read.is_ok(), "{}.{} = {right}: {read:?}", key.place, key.key);
        }
    }
}

/// The keys of the page's tables: the first cells of those whose header begins with `key`, and the
/// parameters of laws.
fn documented() -> BTreeSet<&'static str> {
    let (mut keys, mut cell) = (BTreeSet::new(), None);
    for line in PAGE.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        cell = match cells.get(1) {
            Some(head) if head.starts_with("key") || head.starts_with("table") => Some(1),
            Some(head) if *head == "`law`" && cells.len() > 4 && cells[2] == "parameters" => {
                Some(2)
            }
            Some(_) => cell,
            None => None,
        };
        let words = cell.and_then(|cell| cells.get(cell)).map_or("", |cell| *cell);
        let ticked = words.split('`').skip(1).step_by(2);
        keys.extend(
            ticked.filter(|word| word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')),
        );
    }
    keys
}

#[test]
fn every_key_of_the_page_is_tried() {
    let documented = documented();
    assert!(documented.len() > 70, "{documented:?}");
    let tried: BTreeSet<&str> = KEYS.iter().map(|key| key.key).collect();
    let missing: Vec<&&str> = documented.difference(&tried).collect();
    assert!(missing.is_empty(), "not tried: {missing:?}");
    let unknown: Vec<&&str> = tried.iter().filter(|key| !PAGE.contains(**key)).collect();
    assert!(unknown.is_empty(), "not on the page: {unknown:?}");
}
