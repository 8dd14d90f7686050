//! Groups that the user was promised something for.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use model::Failure;
use model::scenario::Promise;

use crate::groups::MOUNT;
use crate::only;

/// As many as the programs have room for (`rg_promised_groups`).
const MOST: usize = 256;

/// A cgroup and its promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promised {
    pub(crate) name: String,
    folder: PathBuf,
    /// The cgroup's; `None`: it is gone, and comes back with another one.
    pub(crate) id: Option<u64>,
    pub(crate) promise: Promise,
    /// When it was made, the cgroup came back, or CPUs came or went.
    pub(crate) since: Instant,
}

impl Promised {
    /// Those of `NAME: 10ms=0.1%, at most 60%`: a cgroup (`/a/b`) or a unit (`web.service`) each, as an
    /// option's words.
    ///
    /// [`Failure::Input`] for what is none of these or not there, and where they cannot be kept together.
    pub fn all(option: &str, words: &[String]) -> Result<Vec<Promised>, Failure> {
        let read = |word: &String| Promised::of(option, word, Path::new(MOUNT));
        let all = words.iter().map(read).collect::<Result<Vec<Promised>, Failure>>()?;
        together(option, &all)?;
        Ok(all)
    }

    /// These with another one, which stands in place of what its cgroup had; fails as [`Promised::all`] does.
    pub(crate) fn with(
        all: &[Promised],
        option: &str,
        word: &str,
    ) -> Result<Vec<Promised>, Failure> {
        let new = Promised::of(option, word, Path::new(MOUNT))?;
        let mut all: Vec<Promised> =
            all.iter().filter(|own| own.folder != new.folder).cloned().collect();
        all.push(new);
        together(option, &all)?;
        Ok(all)
    }

    fn of(option: &str, word: &str, mount: &Path) -> Result<Promised, Failure> {
        let wrong = |text: String| Failure::Input(format!("{option} {word}: {text}"));
        let (name, promise) = Promise::to_group(word).map_err(wrong)?;
        let folder = only::group(option, name, mount)?;
        Ok(Promised {
            name: name.to_string(),
            id: id(&folder),
            folder,
            promise,
            since: Instant::now(),
        })
    }

    /// Whether it is that of a cgroup (`/a/b`) or of a unit, which may be gone.
    pub(crate) fn is_of(&self, name: &str) -> bool {
        let path = self.folder.strip_prefix(MOUNT).unwrap_or(&self.folder);
        let is_named = match name.strip_prefix('/') {
            Some(name) => path == Path::new(name),
            None => path.file_name() == Some(name.as_ref()),
        };
        is_named || self.name == name
    }

    /// Looks whether the cgroup is gone, or back: a unit that is restarted has another one.
    pub(crate) fn follow(&mut self) {
        if id(&self.folder) != self.id {
            self.begin();
        }
    }

    /// It is about to be in force anew.
    pub(crate) fn begin(&mut self) {
        (self.id, self.since) = (id(&self.folder), Instant::now());
    }
}

/// A cgroup's id is the number of its folder.
fn id(folder: &Path) -> Option<u64> {
    fs::metadata(folder).map(|folder| folder.ino()).ok()
}

/// Fails where promises cannot be kept together.
fn together(option: &str, all: &[Promised]) -> Result<(), Failure> {
    let wrong = |text: String| Failure::Input(format!("{option}: {text}"));
    if all.len() > MOST {
        return Err(wrong(format!("found {}; expected {MOST} at most", all.len())));
    }
    for (at, own) in all.iter().enumerate() {
        let others = all.iter().enumerate().filter(|(other, _)| *other != at);
        let mut outer = others.filter(|(_, other)| own.folder.starts_with(&other.folder));
        if let Some((_, outer)) = outer.next() {
            let (own, outer) = (&own.name, &outer.name);
            return Err(wrong(format!("`{own}` lies in `{outer}`: leave one of them out")));
        }
    }
    Promise::excess(all.iter().map(|own| own.promise)).map_or(Ok(()), |text| Err(wrong(text)))
}

impl fmt::Display for Promised {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.promise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTION: &str = "--promise";

    fn mount() -> tempfile::TempDir {
        let mount = tempfile::tempdir().expect("a folder");
        for group in ["web.service", "web.service/inner", "db.service"] {
            make(&mount.path().join(group));
        }
        mount
    }

    fn make(group: &Path) {
        fs::create_dir_all(group).expect("a group");
        fs::write(group.join("cgroup.threads"), "").expect("a file");
    }

    #[test]
    fn a_promise_names_a_group_that_is_there() {
        let mount = mount();
        let of = |word: &str| Promised::of(OPTION, word, mount.path());
        let web = of("web.service: 10ms=0.1%, at most 60%").expect("a unit");
        assert_eq!(web.to_string(), "web.service: 10.0 ms=0.1%, at most 60%");
        assert_eq!(of("/web.service: 10ms=0.1%, at most 60%").map(|own| own.id), Ok(web.id));
        for bad in [
            "web.service",
            "web.service: 10ms",
            "web.service: 10ms=0.1%, at most 60",
            "mail.service: 10ms=0.1%",
            "/: 10ms=0.1%",
            "17: 10ms=0.1%",
        ] {
            assert_eq!(of(bad).map_err(|failure| failure.exit_code()), Err(2), "{bad}");
        }
    }

    #[test]
    fn what_cannot_be_kept_together_is_refused() {
        let mount = mount();
        let together = |words: &[&str]| {
            let of = |word: &&str| Promised::of(OPTION, word, mount.path()).expect("a group");
            together(OPTION, &words.iter().map(of).collect::<Vec<Promised>>())
        };
        let (web, db) = ("/web.service: 10ms=0.1%", "/db.service: 10ms=0.1%, at most 45%");
        assert_eq!(together(&[web, db]), Ok(()));
        let more = "/db.service: 10ms=0.1%, at most 46%";
        for bad in [&[web, more][..], &[web, "/web.service/inner: 1ms=1%, at most 1%"], &[db; 257]]
        {
            assert_eq!(together(bad).map_err(|failure| failure.exit_code()), Err(2), "{bad:?}");
        }
    }

    #[test]
    fn a_group_that_is_gone_is_followed_to_its_next_one() {
        let mount = mount();
        let mut db = Promised::of(OPTION, "db.service: 10ms=0.1%", mount.path()).expect("a unit");
        let (first, folder) = (db.clone(), db.folder.clone());
        db.follow();
        assert_eq!(db, first, "nothing has changed");
        let _keeps_its_number = fs::rename(&folder, mount.path().join("old"));
        db.follow();
        assert_eq!(db.id, None);
        make(&folder);
        db.follow();
        assert!(db.id.is_some() && db.id != first.id && db.since > first.since);
        assert!(db.is_of("db.service") && !db.is_of("web.service") && !db.is_of("/db.service"));
    }
}
