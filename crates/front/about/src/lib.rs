//! What a program says of itself: its version, manual pages and completions, all from what clap knows.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use clap::Command;
use clap_complete::{Generator, Shell, generate};
use model::Failure;

/// `0.2.0 (commit 1a2b3c4d5e6f, with bpf)`: a feature that a build left out is named, too.
///
/// The commit is what RG_COMMIT was when this was compiled (`make build` sets it): cargo itself tells none.
pub fn version(features: &[(&str, bool)]) -> &'static str {
    let commit = match option_env!("RG_COMMIT") {
        Some(commit) if !commit.is_empty() => format!("commit {commit}"),
        _ => "commit not recorded".to_string(),
    };
    let features = features.iter().map(|(name, is_on)| match is_on {
        true => format!(", with {name}"),
        false => format!(", without {name}"),
    });
    let features: String = features.collect();
    format!("{} ({commit}{features})", env!("CARGO_PKG_VERSION")).leak()
}

/// Writes into a folder a manual page for the program and each of its commands, and completions for bash,
/// zsh and fish, under the names by which these look for them.
pub fn write_manual(program: Command, folder: &Path) -> Result<(), Failure> {
    let written = fs::create_dir_all(folder).and_then(|()| {
        clap_mangen::generate_to(program.clone(), folder)?;
        completions(program, folder)
    });
    written.map_err(|error| Failure::Run(format!("{}: {error}", folder.display())))
}

fn completions(mut program: Command, folder: &Path) -> std::io::Result<()> {
    let name = program.get_name().to_string();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let mut script = Vec::new();
        generate(shell, &mut program, &name, &mut script);
        fs::write(folder.join(shell.file_name(&name)), script)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_unless_it_is_hidden() {
        let program = Command::new("program")
            .about("Does it")
            .subcommand(Command::new("shown").about("Shows it"))
            .subcommand(Command::new("secret").hide(true));
        let folder = tempfile::tempdir().expect("a folder");
        write_manual(program, folder.path()).expect("written");
        let mut names: Vec<String> = fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        let pages = ["program-shown.1", "program.1"];
        let completions = ["_program", "program.bash", "program.fish"];
        assert_eq!(
            names,
            [&completions[..1], &pages[..1], &["program.1"], &completions[1..]].concat()
        );
    }

    #[test]
    fn the_version_names_what_a_build_left_out() {
        let said = version(&[("bpf", true), ("tables", false)]);
        assert!(said.starts_with(env!("CARGO_PKG_VERSION")), "{said}");
        assert!(
            said.contains("(commit ") && said.ends_with(", with bpf, without tables)"),
            "{said}"
        );
    }
}
