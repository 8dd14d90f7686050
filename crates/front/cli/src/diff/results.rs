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
    before: &[PathBuf],
    after: &[PathBuf],
    output: &Output,
    tables: &TableFiles,
) -> Result<ExitCode, Failure> {
    let (before, after) = (texts(before)?, texts(after)?);
    if let ([a], [b]) = (&before[..], &after[..])
        && Found::schema_of(&a.1).as_deref() == Some(GATE_SCHEMA)
    {
        output.refuse("of two bases of a gate")?;
        return bases(a, b);
    }
    let found = |side: &[(String, String)]| {
        let read = side.iter().map(|(name, text)| Found::read(text, name));
        read.collect::<Result<Vec<_>, _>>()
    };
    let mut document = difference(&found(&before)?, &found(&after)?)?;
    (document.command, document.version) = signature();
    tables.write(&document)?;
    output.differing(&document)?;
    Ok(ExitCode::from(u8::from(document.is_worse())))
}

/// Files by name.
fn texts(paths: &[PathBuf]) -> Result<Vec<(String, String)>, Failure> {
    paths.iter().map(|path| Ok((path.display().to_string(), text(path)?))).collect()
}

fn text(path: &Path) -> Result<String, Failure> {
    let wrong = |why: &str| Failure::Input(format!("{}: {why}", path.display()));
    let bytes = fileio::whole(path, fileio::LONGEST_LIST);
    let bytes = bytes.map_err(|error| wrong(&error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| {
        wrong(
            "a trace, or no text: two traces can be held against each other, or results that --json wrote, one \
             or several a side",
        )
    })
}

/// As `gate check`, which runs the second one.
fn bases(before: &(String, String), after: &(String, String)) -> Result<ExitCode, Failure> {
    let read = |(name, text): &(String, String)| Base::read(text, name);
    let least = Least(Answer::LEAST - 1.0);
    let outcome = between(&read(before)?, &read(after)?, least)?;
    stdout::write(table(&outcome, least))?;
    Ok(ExitCode::from(u8::from(outcome.with(Answer::Worse).next().is_some())))
}
