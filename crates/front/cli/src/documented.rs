//! Every command line of the pages is one that the command, with all its subcommands, understands.

#[path = "../tests/documented/lines.rs"]
mod lines;

use clap::Parser;

use crate::Cli;

#[test]
fn every_command_line_of_the_pages_parses() {
    let mut seen = 0;
    let mut faults = Vec::new();
    for path in lines::pages() {
        let page = std::fs::read_to_string(&path).expect("a page");
        for words in lines::command_lines(&page).into_iter().filter(|words| words[0] == "rearguard")
        {
            seen += 1;
            if let Err(error) = Cli::try_parse_from(&words) {
                faults.push(format!("{}: {}\n{error}", path.display(), words.join(" ")));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(seen > 50, "{seen} command lines found");
}

#[test]
fn a_wrong_command_line_is_found() {
    let page = "```\nsudo rearguard top  # in force\nrearguard compare a.toml --polcy cts\n```\n";
    let lines = lines::command_lines(page);
    let parses: Vec<bool> = lines.iter().map(|words| Cli::try_parse_from(words).is_ok()).collect();
    assert_eq!(parses, [true, false]);
    assert!(lines::command_lines("```toml\nrearguard load\n```\nrearguard top\n").is_empty());
}
