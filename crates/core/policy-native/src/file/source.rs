//! The text of a policy in a file, and how a compiler is told of it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use model::Failure;

use super::trust::{self, Refusal};

/// A policy has no more bytes.
const MOST: u64 = 16 << 20;

/// What a policy's source may include, by name.
pub const HEADERS: [(&str, &str); 3] = [
    ("platform.h", include_str!("../../../../../policy/platform.h")),
    ("defaults.h", include_str!("../../../../../policy/defaults.h")),
    ("sizes.h", include_str!("../../sizes.h")),
];

/// What a compiler says that it read.
const LIST: &str = "headers.d";

/// A policy's source. The file is read once: every compiler has the bytes that were checked.
#[derive(Debug)]
pub struct Source {
    shown: String,
    whole: PathBuf,
    content: Vec<u8>,
}

impl Source {
    /// Reads a file that this process may run.
    ///
    /// [`Failure::Input`] where it cannot be read, or root must not run it.
    pub fn read(path: &Path) -> Result<Source, Failure> {
        let wrong = |why: &str| Failure::Input(format!("policy {}: {why}", path.display()));
        let whole = std::path::absolute(path).map_err(|error| wrong(&error.to_string()))?;
        let named = whole.to_str().is_some_and(|name| !name.contains(['"', '\n', '\\']));
        if !named {
            return Err(wrong("rename it without quotes"));
        }
        let content = trust::read(path, MOST).map_err(|refusal| match refusal {
            Refusal::Unread(error) => {
                wrong(&format!("{error}; `rearguard new-policy NAME` begins one"))
            }
            other => wrong(&other.to_string()),
        })?;
        if content.contains(&0) || std::str::from_utf8(&content).is_err() {
            return Err(wrong("no C source: it is not text in UTF-8"));
        }
        Ok(Source { shown: path.display().to_string(), whole, content })
    }

    /// Its path, as the user gave it.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Where headers of its own stand, and a compiler is to be started: what comes by a pipe includes from
    /// there, and the folder of this process may be another user's.
    pub fn folder(&self) -> &Path {
        self.whole.parent().unwrap_or(Path::new("/"))
    }

    /// Which source it is.
    pub(crate) fn key(&self) -> (PathBuf, Vec<u8>) {
        (self.whole.clone(), self.content.clone())
    }

    /// Its text in the middle of a translation unit, with lines that a compiler calls the file's.
    pub fn spliced(&self) -> Vec<u8> {
        let first = format!("#line 1 \"{}\"\n", self.whole.display());
        // Two ends of lines: a backslash may stand before the first.
        [first.as_bytes(), &self.content, b"\n\n"].concat()
    }

    /// Writes what a policy includes into a folder of the caller's own; a compiler's arguments to find it
    /// there, and to list there what it reads.
    pub fn arguments(&self, folder: &Path) -> Result<Vec<OsString>, Failure> {
        for (name, text) in HEADERS {
            fs::write(folder.join(name), text)
                .map_err(|error| Failure::Machine(format!("cannot write headers: {error}")))?;
        }
        let list = folder.join(LIST).into_os_string();
        Ok(vec!["-I".into(), folder.into(), "-MD".into(), "-MF".into(), list])
    }

    /// Refuses headers that root must not compile: called after a compiler had [`Source::arguments`].
    pub fn check_headers(&self, folder: &Path) -> Result<(), Failure> {
        let list = fs::read_to_string(folder.join(LIST))
            .map_err(|error| Failure::Machine(format!("cannot read what was included: {error}")))?;
        let ours: Vec<PathBuf> = HEADERS.iter().map(|(name, _)| folder.join(name)).collect();
        let read = prerequisites(&list).into_iter().map(|name| self.folder().join(name));
        let mut theirs = read.filter(|path| !ours.contains(path));
        theirs.try_for_each(|path| {
            trust::check_header(&path).map_err(|refusal| {
                let header = path.display();
                Failure::Input(format!("policy {}: {header}: {refusal}", self.shown))
            })
        })
    }

    /// What a compiler says, with the file called what the user calls it.
    pub fn as_shown(&self, said: &[u8]) -> String {
        let said = String::from_utf8_lossy(said);
        said.replace(&format!("{}:", self.whole.display()), &format!("{}:", self.shown))
    }
}

/// What stands behind the colon of a rule for make.
fn prerequisites(rule: &str) -> Vec<String> {
    let rule = rule.replace("\\\n", " ");
    let behind = rule.split_once(": ").map_or("", |(_, behind)| behind);
    let mut names = vec![String::new()];
    let mut letters = behind.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.peek().copied();
        let name = names.last_mut().expect("never empty");
        match (letter, next) {
            ('\\', Some(quoted @ (' ' | '#' | '\\'))) | ('$', Some(quoted @ '$')) => {
                letters.next();
                name.push(quoted);
            }
            (letter, _) if letter.is_whitespace() => names.push(String::new()),
            (letter, _) => name.push(letter),
        }
    }
    names.retain(|name| !name.is_empty() && name != "-");
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_rule_are_read_as_make_reads_them() {
        let rule = "/tmp/a/policy.o: /tmp/a/platform.h \\\n my\\ own.h a\\#b.h c$$d.h ../e.h\n";
        let names = ["/tmp/a/platform.h", "my own.h", "a#b.h", "c$d.h", "../e.h"];
        assert_eq!(prerequisites(rule), names);
        assert_eq!(prerequisites("policy.o:\n"), Vec::<String>::new());
    }

    #[test]
    fn the_bytes_that_were_read_are_the_unit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mine.c");
        fs::write(&path, "int x;\\").expect("room");
        let source = Source::read(&path).expect("ours");
        fs::write(&path, "int y;").expect("room");
        let unit = String::from_utf8(source.spliced()).expect("UTF-8");
        assert_eq!(unit, format!("#line 1 \"{}\"\nint x;\\\n\n", path.display()));
        let quoted = folder.path().join("a\"b.c");
        fs::write(&quoted, "").expect("room");
        assert!(Source::read(&quoted).unwrap_err().to_string().contains("without quotes"));
    }

    #[test]
    fn what_is_no_text_is_no_source() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mine.c");
        for bytes in [&b"int x;\0"[..], b"int x; /* \xff */"] {
            fs::write(&path, bytes).expect("room");
            let refused = Source::read(&path).unwrap_err();
            assert!(refused.exit_code() == 2 && refused.to_string().contains("not text"));
        }
        fs::write(&path, "int x; /* \u{e9} */").expect("room");
        Source::read(&path).expect("the control");
    }
}
