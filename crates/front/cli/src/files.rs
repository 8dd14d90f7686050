//! Reading scenarios and writing reports, with errors that name the file.

use std::fs;
use std::path::Path;

use model::edit::{Edit, edited};
use model::{Failure, Scenario};

/// A scenario and the text it was read from.
pub struct ScenarioFile {
    /// The valid scenario.
    pub scenario: Scenario,
    /// The file's text.
    pub text: String,
}

/// Reads and validates a scenario file.
pub fn read_scenario(path: &Path) -> Result<ScenarioFile, Failure> {
    read_edited(path, &[])
}

/// [`read_scenario`] with other values for some keys.
pub fn read_edited(path: &Path, edits: &[Edit]) -> Result<ScenarioFile, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::Input(format!("{}: {error}; shipped scenarios are in scenarios/", path.display()))
    })?;
    let name = path.display().to_string();
    let text = edited(&text, &name, edits)?;
    let scenario = Scenario::read(&text, &name)?;
    Ok(ScenarioFile { scenario, text })
}

/// Reads a file of text.
pub fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}

/// Says whether a report can be written there, before anything runs for minutes.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_dir() && !path.is_dir() {
        return Ok(());
    }
    Err(Failure::Input(format!("{}: not a file in an existing folder", path.display())))
}

/// Writes a report.
pub fn write(path: &Path, content: &str) -> Result<(), Failure> {
    fs::write(path, content).map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
}
