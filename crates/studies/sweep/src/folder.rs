//! The folder of a sweep: a file for each finished point, and the tables of all.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use columnar::{Format, Options, Table};
use model::Failure;
use tempfile::NamedTempFile;

use crate::point::PointResult;
use crate::{Grid, Point, SWEEP_SCHEMA, tables};

/// Where points are kept. Several sweeps may share one: a point has the same name in each.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it where it is not there yet.
    pub fn open(path: &Path) -> Result<Folder, Failure> {
        let made = fs::create_dir_all(path.join("points"));
        made.map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
        Ok(Folder(path.to_path_buf()))
    }

    /// Whether a point is finished. A file that cannot be read, or is another's, is not: the point runs again
    /// and replaces it.
    pub fn has(&self, point: &Point) -> bool {
        self.kept(point).is_some()
    }

    /// Keeps what a point found: whole or not at all, at any interrupt.
    pub fn keep(&self, point: &Point, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.path(point);
        let written = NamedTempFile::new_in(self.0.join("points")).and_then(|mut file| {
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error)
        });
        written.map(drop).map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
    }

    /// The tables of all points that are finished, in the order of the grid: the same rows for any runner, at
    /// any time.
    pub fn tables(&self, grid: &Grid, points: &[Point]) -> Vec<Table> {
        let found = points.iter().filter_map(|point| Some((point, self.kept(point)?)));
        tables::tables(&grid.keys(), found.collect())
    }

    /// Writes the tables into the folder.
    pub fn write(&self, tables: &[Table]) -> Result<(), Failure> {
        tables.iter().try_for_each(|table| {
            let path = self.0.join(format!("{}.parquet", table.name));
            let batches = std::iter::once(table.batch.clone());
            let options = Options::default();
            columnar::write(&path, Format::Parquet, options, table.batch.schema(), batches)
                .map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
        })
    }

    fn path(&self, point: &Point) -> PathBuf {
        self.0.join("points").join(format!("{}.parquet", point.id))
    }

    fn kept(&self, point: &Point) -> Option<PointResult> {
        let note = columnar::note(&self.path(point), SWEEP_SCHEMA).ok()??;
        serde_json::from_str(&note).ok().filter(|kept: &PointResult| kept.id == point.id)
    }
}
