//! Every command line of the pages that loads a policy is one that this program understands.

#[path = "../../cli/tests/documented/lines.rs"]
mod lines;

use clap::Parser;

use crate::load::Args;

/// The words of a line that this program gets, by its own name or by `rearguard load`.
fn ours(words: &[String]) -> Option<Vec<String>> {
    let skip = match words {
        [name, ..] if name == loader::NAME => 1,
        [_, load, ..] if load == "load" => 2,
        _ => return None,
    };
    Some(std::iter::once(loader::NAME.to_string()).chain(words[skip..].to_vec()).collect())
}

#[test]
fn every_command_line_of_the_pages_that_loads_parses() {
    let pages =
        lines::pages().into_iter().map(|path| std::fs::read_to_string(path).expect("a page"));
    let lines: Vec<_> = pages.flat_map(|page| lines::command_lines(&page)).collect();
    let ours: Vec<Vec<String>> = lines.iter().filter_map(|words| ours(words)).collect();
    for words in &ours {
        assert!(Args::try_parse_from(words).is_ok(), "{}", words.join(" "));
    }
    assert!(ours.len() > 5, "{} command lines found", ours.len());
}

#[test]
fn a_wrong_command_line_is_found() {
    let page = "```\nsudo rearguard load --ordr fcfs\nscx_rearguard cts --stats 1\n```\n";
    let parses = lines::command_lines(page)
        .iter()
        .map(|words| Args::try_parse_from(ours(words).expect("it loads")).is_ok())
        .collect::<Vec<_>>();
    assert_eq!(parses, [false, true]);
}
