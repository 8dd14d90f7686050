//! Whose code root runs: its own, and that of the user who called sudo.

mod walk;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use model::Failure;
use rustix::fs::{FileType, Stat};

use walk::{Found, find};

/// A file that root would run, read once: what was checked is what comes back, whatever stands at the path
/// afterwards. It has `most` bytes at most.
///
/// [`Failure::Input`] where it is no regular file; or where this process is root's and the file or a folder
/// above it is another user's, or others may write there.
pub fn trusted(what: &str, path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    read(path, most)
        .map_err(|refusal| Failure::Input(format!("{what} {}: {refusal}", path.display())))
}

/// As [`trusted`], with the reason alone.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, Refusal> {
    content(&Judge::here(), path, most)
}

/// As [`trusted`], of what was read already: it stands where no other user can have put another file
/// meanwhile, which a folder that all may write does not promise.
pub fn check_header(path: &Path) -> Result<(), Refusal> {
    let found = open(&Judge::here(), path)?;
    match found.shared {
        Some(folder) => Err(Refusal::Distrusted {
            why: format!("others may write to its folder {}", folder.display()),
            remedy: "move it, and the policy, into a folder of root's own".to_string(),
        }),
        None => Ok(()),
    }
}

/// Why a file is not taken.
#[derive(Debug)]
pub enum Refusal {
    /// It cannot be read.
    Unread(io::Error),
    /// It is not what is asked for.
    Unfit(String),
    /// Root must not run it.
    Distrusted {
        /// Whose it is, or who may write.
        why: String,
        /// What makes it fit.
        remedy: String,
    },
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Refusal::Unread(error) => write!(f, "{error}"),
            Refusal::Unfit(why) => f.write_str(why),
            Refusal::Distrusted { why, remedy } => {
                write!(f, "{why}, and root would run it: {remedy}")
            }
        }
    }
}

impl From<rustix::io::Errno> for Refusal {
    fn from(error: rustix::io::Errno) -> Refusal {
        Refusal::Unread(error.into())
    }
}

/// Who runs the code, and for whom.
struct Judge {
    user: u32,
    caller: Option<u32>,
}

impl Judge {
    fn here() -> Judge {
        let caller = std::env::var("SUDO_UID").ok().and_then(|id| id.parse().ok());
        Judge { user: rustix::process::geteuid().as_raw(), caller }
    }

    /// Why root must not run what others can change.
    fn file(&self, about: &Stat) -> Result<(), Refusal> {
        let open = self.is_open(about);
        let why = match self.stranger(about) {
            Some(owner) => format!("it belongs to user {owner}"),
            None if open => "others may write to it".to_string(),
            None => return Ok(()),
        };
        Err(Refusal::Distrusted { why, remedy: "make it root's own, `chmod go-w`".to_string() })
    }

    /// As of a file. In a sticky folder others cannot replace what is root's.
    fn folder(&self, place: &Path, about: &Stat) -> Result<(), Refusal> {
        let open = self.is_open(about) && about.st_mode & 0o1000 == 0;
        let place = place.display();
        let why = match self.stranger(about) {
            Some(owner) => format!("{place}, a folder above it, belongs to user {owner}"),
            None if open => format!("others may write to {place}, a folder above it"),
            None => return Ok(()),
        };
        let remedy = "make the folder root's own, `chmod go-w`, or move the file".to_string();
        Err(Refusal::Distrusted { why, remedy })
    }

    /// Its owner, where root does not run what is his.
    fn stranger(&self, about: &Stat) -> Option<u32> {
        let owner = about.st_uid;
        let known = self.user != 0 || owner == 0 || Some(owner) == self.caller;
        (!known).then_some(owner)
    }

    /// Whether others may write to it.
    fn is_open(&self, about: &Stat) -> bool {
        self.user == 0 && about.st_mode & 0o022 != 0
    }
}

/// A file open for reading.
struct Opened {
    file: File,
    /// Its folder, where others may put files beside it.
    shared: Option<PathBuf>,
}

/// Opens it once and looks at what was opened.
fn open(judge: &Judge, path: &Path) -> Result<Opened, Refusal> {
    let Found { file, shared } = find(judge, path)?;
    let about = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
        return Err(Refusal::Unfit("it is no regular file: name one".to_string()));
    }
    judge.file(&about)?;
    Ok(Opened { file: file.into(), shared })
}

fn content(judge: &Judge, path: &Path, most: u64) -> Result<Vec<u8>, Refusal> {
    let opened = open(judge, path)?;
    let mut content = Vec::new();
    opened.file.take(most + 1).read_to_end(&mut content).map_err(Refusal::Unread)?;
    if content.len() as u64 > most {
        return Err(Refusal::Unfit(format!("it has more than {} MiB", most >> 20)));
    }
    Ok(content)
}

#[cfg(test)]
mod tests;
