//! The command that makes runs again.

use model::{Failure, Nanos, PolicySpec, Trace};

use crate::trace_sink::TraceSink;

/// The command of runs of a scenario file on an arm, up to policy and seed.
pub fn command(file: &str, on: &str, edits: &[String], duration: Option<Nanos>) -> String {
    let set: String = edits.iter().map(|edit| format!(" --set {}", quoted(edit))).collect();
    let duration = duration.map_or(String::new(), |d| format!(" --duration {}ns", d.0));
    format!("rearguard compare {} --on {on}{set}{duration}", quoted(file))
}

/// [`command`] up to its end: one run and no other.
pub fn of_run(command: &str, policy: &str, seed: u64) -> String {
    format!("{command} --policy {policy} --seed {seed}")
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+%@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Keeps nothing, and knows the [`command`] of each run.
pub struct Again(pub String);

impl TraceSink for Again {
    fn keep(&self, _trace: &Trace) -> Result<(), Failure> {
        Ok(())
    }

    fn replay(&self, policy: &PolicySpec, seed: u64) -> Option<String> {
        Some(of_run(&self.0, &policy.to_string(), seed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_quoted_word_as_one() {
        for word in ["scenarios/null-rpc.toml", "cts:queue=cpu", "my file", "it's", "", "$(x)"] {
            let line = format!("printf %s {}", quoted(word));
            let said = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), word);
        }
        assert_eq!(quoted("cts:queue=cpu"), "cts:queue=cpu", "what needs no quotes has none");
    }

    #[test]
    fn a_command_names_what_differs_from_the_file() {
        let edits = ["machine.cpus=4".to_string(), "duration=\"2s\"".to_string()];
        let base = command("a b.toml", "sim", &edits, Some(Nanos(7)));
        assert_eq!(
            of_run(&base, "cts", 3),
            "rearguard compare 'a b.toml' --on sim --set machine.cpus=4 --set 'duration=\"2s\"' \
             --duration 7ns --policy cts --seed 3"
        );
        assert_eq!(command("a.toml", "sim", &[], None), "rearguard compare a.toml --on sim");
    }
}
