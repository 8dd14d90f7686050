//! Where a mix of requests comes from.

use std::path::{Path, PathBuf};

use ::measure::Target;
use ::measure::protocol::http::LONGEST_BODY;
use model::Failure;

use crate::files::{content, text_of};

/// Bytes of a file of requests at most.
const LONGEST: usize = 16 << 20;

/// Requests of several kinds.
#[derive(clap::Args)]
pub struct MixArgs {
    /// With http://, postgresql://, tcp://, udp:// and unix://, a file of requests, a line each with its
    /// weight before it: `3 GET /a`, `1 POST /b @body.json`, `2 SELECT 1`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["request", "method", "body"])]
    pub requests: Option<PathBuf>,
}

impl MixArgs {
    /// Whether there is one.
    pub fn is_given(&self) -> bool {
        self.requests.is_some()
    }

    /// The target asked for the requests of the file; bodies are found from its folder on, where `may_read`.
    pub fn mixed(
        &self,
        target: Target,
        may_read: impl Fn(&Path) -> Result<(), Failure>,
    ) -> Result<Target, Failure> {
        let Some(path) = &self.requests else { return Ok(target) };
        let name = path.display().to_string();
        let text = text_of(&format!("--requests {name}"), path, LONGEST)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let body = |file: &str| {
            let path = folder.join(file);
            let body = || content(&format!("@{file}"), &path, LONGEST_BODY);
            may_read(&path).and_then(|()| body()).map_err(|failure| failure.to_string())
        };
        target.with_mix(&name, &text, &body)
    }
}
