//! A path, followed folder by folder, each opened and judged before what is in it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

use super::{Judge, Refusal};

/// As many as the kernel follows.
const MOST_LINKS: u32 = 40;

/// What a path leads to.
pub struct Found {
    /// The file, open for reading.
    pub file: OwnedFd,
    /// Its folder, where others may put files beside it.
    pub shared: Option<PathBuf>,
}

/// Follows an absolute path. No name is looked up twice, so nothing can be exchanged behind a check.
pub fn find(judge: &Judge, path: &Path) -> Result<Found, Refusal> {
    let path = std::path::absolute(path).map_err(Refusal::Unread)?;
    let mut walk = Walk::at_root(judge, &path)?;
    while let Some(name) = walk.left.pop_front() {
        if let Some(found) = walk.step(&name)? {
            return Ok(found);
        }
    }
    Err(Refusal::Unfit("it is a folder: name a file".to_string()))
}

struct Walk<'a> {
    judge: &'a Judge,
    at: OwnedFd,
    /// Where that is, without links.
    place: PathBuf,
    /// Whether others may put files there.
    shared: bool,
    left: VecDeque<OsString>,
    links: u32,
}

impl Walk<'_> {
    fn at_root<'a>(judge: &'a Judge, path: &Path) -> Result<Walk<'a>, Refusal> {
        let at = openat(CWD, "/", folder_flags(), Mode::empty())?;
        let left = names(path);
        let mut walk = Walk { judge, at, place: PathBuf::from("/"), shared: false, left, links: 0 };
        walk.judge_here()?;
        Ok(walk)
    }

    /// One name further; the file where it is the last.
    fn step(&mut self, name: &OsStr) -> Result<Option<Found>, Refusal> {
        let looked = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let next = openat(&self.at, name, looked, Mode::empty())?;
        match FileType::from_raw_mode(fstat(&next)?.st_mode) {
            FileType::Directory => self.enter(name, next).map(|()| None),
            FileType::Symlink => self.follow(&next).map(|()| None),
            _ if !self.left.is_empty() => Err(Errno::NOTDIR.into()),
            FileType::RegularFile => self.read(name).map(Some),
            // Opened for reading a pipe waits, and a device may act.
            _ => Err(Refusal::Unfit("it is no regular file: name one".to_string())),
        }
    }

    fn enter(&mut self, name: &OsStr, folder: OwnedFd) -> Result<(), Refusal> {
        self.at = folder;
        if name == ".." {
            self.place.pop();
        } else {
            self.place.push(name);
        }
        self.judge_here()
    }

    fn judge_here(&mut self) -> Result<(), Refusal> {
        let about = fstat(&self.at)?;
        self.shared = self.judge.is_open(&about);
        self.judge.folder(&self.place, &about)
    }

    fn follow(&mut self, link: &OwnedFd) -> Result<(), Refusal> {
        if self.shared {
            return Err(Refusal::Distrusted {
                why: format!(
                    "it is reached by a link in {}, where others may write",
                    self.place.display()
                ),
                remedy: "name the file itself".to_string(),
            });
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::LOOP.into());
        }
        let target =
            PathBuf::from(OsString::from_vec(readlinkat(link, "", Vec::new())?.into_bytes()));
        if target.is_absolute() {
            self.at = openat(CWD, "/", folder_flags(), Mode::empty())?;
            self.place = PathBuf::from("/");
            self.judge_here()?;
        }
        names(&target).into_iter().rev().for_each(|name| self.left.push_front(name));
        Ok(())
    }

    fn read(&self, name: &OsStr) -> Result<Found, Refusal> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.at, name, flags, Mode::empty())?;
        Ok(Found { file, shared: self.shared.then(|| self.place.clone()) })
    }
}

fn folder_flags() -> OFlags {
    OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC
}

fn names(path: &Path) -> VecDeque<OsString> {
    let name = |component| match component {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(name).collect()
}
