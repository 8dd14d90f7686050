//! `rearguard watch export`: one request, for other programs.

use std::path::Path;

use model::Failure;
use model::trace::Stages;
use recorder::{Traced, read_kept, trace_path};
use trace::Recorded;

use crate::{explain, files, traces};

/// The end of a file's name that asks for OTLP's JSON: its trace is Perfetto's with any other.
const OTLP: &str = ".otlp.json";

/// Writes a request to a file, as its name asks.
pub fn export(folder: &Path, id: &str, out: &Path) -> Result<(), Failure> {
    let kept_trace = trace_path(folder, id);
    files::check_apart(out, &[&kept_trace])?;
    let kept = read_kept(folder, id)?;
    let recorded = traces::read_kept(&kept_trace)?;
    if !out.to_string_lossy().ends_with(OTLP) {
        return traces::export_perfetto(&recorded, out);
    }
    let stages = stages(&recorded).ok_or_else(|| {
        Failure::Input(format!("{id}: its trace has no stages, so there are no spans to export"))
    })?;
    // Where nothing can be told the verdict says so.
    let services = explain::document(&recorded).map(|all| all.services).unwrap_or_default();
    let findings = services.into_iter().next().map(|one| one.findings).unwrap_or_default();
    let text = Traced { kept, stages, findings }.json(env!("CARGO_PKG_VERSION"))?;
    files::check_writable(out)?;
    fileio::replace(out, text.as_bytes())
        .map_err(|error| Failure::Run(format!("{}: {error}", out.display())))
}

/// Those of the request that the trace is of, the one in its window.
fn stages(recorded: &Recorded) -> Option<Stages> {
    let trace = &recorded.trace;
    let mut all = trace.programs.iter().flat_map(|program| &program.stages);
    all.find(|one| trace.window.contains(one.arrived)).copied()
}
