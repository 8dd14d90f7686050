//! What is kept of a slow request beside its trace, and the folder of those.

use std::fs;
use std::path::{Path, PathBuf};

use chrono::NaiveDateTime;
use model::{Failure, printable};
use serde::{Deserialize, Serialize};

use crate::told::Told;

/// The `schema` of a [`KeptRequest`].
pub const KEPT_SCHEMA: &str = "rearguard.kept/1";
/// How [`KeptRequest::ended`] is written.
pub(crate) const ENDED: &str = "%Y-%m-%d %H:%M:%S%.3f UTC";
/// A longer file is none of ours.
const LONGEST: u64 = 64 << 10;

/// A request that was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRequest {
    /// [`KEPT_SCHEMA`].
    pub schema: String,
    /// Its name in the folder: when it ended, in UTC, to the millisecond.
    pub id: String,
    /// When it ended, by the wall clock, for people.
    pub ended: String,
    /// The process that served it.
    pub service: String,
    /// What that belongs to: `unit memcached.service`, `container cache of pod prod/cache-0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The port.
    pub port: u16,
    /// From T1 to T6.
    pub latency_ns: u64,
    /// From which latency on requests were slow.
    pub threshold_ns: u64,
    /// `given` or `learned`.
    pub threshold: String,
    /// Its longest stage.
    pub stage: String,
    /// How much of it that was.
    pub stage_ns: u64,
    /// What made it slow.
    pub told: Told,
}

impl KeptRequest {
    /// When it ended, nanoseconds since 1970: to the millisecond, as [`KeptRequest::ended`] has it.
    pub fn ended_ns(&self) -> Result<u64, Failure> {
        let known = NaiveDateTime::parse_from_str(&self.ended, ENDED).ok();
        let since = known.and_then(|ended| ended.and_utc().timestamp_nanos_opt());
        let since = since.and_then(|since| u64::try_from(since).ok());
        since.ok_or_else(|| {
            Failure::Input(format!("{}: `{}` is no moment that it ended at", self.id, self.ended))
        })
    }

    /// Names of others are data: they may hold what moves a terminal.
    pub(crate) fn printable(mut self) -> KeptRequest {
        let Told { line, class, confidence, source, culprit, owner } = &mut self.told;
        let optional = source.iter_mut().chain(culprit).chain(owner).chain(&mut self.owner);
        let own = [&mut self.ended, &mut self.service, &mut self.threshold, &mut self.stage];
        let all = own.into_iter().chain([line, class, confidence]).chain(optional);
        all.for_each(|text| *text = printable(text));
        self
    }
}

/// Whether a name is one of ours; no other leads out of the folder.
pub(crate) fn is_id(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'T' | b'Z' | b'-'))
}

/// The trace of a kept request.
pub fn trace_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.trace"))
}

pub(crate) fn kept_path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.json"))
}

/// The ids of files in a folder that end so.
pub(crate) fn ids(folder: &Path, end: &str) -> Result<Vec<String>, Failure> {
    let unreadable = |error| Failure::Input(format!("{}: {error}", folder.display()));
    let mut ids = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(end));
        ids.extend(id.filter(|id| is_id(id)).map(String::from));
    }
    ids.sort();
    Ok(ids)
}

/// Every request that a folder keeps, the oldest first, and how many files are not readable as one.
pub fn list(folder: &Path) -> Result<(Vec<KeptRequest>, usize), Failure> {
    let ids = ids(folder, ".json")?;
    let kept: Vec<KeptRequest> = ids.iter().filter_map(|id| read_kept(folder, id).ok()).collect();
    let unreadable = ids.len() - kept.len();
    Ok((kept, unreadable))
}

/// One request that a folder keeps.
pub fn read_kept(folder: &Path, id: &str) -> Result<KeptRequest, Failure> {
    let refuse = |why: String| {
        let (folder, id) = (folder.display(), printable(id));
        Failure::Input(format!("{folder}: {id}: {why}: `rearguard watch list` shows what there is"))
    };
    if !is_id(id) {
        return Err(refuse("no such request".to_string()));
    }
    // A link would lead out of the folder, a pipe would not end.
    let text = fileio::regular(&kept_path(folder, id), LONGEST)
        .map_err(|error| refuse(error.to_string()))?;
    let kept: KeptRequest =
        serde_json::from_slice(&text).map_err(|error| refuse(error.to_string()))?;
    if kept.schema != KEPT_SCHEMA || kept.id != id {
        return Err(refuse(format!("expected {KEPT_SCHEMA} of this name")));
    }
    Ok(kept.printable())
}
