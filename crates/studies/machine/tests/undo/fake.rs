//! A machine that is a tree of files. Its files are read and written by the code that does so on real
//! machines; only what the kernel would do to other files after a write is done here.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use machine::platform::{Files, Platform, TOKEN};
use machine::{Class, Cpus, Stop};

use crate::tree;

/// The journal's folder in the tree.
pub const STATE: &str = "/var/lib/rearguard";
/// What the kernel says of an interrupt that belongs to a CPU.
const EIO: i32 = 5;
/// The first number of processes started here: no kernel gives one as high (PID_MAX_LIMIT is 2^22), so none
/// of them is ever the test itself, which the code under test takes for no process of its own.
pub const FIRST_STARTED: usize = 1 << 23;
/// An interrupt that belongs to a CPU.
pub const BOUND_IRQ: &str = "/proc/irq/25/smp_affinity_list";

/// The machine, as one process sees it that dies after so many acts.
pub struct Fake {
    files: Files,
    left: Cell<Option<u32>>,
    /// Some: after those acts its user wants it to stop, and it lives.
    wish: Option<Arc<Stop>>,
    /// Whether its disk takes no more, and why.
    disk: Option<ErrorKind>,
}

impl Fake {
    /// For a process that lives.
    pub fn new(root: &Path) -> Fake {
        Fake { files: Files::below(root), left: Cell::new(None), wish: None, disk: None }
    }

    /// For a process that is killed when it has done this many acts.
    pub fn mortal(root: &Path, acts: u32) -> Fake {
        Fake { left: Cell::new(Some(acts)), ..Fake::new(root) }
    }

    /// For a process whose user presses Ctrl-C when it has done this many acts.
    pub fn stopped(root: &Path, acts: u32, wish: &Arc<Stop>) -> Fake {
        Fake { wish: Some(Arc::clone(wish)), ..Fake::mortal(root, acts) }
    }

    /// For a process whose disk is full.
    pub fn full(root: &Path) -> Fake {
        Fake { disk: Some(ErrorKind::StorageFull), ..Fake::new(root) }
    }

    /// For a process whose disk had errors, and was made read-only.
    pub fn read_only(root: &Path) -> Fake {
        Fake { disk: Some(ErrorKind::ReadOnlyFilesystem), ..Fake::new(root) }
    }

    fn room(&self) -> io::Result<()> {
        self.disk.map_or(Ok(()), |why| Err(why.into()))
    }

    /// One act more, unless the process is dead.
    fn act(&self) -> io::Result<()> {
        match (self.left.get(), &self.wish) {
            (Some(0), Some(wish)) => {
                wish.store(true, Ordering::Relaxed);
                self.left.set(None);
                Ok(())
            }
            (Some(0), None) => Err(io::Error::other("killed")),
            (left, _) => {
                self.left.set(left.map(|n| n - 1));
                Ok(())
            }
        }
    }

    fn file(&self, path: &str) -> std::path::PathBuf {
        self.files.place(path)
    }

    fn put(&self, path: &str, text: &str) -> io::Result<()> {
        fs::create_dir_all(self.file(path).parent().expect("below the root"))?;
        fs::write(self.file(path), format!("{}\n", text.trim()))
    }

    /// Replaces a field of a `stat`, counted as in proc(5).
    fn field(&self, path: &str, number: usize, value: &str) -> io::Result<()> {
        let stat = self.read(path)?;
        let (name, rest) = stat.trim().rsplit_once(") ").expect("a stat");
        let mut fields: Vec<&str> = rest.split(' ').collect();
        fields[number - 3] = value;
        self.put(path, &format!("{name}) {}", fields.join(" ")))
    }

    fn control(&self, path: &str, word: &str) -> io::Result<()> {
        let old = self.read(path)?;
        let (sign, name) = word.split_at(1);
        let mut names: Vec<&str> = old.split_whitespace().filter(|known| *known != name).collect();
        names.extend((sign == "+").then_some(name));
        self.put(path, &names.join(" "))
    }

    fn enter(&self, path: &str, process: &str) -> io::Result<()> {
        let cgroup = format!("/proc/{process}/cgroup");
        let old = self.read(&cgroup).map_err(|_| io::Error::from_raw_os_error(3))?;
        let old = old.trim().trim_start_matches("0::/").to_string();
        let leave = format!("/sys/fs/cgroup/{old}/cgroup.procs");
        let inside = self.read(&leave)?;
        let stay: Vec<&str> = inside.lines().filter(|line| *line != process).collect();
        self.put(&leave, &stay.join("\n"))?;
        let inside = self.read(path)?;
        let mut all: Vec<&str> = inside.split_whitespace().chain([process]).collect();
        all.sort_by_key(|process| process.parse::<i32>().expect("a number"));
        self.put(path, &all.join("\n"))?;
        let group = path.trim_end_matches("/cgroup.procs").trim_start_matches("/sys/fs/cgroup");
        self.put(&cgroup, &format!("0::/{}", group.trim_matches('/')))
    }
}

impl Platform for Fake {
    fn read(&self, path: &str) -> io::Result<String> {
        self.files.read(path)
    }

    fn beginning(&self, path: &str, most: u64) -> io::Result<String> {
        self.files.beginning(path, most)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.files.list(path)
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        self.act()?;
        if path == BOUND_IRQ {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        match path.rsplit('/').next().expect("a name") {
            "cgroup.subtree_control" => self.control(path, text),
            "cgroup.procs" => self.enter(path, text),
            "rps_cpus" | "xps_cpus" => self.files.write(path, &format!("{text}\n")),
            _ => self.files.write(path, &format!("{}\n", text.trim())),
        }
    }

    fn reserve(&self, path: &str) -> io::Result<()> {
        self.room()?;
        self.files.reserve(path)
    }

    fn append(&self, path: &str, text: &str) -> io::Result<()> {
        self.room()?;
        if self.left.get() == Some(0) && self.wish.is_none() {
            // It dies in the middle of the line, once.
            self.left.set(Some(u32::MAX));
            let torn = self.files.append(path, &text[..text.len() / 2]);
            self.left.set(Some(0));
            torn?;
        }
        self.act()?;
        self.files.append(path, text)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.act()?;
        if self.disk == Some(ErrorKind::ReadOnlyFilesystem) {
            self.room()?;
        }
        self.files.remove(path)
    }

    fn lock(&self, path: &str) -> io::Result<File> {
        self.files.lock(path)
    }

    fn make_group(&self, path: &str) -> io::Result<()> {
        self.act()?;
        fs::create_dir(self.file(path))?;
        tree::GROUP_FILES
            .iter()
            .try_for_each(|(name, text)| self.put(&format!("{path}/{name}"), text))
    }

    fn remove_group(&self, path: &str) -> io::Result<()> {
        self.act()?;
        if !self.read(&format!("{path}/cgroup.procs"))?.trim().is_empty() {
            return Err(ErrorKind::ResourceBusy.into());
        }
        fs::remove_dir_all(self.file(path))
    }

    fn set_class(&self, thread: i32, class: Class) -> io::Result<()> {
        self.act()?;
        for process in self.list("/proc")? {
            let stat = format!("/proc/{process}/task/{thread}/stat");
            if self.read(&stat).is_err() {
                continue;
            }
            self.field(&stat, 19, &class.nice.to_string())?;
            self.field(&stat, 40, &class.priority.to_string())?;
            self.field(&stat, 41, &class.number().to_string())?;
            if process == thread.to_string() {
                self.put(&format!("/proc/{process}/stat"), &self.read(&stat)?)?;
            }
        }
        Ok(())
    }

    fn set_affinity(&self, thread: i32, cpus: &Cpus) -> io::Result<()> {
        self.act()?;
        self.put(&format!("/proc/{thread}/status"), &format!("Cpus_allowed_list:\t{cpus}"))
    }

    fn start(&self, token: &str, args: &[String]) -> io::Result<()> {
        self.act()?;
        let process = FIRST_STARTED + args.len() + token.len();
        let user = nix::unistd::geteuid();
        self.put(
            &format!("/proc/{process}/status"),
            &format!("Uid:\t{user}\t{user}\t{user}\t{user}"),
        )?;
        self.put(&format!("/proc/{process}/environ"), &format!("A=1\0{TOKEN}={token}\0"))
    }

    fn stop(&self, process: i32) -> io::Result<()> {
        self.act()?;
        fs::remove_dir_all(self.file(&format!("/proc/{process}")))
    }
}

/// Every file of a tree, but the lock, which is not undone.
pub fn snapshot(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(root, root, &mut found);
    found
}

/// Fails with what differs.
#[track_caller]
pub fn assert_same(root: &Path, before: &BTreeMap<String, String>, when: &str) {
    let now = snapshot(root);
    let paths: BTreeSet<&String> = now.keys().chain(before.keys()).collect();
    let other: Vec<String> = paths
        .into_iter()
        .filter(|path| now.get(*path) != before.get(*path))
        .map(|path| format!("{path}: {:?} is now {:?}", before.get(path), now.get(path)))
        .collect();
    assert!(other.is_empty(), "{when}:\n{}", other.join("\n"));
}

fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, found);
        } else if entry.file_name() != "lock" {
            let name = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
            found.insert(name, fs::read_to_string(path).expect("text"));
        }
    }
}
