//! Groups that the user was promised something for.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, iter};

use libbpf_rs::{MapCore, MapFlags};
use model::Failure;
use model::scenario::{Machine, Promise};

use crate::limits::MOUNT;
use crate::only;
use crate::skeleton::BpfSkel;

/// What one word of the command line says.
const OPTION: &str = "--promise";
/// As many as the programs have room for (`rg_promised_groups`).
const MOST: usize = 256;

/// A cgroup and its promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promised {
    name: String,
    folder: PathBuf,
    id: u64,
    promise: Promise,
}

impl Promised {
    /// Those of `NAME: 10ms=0.1%, at most 60%`: a cgroup (`/a/b`) or a unit (`web.service`) each.
    ///
    /// [`Failure::Input`] for what is none of these or not there, and where they cannot be kept together.
    pub fn all(words: &[String]) -> Result<Vec<Promised>, Failure> {
        let read = |word: &String| Promised::of(word, Path::new(MOUNT));
        let all = words.iter().map(read).collect::<Result<Vec<Promised>, Failure>>()?;
        let wrong = |text: String| Failure::Input(format!("{OPTION}: {text}"));
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
        match Promise::excess(all.iter().map(|own| own.promise)) {
            Some(text) => Err(wrong(text)),
            None => Ok(all),
        }
    }

    fn of(word: &str, mount: &Path) -> Result<Promised, Failure> {
        let wrong = |text: String| Failure::Input(format!("{OPTION} {word}: {text}"));
        let (name, promise) = word.rsplit_once(": ").ok_or_else(|| {
            wrong("expected a cgroup or unit and what it is promised, such as 'web.service: 10ms=0.1%'".into())
        })?;
        let promise = Promise::read(promise.trim()).map_err(wrong)?;
        let folder = only::group(OPTION, name.trim(), mount)?;
        let id = fs::metadata(&folder).map_err(|error| wrong(error.to_string()))?.ino();
        Ok(Promised { name: name.trim().to_string(), folder, id, promise })
    }
}

impl fmt::Display for Promised {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.promise)
    }
}

/// Tells programs that are not in force yet.
pub fn write(skeleton: &BpfSkel, promised: &[Promised], machine: &Machine) -> Result<(), Failure> {
    for own in promised {
        let words = [own.promise.within.0, own.promise.share(machine)];
        let value: Vec<u8> = iter::chain(words[0].to_ne_bytes(), words[1].to_ne_bytes()).collect();
        let map = &skeleton.maps.rg_promised_groups;
        map.update(&own.id.to_ne_bytes(), &value, MapFlags::ANY).map_err(|error| {
            Failure::Run(format!("{OPTION} {own}: the kernel did not take it ({error:#})"))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount() -> tempfile::TempDir {
        let mount = tempfile::tempdir().expect("a folder");
        for group in ["web.service", "web.service/inner", "db.service"] {
            fs::create_dir_all(mount.path().join(group)).expect("a group");
            fs::write(mount.path().join(group).join("cgroup.threads"), "").expect("a file");
        }
        mount
    }

    #[test]
    fn a_promise_names_a_group_that_is_there() {
        let mount = mount();
        let of = |word: &str| Promised::of(word, mount.path());
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
}
