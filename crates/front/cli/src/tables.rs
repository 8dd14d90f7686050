//! Results as tables in files: `--parquet FOLDER`, `--arrow FOLDER`, `--csv-tables FOLDER`.

use std::fs;
use std::path::{Path, PathBuf};

use columnar::{Format, Options, Table};
use model::Failure;
use report::Tables;

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

    /// Makes the folders, before anything runs for minutes.
    pub fn check(&self) -> Result<(), Failure> {
        self.wanted().try_for_each(|(format, folder)| {
            fs::create_dir_all(folder).map_err(|error| {
                let (option, folder) = (format.extension(), folder.display());
                Failure::Input(format!("{option} tables in {folder}: a folder is needed: {error}"))
            })
        })
    }

    /// Writes every table of a document.
    pub fn write(&self, document: &dyn Tables) -> Result<(), Failure> {
        // Tables are made only where they are wanted.
        if self.are_wanted() { self.write_all(&document.tables()) } else { Ok(()) }
    }

    /// Writes tables.
    pub fn write_all(&self, tables: &[Table]) -> Result<(), Failure> {
        for (format, folder) in self.wanted() {
            for table in tables {
                let path = folder.join(format!("{}.{}", table.name, format.extension()));
                let batches = std::iter::once(table.batch.clone());
                columnar::write(&path, format, Options::default(), table.batch.schema(), batches)
                    .map_err(|error| Failure::Run(format!("{}: {error}", path.display())))?;
            }
        }
        Ok(())
    }
}
