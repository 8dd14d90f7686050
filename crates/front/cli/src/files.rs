//! Reading scenarios and writing reports, with errors that name the file.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use model::edit::{Edit, edited};
use model::{Failure, Scenario};

/// Bytes of a file of headers at most.
const LONGEST_HEADERS: usize = 64 << 10;

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
    let text = fileio::text(path, fileio::LONGEST_TEXT).map_err(|error| {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        let hint = if is_missing { "; shipped scenarios are in scenarios/" } else { "" };
        Failure::Input(format!("{}: {error}{hint}", path.display()))
    })?;
    let name = path.display().to_string();
    let text = edited(&text, &name, edits)?;
    let scenario = Scenario::read(&text, &name)?;
    Ok(ScenarioFile { scenario, text })
}

/// Reads a file of text.
pub fn read(path: &Path) -> Result<String, Failure> {
    read_up_to(path, fileio::LONGEST_TEXT)
}

/// Reads what was measured: a result, or latencies a line each.
pub fn read_measured(path: &Path) -> Result<String, Failure> {
    read_up_to(path, fileio::LONGEST_LIST)
}

fn read_up_to(path: &Path, most: u64) -> Result<String, Failure> {
    fileio::text(path, most).map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}

/// [`content`] of a file of text.
pub fn text_of(option: &str, path: &Path, most: usize) -> Result<String, Failure> {
    let text = String::from_utf8(content(option, path, most)?);
    text.map_err(|_| Failure::Input(format!("{option}: no UTF-8")))
}

/// A file that an option names, of so many bytes at most.
pub fn content(option: &str, path: &Path, most: usize) -> Result<Vec<u8>, Failure> {
    fileio::whole(path, most as u64).map_err(|error| Failure::Input(format!("{option}: {error}")))
}

/// The headers that an option was given, a line each: `NAME: VALUE`, or `@FILE` with such lines.
pub fn header_lines(option: &str, given: &[String]) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for text in given {
        let lines = match text.strip_prefix('@') {
            Some(path) => text_of(&format!("{option} {text}"), Path::new(path), LONGEST_HEADERS)?,
            None => text.clone(),
        };
        all.extend(lines.lines().filter(|line| !line.is_empty()).map(String::from));
    }
    Ok(all)
}

/// Says whether a file can be written there, by beginning one, before anything runs for minutes.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if !folder.unwrap_or(Path::new(".")).is_dir() || path.is_dir() {
        return Err(Failure::Input(format!(
            "{}: not a file in an existing folder",
            path.display()
        )));
    }
    fileio::check_writable(path)
        .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))
}

/// Says whether a folder is there or could be made, without making it: the nearest one that is there takes
/// files.
pub fn check_folder(path: &Path) -> io::Result<()> {
    let is_missing = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
    let is_there = |one: &&Path| !fs::symlink_metadata(one).is_err_and(is_missing);
    let above = path.ancestors().filter(|one| !one.as_os_str().is_empty());
    let nearest = above.chain([Path::new(".")]).find(is_there).unwrap_or(path);
    if !fs::metadata(nearest)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    fileio::check_writable(&nearest.join("rearguard"))
}

/// Makes a folder that [`check_folder`] let pass, and those above it.
pub fn make_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
}

/// Refuses to write what the command reads, by whatever name: a long measurement would be lost with it.
pub fn check_apart(output: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    let file = |path: &Path| fs::metadata(path).ok().filter(Metadata::is_file);
    let identity = |path: &Path| file(path).map(|about| (about.dev(), about.ino()));
    let Some(written) = identity(output) else { return Ok(()) };
    if inputs.iter().any(|input| identity(input) == Some(written)) {
        let output = output.display();
        return Err(Failure::Input(format!(
            "{output}: this command reads it: write to another file"
        )));
    }
    Ok(())
}

/// Writes a report.
pub fn write(path: &Path, content: &str) -> Result<(), Failure> {
    write_with(path, |out| out.write_all(content.as_bytes()))
}

/// Writes a file, whole or not at all.
pub fn write_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    fileio::replace_with(path, |out| write(out))
        .map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_written_is_told_at_the_start() {
        let refused = |path: &str| {
            let why = check_writable(Path::new(path)).unwrap_err();
            assert_eq!(why.exit_code(), 2);
            why.to_string()
        };
        let said = refused("/proc/report.html");
        assert!(!said.contains("rearguard"), "nor the name of the file on its way: {said}");
        let long = refused(&format!("/tmp/{}.html", "x".repeat(300)));
        assert!(long.contains("too long"), "{long}");
        write(Path::new("/dev/null"), "x").expect("a device is written to");
    }

    #[test]
    fn a_folder_is_looked_for_and_not_made() {
        let folder = fileio::Folder::new().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        write(&at("file"), "x").expect("a file");
        std::os::unix::fs::symlink("nowhere", at("dangling")).expect("a link");
        for wrong in ["file", "file/below", "dangling"] {
            check_folder(&at(wrong)).expect_err(wrong);
        }
        check_folder(Path::new("/proc/new/folder")).expect_err("nothing is made there");
        for right in ["", "new", "new/and/nested"] {
            check_folder(&at(right)).expect(right);
        }
        assert!(!at("new").exists(), "it was made");
        make_folder(&at("new/and/nested")).expect("the control");
    }

    #[test]
    fn no_output_takes_the_place_of_an_input() {
        let folder = fileio::Folder::new().expect("a folder");
        let [read, other, link] = ["a.trace", "b.trace", "c.trace"].map(|n| folder.path().join(n));
        write(&read, "x").expect("a file");
        write(&other, "x").expect("a file");
        std::os::unix::fs::symlink(&read, &link).expect("a link");
        for written in [&read, &link] {
            let refused = check_apart(written, &[&other, &read]).unwrap_err();
            assert!(refused.exit_code() == 2 && refused.to_string().contains("another file"));
        }
        check_apart(&other, &[&read]).expect("the control");
        let null = Path::new("/dev/null");
        check_apart(null, &[null]).expect("a device loses nothing");
    }

    #[test]
    fn what_has_no_end_is_no_scenario() {
        let Err(why) = read_scenario(Path::new("/dev/zero")) else { panic!("zeros") };
        assert!(why.exit_code() == 2 && why.to_string().contains("without an end"), "{why}");
        assert!(read(Path::new("/dev/null")).is_ok_and(|text| text.is_empty()), "the control");
    }
}
