//! What a command writes: a table for people, `--json`, `--report FILE`.

use std::path::{Path, PathBuf};

use model::Failure;
use report::capacity::CapacityRun;
use report::difference::Difference;
use report::explain::Explained;
#[cfg(feature = "bpf")]
use report::overhead::Overhead;
use report::proof::Proof;
#[cfg(feature = "bpf")]
use report::stages::StagesDocument;
use report::whatif::WhatIf;
use report::{ClusterRun, Document, FanOut, Figure, Measured, PaperFigure, Saturated, Written};
use serde::Serialize;

use crate::files;
use crate::secrets::without_secrets;

/// Options of every command that has results
#[derive(clap::Args)]
pub struct Output {
    /// Print the result document as JSON instead of the table
    #[arg(long)]
    json: bool,
    /// Write a report: FILE.html (one self-contained page); where these results have it also FILE.svg (one
    /// picture) or FILE.md (Markdown)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl Output {
    /// Says whether the report could be written, beside what is read, before anything runs for minutes. Of
    /// these results there are reports with these `ends`.
    pub fn check(&self, ends: &[&str], inputs: &[&Path]) -> Result<(), Failure> {
        let Some(path) = &self.report else { return Ok(()) };
        if !ends.iter().any(|end| ends_in(path, end)) {
            let (path, ends) = (path.display(), ends.join(" or ."));
            let message =
                format!("--report {path}: no such report of these results: ask for a .{ends}");
            return Err(Failure::Input(message));
        }
        files::check_apart(path, inputs)?;
        files::check_writable(path)
    }

    /// Where a report is wanted.
    pub fn report(&self) -> Option<&Path> {
        self.report.as_deref()
    }

    /// Writes what a comparison found.
    pub fn compared(&self, document: &Document) -> Result<(), Failure> {
        let shown = self.shown(document, report::table);
        self.write(&shown, || report::html(document), || report::picture(document), Some(document))
    }

    /// Writes a figure; `json` is the document that it shows.
    pub fn drawn(&self, json: String, figure: &Figure) -> Result<(), Failure> {
        let shown = if self.json { json } else { report::figure_table(figure, terminal_width()) };
        self.write(&shown, || report::figure_html(figure), || report::figure_picture(figure), None)
    }

    /// Writes what a service's outliers are.
    pub fn fanned_out(&self, document: &FanOut) -> Result<(), Failure> {
        let shown = self.shown(document, report::fan_out_table);
        self.write(
            &shown,
            || report::fan_out_html(document),
            || report::fan_out_picture(document),
            None,
        )
    }

    /// Writes what a cluster did, and how long that took.
    pub fn clustered(&self, run: &ClusterRun, took_s: f64) -> Result<(), Failure> {
        let shown = if self.json {
            report::json(run)
        } else {
            let events: u64 = run.cases.iter().map(|case| case.events).sum();
            let millions = events as f64 / 1e6;
            format!(
                "{}{millions:.1} million events in {took_s:.1} s",
                report::cluster_table(run, terminal_width())
            )
        };
        self.write(&shown, || report::cluster_html(run), || report::cluster_picture(run), None)
    }

    /// Writes what a measurement of a server found.
    pub fn measured(&self, measured: &Measured) -> Result<(), Failure> {
        let shown = self.shown(measured, report::measure_table);
        self.write(
            &shown,
            || report::measure_html(measured),
            || report::measure_picture(measured),
            Some(measured),
        )
    }

    /// Writes what policies carry at an objective.
    pub fn carried(&self, run: &CapacityRun) -> Result<(), Failure> {
        let shown = self.shown(run, report::capacity_table);
        self.write(
            &shown,
            || report::capacity_html(run),
            || report::capacity_picture(run),
            Some(run),
        )
    }

    /// Writes two results held against each other.
    pub fn differing(&self, difference: &Difference) -> Result<(), Failure> {
        let shown = self.shown(difference, report::difference_table);
        self.write(&shown, || report::difference_html(difference), || None, Some(difference))
    }

    /// Writes a foretelling.
    pub fn foretold(&self, document: &WhatIf) -> Result<(), Failure> {
        let shown = self.shown(document, report::what_if_table);
        self.write(&shown, || report::what_if_html(document), || None, Some(document))
    }

    /// Writes schedulers on a user's own machine.
    pub fn proved(&self, proof: &Proof) -> Result<(), Failure> {
        let shown = self.shown(proof, report::proof_table);
        self.write(&shown, || report::proof_html(proof), || None, Some(proof))
    }

    /// With a report there, unless the user named another.
    pub fn with_report(mut self, path: &str) -> Output {
        self.report.get_or_insert_with(|| PathBuf::from(path));
        self
    }

    /// Says that there is neither document nor page of something, where one was asked for.
    pub fn refuse(&self, what: &str) -> Result<(), Failure> {
        let asked = if self.json { "--json" } else { "--report" };
        if self.json || self.report.is_some() {
            return Err(Failure::Input(format!("{asked}: there is none {what}: leave it out")));
        }
        Ok(())
    }

    /// Writes what a search for a server's capacity found; it has no curve.
    pub fn saturated(&self, found: &Saturated) -> Result<(), Failure> {
        let shown = if self.json { report::json(found) } else { report::saturated_table(found) };
        stdout::line(shown.trim_end())
    }

    /// [`Output::check`] for so many figures: a picture holds one.
    pub fn check_pictures(&self, figures: usize) -> Result<(), Failure> {
        self.check(&["html", "svg"], &[])?;
        if figures > 1 && self.report.as_ref().is_some_and(|path| ends_in(path, "svg")) {
            return Err(Failure::Input(
                "--report: a .svg holds one figure: name it, or ask for a .html".into(),
            ));
        }
        Ok(())
    }

    /// Writes figures of papers.
    pub fn papers(&self, figures: &[PaperFigure]) -> Result<(), Failure> {
        let width = terminal_width();
        let shown: Vec<String> = if self.json {
            figures.iter().map(report::json).collect()
        } else {
            figures.iter().map(|figure| report::paper_table(figure, width)).collect()
        };
        let picture = || figures.first().and_then(report::paper_picture);
        self.write(&shown.join("\n"), || report::paper_html(figures), picture, None)
    }

    /// Writes an explanation.
    pub fn explained(&self, explained: &Explained) -> Result<(), Failure> {
        let shown = self.shown(explained, report::explained_table);
        self.write(&shown, || report::explained_html(explained), || None, Some(explained))
    }

    /// Writes stages.
    #[cfg(feature = "bpf")]
    pub fn staged(&self, document: &StagesDocument) -> Result<(), Failure> {
        let shown = self.shown(document, report::stages_table);
        self.write(&shown, || report::stages_html(document), || None, None)
    }

    /// Writes what watching costs.
    #[cfg(feature = "bpf")]
    pub fn overhead(&self, document: &Overhead) -> Result<(), Failure> {
        let shown = self.shown(document, report::overhead_table);
        self.write(&shown, || report::overhead_html(document), || None, None)
    }

    /// A document as JSON, or as its table.
    fn shown<D: Serialize>(&self, document: &D, table: impl FnOnce(&D, usize) -> String) -> String {
        if self.json { report::json(document) } else { table(document, terminal_width()) }
    }

    fn write(
        &self,
        shown: &str,
        html: impl FnOnce() -> String,
        picture: impl FnOnce() -> Option<String>,
        written: Option<&dyn Written>,
    ) -> Result<(), Failure> {
        // The report first: a pipe that was closed, or a full disk under stdout, costs the table alone.
        let Some(path) = &self.report else { return stdout::line(shown.trim_end()) };
        let drawn = match () {
            () if ends_in(path, "svg") => picture(),
            () if ends_in(path, "md") => written.map(report::markdown),
            () => Some(html()),
        };
        let drawn = drawn.ok_or_else(|| {
            Failure::Input("--report: no curve, so no picture: ask for a .html".into())
        })?;
        files::write(path, &drawn)?;
        stdout::line(shown.trim_end())?;
        if !self.json {
            return stdout::line(format_args!("\nreport: {}", path.display()));
        }
        Ok(())
    }
}

/// What a document says of its making: the command line, without secrets, and the version.
pub fn signature() -> (Vec<String>, String) {
    (without_secrets(std::env::args()), env!("CARGO_PKG_VERSION").to_string())
}

fn ends_in(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|end| end == extension)
}

/// Columns of the terminal; 120 where there is none.
fn terminal_width() -> usize {
    terminal_size::terminal_size().map_or(120, |(width, _)| usize::from(width.0))
}
