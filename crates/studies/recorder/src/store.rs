//! A folder of kept requests, within a budget.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use model::Failure;

use crate::kept::{ENDED, KeptRequest, ids, is_id, kept_path, read_kept, trace_path};

/// How names of files on their way begin.
const ON_THE_WAY: &str = ".watch-";
/// Locked by the one recorder that writes here.
const LOCK: &str = ".lock";

/// A folder that this process alone writes to.
pub struct Store {
    folder: PathBuf,
    budget: u64,
    /// By id, which is in order of time.
    kept: BTreeMap<String, Size>,
    _lock: File,
}

#[derive(Clone, Copy)]
struct Size {
    bytes: u64,
    latency_ns: u64,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is kept as this, and so many others went for it.
    Kept(Box<KeptRequest>, u64),
    /// It alone is larger than the budget.
    TooLarge,
}

impl Store {
    /// Opens a folder, makes it where it is missing, and removes what a killed process left on the way.
    pub fn open(folder: &Path, budget: u64) -> Result<Store, Failure> {
        let refuse = |why: String| Failure::Input(format!("--keep {}: {why}", folder.display()));
        fileio::private_folder(folder).map_err(refuse)?;
        let lock = lock(folder).map_err(refuse)?;
        sweep(folder).map_err(|error| refuse(error.to_string()))?;
        let kept = ids(folder, ".json")?.into_iter().map(|id| (id.clone(), size(folder, &id)));
        let kept = kept.collect();
        let mut store = Store { folder: folder.to_path_buf(), budget, kept, _lock: lock };
        store.make_room(0);
        Ok(store)
    }

    /// Keeps a request that ended at this moment, whole or not at all.
    pub fn put(&mut self, at: SystemTime, kept: KeptRequest, trace: &[u8]) -> io::Result<Put> {
        let id = self.free_id(at);
        let ended = DateTime::<Utc>::from(at).format(ENDED).to_string();
        let kept = KeptRequest { id: id.clone(), ended, ..kept };
        let text = serde_json::to_vec_pretty(&kept)?;
        let bytes = (text.len() + trace.len()) as u64;
        if bytes > self.budget {
            return Ok(Put::TooLarge);
        }
        let gone = self.make_room(bytes);
        // What has no JSON is no kept request, so the trace is first.
        self.write(&trace_path(&self.folder, &id), trace)?;
        if let Err(error) = self.write(&kept_path(&self.folder, &id), &text) {
            let _ = fs::remove_file(trace_path(&self.folder, &id));
            return Err(error);
        }
        self.kept.insert(id, Size { bytes, latency_ns: kept.latency_ns });
        Ok(Put::Kept(Box::new(kept.printable()), gone))
    }

    /// Removes a kept request.
    pub fn remove(&mut self, id: &str) {
        if self.kept.remove(id).is_some() {
            // Without its JSON it is gone; a trace that stays is swept at the next start.
            let _ = fs::remove_file(kept_path(&self.folder, id));
            let _ = fs::remove_file(trace_path(&self.folder, id));
        }
    }

    /// How many are kept, and their bytes.
    pub fn size(&self) -> (u64, u64) {
        (self.kept.len() as u64, self.kept.values().map(|one| one.bytes).sum())
    }

    /// Until so many bytes more fit, the least slow of the older half goes.
    fn make_room(&mut self, bytes: u64) -> u64 {
        let mut gone = 0;
        while self.size().1 + bytes > self.budget {
            let older = self.kept.iter().take(self.kept.len().div_ceil(2));
            let Some((id, _)) = older.min_by_key(|(_, one)| one.latency_ns) else { break };
            let id = id.clone();
            self.remove(&id);
            gone += 1;
        }
        gone
    }

    /// A name by the moment; the wall clock may have been set back to it.
    fn free_id(&self, at: SystemTime) -> String {
        let name = DateTime::<Utc>::from(at).format("%Y%m%dT%H%M%S-%3fZ").to_string();
        let free = |id: &String| !self.kept.contains_key(id);
        let more = (2..).map(|n: u64| format!("{name}-{n}"));
        let mut all = std::iter::once(name.clone()).chain(more);
        all.find(free).expect("numbers do not end")
    }

    fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(ON_THE_WAY).permissions(Permissions::from_mode(0o600));
        let mut file = builder.tempfile_in(&self.folder)?;
        file.write_all(content)?;
        // The name is replaced, so a link in its place is not followed.
        file.persist(path).map(drop).map_err(|error| error.error)
    }
}

fn lock(folder: &Path) -> Result<File, String> {
    let path = folder.join(LOCK);
    let told = |error: io::Error| format!("{}: {error}", path.display());
    // What a link of this name leads to would be locked, and nothing else be done to it.
    let mut options = File::options();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.create(true).truncate(false).write(true).open(&path).map_err(told)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            Err("another rearguard watch keeps its requests there: name another folder".to_string())
        }
        Err(fs::TryLockError::Error(error)) => Err(told(error)),
    }
}

/// Removes files on their way, and traces without a JSON, of processes that are gone.
fn sweep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let trace = name.strip_suffix(".trace").filter(|id| is_id(id));
        let is_torn = trace.is_some_and(|id| !kept_path(folder, id).exists());
        if name.starts_with(ON_THE_WAY) || is_torn {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// What cannot be read is least slow: it goes first.
fn size(folder: &Path, id: &str) -> Size {
    let bytes = |path: PathBuf| fs::symlink_metadata(path).map_or(0, |there| there.len());
    let latency_ns = read_kept(folder, id).map_or(0, |kept| kept.latency_ns);
    let bytes = bytes(trace_path(folder, id)) + bytes(kept_path(folder, id));
    Size { bytes, latency_ns }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::time::Duration;

    use super::*;
    use crate::kept::{KEPT_SCHEMA, list};

    fn at(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + second)
    }

    fn kept(latency_ns: u64) -> KeptRequest {
        KeptRequest { schema: KEPT_SCHEMA.to_string(), latency_ns, ..KeptRequest::default() }
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    fn latencies(folder: &Path) -> Vec<u64> {
        let (all, unreadable) = list(folder).expect("readable");
        assert_eq!(unreadable, 0);
        all.iter().map(|one| one.latency_ns).collect()
    }

    fn put(store: &mut Store, second: u64, latency: u64) -> Put {
        store.put(at(second), kept(latency), &[7; 1_000]).expect("room on the disk")
    }

    #[test]
    fn the_least_slow_of_the_older_half_goes_where_the_budget_is_used_up() {
        let folder = folder();
        let one = {
            let mut store = Store::open(folder.path(), 1 << 20).expect("a folder");
            (0..4).for_each(|n| drop(put(&mut store, n, [50, 20, 90, 10][n as usize])));
            assert_eq!(latencies(folder.path()), [50, 20, 90, 10], "the control: there is room");
            store.size().1 / 4
        };
        let mut store = Store::open(folder.path(), 4 * one + one / 2).expect("a folder");
        assert_eq!(store.size(), (4, 4 * one), "what was kept before is known");
        assert!(matches!(put(&mut store, 9, 30), Put::Kept(_, 1)));
        assert_eq!(latencies(folder.path()), [50, 90, 10, 30]);
        assert!(store.size().1 <= 4 * one + one / 2);
        drop(store);
        Store::open(folder.path(), 2 * one + one / 2).expect("a smaller budget");
        assert_eq!(latencies(folder.path()), [90, 30]);
    }

    #[test]
    fn what_is_larger_than_the_budget_is_not_kept_and_nothing_goes_for_it() {
        let folder = folder();
        let mut store = Store::open(folder.path(), 2_000).expect("a folder");
        assert!(matches!(put(&mut store, 0, 1), Put::Kept(..)));
        assert_eq!(store.put(at(1), kept(9), &[0; 3_000]).expect("no write"), Put::TooLarge);
        assert_eq!(latencies(folder.path()), [1]);
    }

    #[test]
    fn what_a_killed_process_left_is_swept_and_what_others_put_there_stays() {
        let folder = folder();
        let mut store = Store::open(folder.path(), 1 << 20).expect("a folder");
        put(&mut store, 0, 1);
        drop(store);
        for name in [".watch-abc", "20270101T000000-000Z.trace", "notes.txt"] {
            fs::write(folder.path().join(name), "x").expect("a file");
        }
        Store::open(folder.path(), 1 << 20).expect("a folder");
        let there = |name: &str| folder.path().join(name).exists();
        assert!(!there(".watch-abc") && !there("20270101T000000-000Z.trace"));
        assert!(there("notes.txt"));
        assert_eq!(latencies(folder.path()), [1]);
    }

    #[test]
    fn files_are_private_whole_and_not_written_through_links() {
        let folder = folder();
        let own = folder.path().join("kept");
        let mut store = Store::open(&own, 1 << 20).expect("it is made");
        let mode = |path: &Path| fs::metadata(path).expect("there").mode() & 0o777;
        assert_eq!(mode(&own), 0o700);
        let victim = folder.path().join("victim");
        fs::write(&victim, "as it was").expect("a file");
        let first = DateTime::<Utc>::from(at(0)).format("%Y%m%dT%H%M%S-%3fZ").to_string();
        symlink(&victim, trace_path(&own, &first)).expect("a link");
        let Put::Kept(one, 0) = put(&mut store, 0, 1) else { panic!("room") };
        assert_eq!(one.id, first);
        assert_eq!(fs::read_to_string(&victim).expect("there"), "as it was");
        assert_eq!(mode(&trace_path(&own, &first)), 0o600);
        assert_eq!(mode(&kept_path(&own, &first)), 0o600);
        let Put::Kept(second, _) = put(&mut store, 0, 2) else { panic!("room") };
        assert_eq!(second.id, format!("{first}-2"), "the clock was set back");
        let link = folder.path().join("link");
        symlink(&own, &link).expect("a link");
        drop(store);
        assert!(Store::open(&link, 1).is_err_and(|why| why.exit_code() == 2));
    }

    #[test]
    fn a_folder_of_others_and_one_in_use_are_refused() {
        let folder = folder();
        let store = Store::open(folder.path(), 1 << 20).expect("a folder");
        let Err(why) = Store::open(folder.path(), 1 << 20) else { panic!("two at once") };
        assert!(why.to_string().contains("another rearguard watch"), "{why}");
        drop(store);
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("ours");
        let Err(why) = Store::open(folder.path(), 1 << 20) else { panic!("anyone's") };
        assert!(why.to_string().contains("others may write there"), "{why}");
    }

    #[test]
    fn names_of_others_are_data() {
        let folder = folder();
        let mut store = Store::open(folder.path(), 1 << 20).expect("a folder");
        let evil = KeptRequest { service: "a\u{1b}[2J".to_string(), ..kept(1) };
        let put = store.put(at(0), evil, &[]).expect("room");
        assert!(matches!(put, Put::Kept(one, 0) if one.service == "a?[2J"));
        let (all, _) = list(folder.path()).expect("readable");
        assert_eq!(all[0].service, "a?[2J");
        for id in ["../victim", "", "20270115T080000-000Z/../x"] {
            assert!(read_kept(folder.path(), id).is_err_and(|why| why.exit_code() == 2));
        }
        let id = &all[0].id;
        fs::write(kept_path(folder.path(), id), "{").expect("a file");
        let (left, unreadable) = list(folder.path()).expect("readable");
        assert_eq!((left.len(), unreadable), (0, 1));
    }
}
