//! Results held against each other.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use compare::difference::{Found, difference};
use gate::{Base, GATE_SCHEMA, Least, between, table};
use model::{Answer, Failure};

use crate::output::{Output, signature};
use crate::tables::TableFiles;

/// Says what became of every figure.
pub fn run(
    before: &[(String, String)],
    after: &[(String, String)],
    output: &Output,
    tables: &TableFiles,
) -> Result<ExitCode, Failure> {
    if let ([a], [b]) = (before, after)
        && Found::schema_of(&a.1).as_deref() == Some(GATE_SCHEMA)
    {
        output.refuse("of two bases of a gate")?;
        return bases(a, b);
    }
    let found = |side: &[(String, String)]| {
        let read = side.iter().map(|(name, text)| Found::read(text, name));
        read.collect::<Result<Vec<_>, _>>()
    };
    let mut document = difference(&found(before)?, &found(after)?)?;
    (document.command, document.version) = signature();
    tables.write(&document)?;
    output.differing(&document)?;
    Ok(ExitCode::from(u8::from(document.is_worse())))
}

/// Files by name.
pub fn texts(paths: &[PathBuf]) -> Result<Vec<(String, String)>, Failure> {
    let read = |path: &PathBuf| {
        let bytes = fileio::whole(path, fileio::LONGEST_LIST);
        text(path, bytes.map_err(|error| wrong(path, &error.to_string()))?)
    };
    paths.iter().map(read).collect()
}

/// What was read of a file, by its name.
pub fn text(path: &Path, bytes: Vec<u8>) -> Result<(String, String), Failure> {
    let text = String::from_utf8(bytes).map_err(|_| {
        wrong(
            path,
            "a trace, or no text: two traces can be held against each other, or results that --json wrote, one \
             or several a side",
        )
    })?;
    Ok((path.display().to_string(), text))
}

fn wrong(path: &Path, why: &str) -> Failure {
    Failure::Input(format!("{}: {why}", path.display()))
}

/// As `gate check`, which runs the second one.
fn bases(before: &(String, String), after: &(String, String)) -> Result<ExitCode, Failure> {
    let read = |(name, text): &(String, String)| Base::read(text, name);
    let least = Least(Answer::LEAST - 1.0);
    let outcome = between(&read(before)?, &read(after)?, least)?;
    stdout::write(table(&outcome, least))?;
    Ok(ExitCode::from(u8::from(outcome.with(Answer::Worse).next().is_some())))
}
