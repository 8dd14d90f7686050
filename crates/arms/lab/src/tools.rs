//! Running the machine's own tools, with failures that say what is missing.

use std::io::ErrorKind;
use std::process::{Command, Output};

use model::Failure;

/// Runs a tool to its end. `remedy` completes "`tool` is missing: ".
pub fn output(command: &mut Command, remedy: &str) -> Result<Output, Failure> {
    fileio::output(command.env("LC_ALL", "C"), b"").map_err(|error| {
        let tool = command.get_program().to_string_lossy().into_owned();
        let missing = error.kind() == ErrorKind::NotFound;
        let what = if missing { "it is missing".to_string() } else { error.to_string() };
        Failure::Machine(format!("`{tool}` cannot run: {what}: {remedy}"))
    })
}

/// What a tool that succeeded wrote to stdout; one that fails is the machine's failure, in the tool's own
/// last words.
pub fn text(command: &mut Command, remedy: &str) -> Result<String, Failure> {
    let output = output(command, remedy)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = last_words(&String::from_utf8_lossy(&output.stderr));
    let tool = command.get_program().to_string_lossy().into_owned();
    Err(Failure::Machine(format!("`{tool}` failed: {said}; {remedy}")))
}

/// The lines in which a tool says its errors; its last line if it marks none.
fn last_words(stderr: &str) -> String {
    let errors: Vec<&str> = stderr.lines().filter_map(|line| line.strip_prefix("E: ")).collect();
    match errors.first() {
        Some(first) => (*first).to_string(),
        None => stderr.lines().last().unwrap_or("no message").trim().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_the_machines_failure_with_its_remedy() {
        let failure = text(&mut Command::new("no-such-tool"), "install it").unwrap_err();
        assert_eq!(failure.exit_code(), 3);
        assert_eq!(failure.to_string(), "`no-such-tool` cannot run: it is missing: install it");
    }

    #[test]
    fn a_failing_tool_is_heard() {
        let mut tool = Command::new("sh");
        let failure =
            text(tool.args(["-c", "echo W: x >&2; echo E: no net >&2; exit 100"]), "help");
        assert_eq!(failure.unwrap_err().to_string(), "`sh` failed: no net; help");
        assert_eq!(text(Command::new("sh").args(["-c", "echo fine"]), "").unwrap(), "fine\n");
    }
}
