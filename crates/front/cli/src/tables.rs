//! Results as tables in files: `--parquet FOLDER`, `--arrow FOLDER`, `--csv-tables FOLDER`.

use std::path::{Path, PathBuf};

use columnar::{Format, Options, Table};
use model::Failure;
use report::Tables;

use crate::files::{check_apart, check_folder, make_folder};

/// What tables of results are called, whichever command writes them: before a run these are the files that it
/// may write.
const NAMES: [&str; 32] = [
    "capacities",
    "cases",
    "claims",
    "culprits",
    "curves",
    "differences",
    "fanout",
    "findings",
    "groups",
    "kinds",
    "lags",
    "latencies",
    "measurements",
    "notes",
    "overhead",
    "policies",
    "programs",
    "queues",
    "self_checks",
    "series",
    "services",
    "settings",
    "shares",
    "slow",
    "spans",
    "splits",
    "stages",
    "steps",
    "troubles",
    "turns",
    "values",
    "verdicts",
];

/// Options of every command whose results are tables
#[derive(clap::Args)]
pub struct TableFiles {
    /// Write the results as Parquet tables into this folder, a file each
    #[arg(long, value_name = "FOLDER")]
    parquet: Option<PathBuf>,
    /// Write them as Arrow files
    #[arg(long, value_name = "FOLDER")]
    arrow: Option<PathBuf>,
    /// Write them as comma-separated text
    #[arg(long, value_name = "FOLDER")]
    csv_tables: Option<PathBuf>,
}

impl TableFiles {
    fn wanted(&self) -> impl Iterator<Item = (Format, &Path)> {
        let options = [
            (Format::Parquet, &self.parquet),
            (Format::Arrow, &self.arrow),
            (Format::Csv, &self.csv_tables),
        ];
        options.into_iter().filter_map(|(format, folder)| Some((format, folder.as_deref()?)))
    }

    /// Whether any are asked for.
    pub fn are_wanted(&self) -> bool {
        self.wanted().next().is_some()
    }

    /// Says whether they could be written, beside what is read, before anything runs for minutes. Bad input
    /// leaves no folder behind: none is made yet.
    pub fn check(&self, inputs: &[&Path]) -> Result<(), Failure> {
        self.check_apart(inputs)?;
        self.wanted().try_for_each(|(format, folder)| {
            check_folder(folder).map_err(|error| {
                let (option, folder) = (format.extension(), folder.display());
                Failure::Input(format!("{option} tables in {folder}: a folder is needed: {error}"))
            })
        })
    }

    /// Refuses to write what the command reads. Which tables there are is known after the run, so none that a
    /// command writes may be an input.
    pub fn check_apart(&self, inputs: &[&Path]) -> Result<(), Failure> {
        let every = |(format, folder)| NAMES.map(|name| file(folder, name, format));
        self.wanted().flat_map(every).try_for_each(|path| check_apart(&path, inputs))
    }

    /// Writes every table of a document.
    pub fn write(&self, document: &dyn Tables) -> Result<(), Failure> {
        // Tables are made only where they are wanted.
        if self.are_wanted() { self.write_all(&document.tables()) } else { Ok(()) }
    }

    /// Writes tables, into folders that are made where there are none.
    pub fn write_all(&self, tables: &[Table]) -> Result<(), Failure> {
        for (format, folder) in self.wanted() {
            make_folder(folder)?;
            for table in tables {
                debug_assert!(NAMES.contains(&table.name), "{} is not in NAMES", table.name);
                let path = file(folder, table.name, format);
                let batches = std::iter::once(table.batch.clone());
                columnar::write(&path, format, Options::default(), table.batch.schema(), batches)
                    .map_err(|error| Failure::Run(format!("{}: {error}", path.display())))?;
            }
        }
        Ok(())
    }
}

fn file(folder: &Path, name: &str, format: Format) -> PathBuf {
    folder.join(format!("{name}.{}", format.extension()))
}
