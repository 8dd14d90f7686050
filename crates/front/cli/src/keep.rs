//! `--trace PATH`: the trace of every run into a file.

use std::path::{Path, PathBuf};

use compare::{TraceSink, command::of_run};
use model::{Failure, PolicySpec, Trace};
use trace::{Header, Making};

use crate::files::{check_folder, check_writable, make_folder, write_with};

/// Writes traces where the user wants them, and knows the command of each run.
pub struct Traces<'a> {
    /// The option; `None`: no traces.
    pub path: Option<&'a Path>,
    /// Whether the path is a folder with a file a run.
    pub folder: bool,
    /// How runs are made.
    pub making: Making<'a>,
    /// The command of a run, up to policy and seed.
    pub command: String,
}

impl Traces<'_> {
    /// Says whether traces can be written, before anything runs for minutes.
    pub fn check(&self) -> Result<(), Failure> {
        let Some(path) = self.path else { return Ok(()) };
        if !self.folder {
            return check_writable(path);
        }
        check_folder(path).map_err(|error| {
            Failure::Input(format!(
                "--trace {}: several runs need a folder, with a file for each: {error}",
                path.display()
            ))
        })
    }

    fn file(&self, folder: &Path, trace: &Trace) -> PathBuf {
        if !self.folder {
            return folder.to_path_buf();
        }
        folder.join(format!("{}-seed-{}.trace", plain(&trace.policy), trace.seed))
    }
}

/// A policy as a part of a file's name. That of a file of one's own begins with its folder, and a name with a
/// dot is hidden.
fn plain(policy: &str) -> String {
    let own = policy.strip_prefix("./").unwrap_or(policy);
    own.replace("../", "up-").replace('/', "-")
}

impl TraceSink for Traces<'_> {
    fn keep(&self, trace: &Trace) -> Result<(), Failure> {
        let Some(path) = self.path else { return Ok(()) };
        if self.folder {
            make_folder(path)?;
        }
        let path = self.file(path, trace);
        let replay = of_run(&self.command, &trace.policy, trace.seed);
        let making = Making { replay, ..self.making.clone() };
        let header = Header::new(&making, trace);
        write_with(&path, |mut out| trace::write(&header, trace, &mut out))
    }

    fn replay(&self, policy: &PolicySpec, seed: u64) -> Option<String> {
        Some(of_run(&self.command, &policy.to_string(), seed))
    }
}
