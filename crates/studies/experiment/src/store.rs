//! Results that are finished: a file each, named by what it depends on, with a checksum.

use std::path::{Path, PathBuf};
use std::{env, fs};

use model::Failure;
use sha2::{Digest, Sha256};

const BEFORE_SUM: &str = "{\"checksum\":\"";
const AFTER_SUM: &str = "\",\"result\":";
const END: &str = "}\n";

/// A folder of results. Many plans may share one.
pub struct Store(PathBuf);

impl Store {
    /// Makes it where it is not there yet.
    pub fn open(path: &Path) -> Result<Store, Failure> {
        fs::create_dir_all(path)
            .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
        Ok(Store(path.to_path_buf()))
    }

    /// That of the user's cache, which the pages of results share.
    pub fn of_user() -> Result<Store, Failure> {
        let given = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let home = || Some(PathBuf::from(given("HOME")?).join(".cache"));
        let cache = given("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
        let absent = || Failure::Machine("no folder for results: set HOME".to_string());
        Store::open(&cache.ok_or_else(absent)?.join("rearguard/results/points"))
    }

    /// The result of that id. One that cannot be read, is damaged, or is another's, is none: its point runs
    /// again and replaces it.
    pub fn get(&self, id: &str) -> Option<String> {
        let text = fileio::text(&self.path(id), fileio::LONGEST_LIST).ok()?;
        let (sum, rest) = text.strip_prefix(BEFORE_SUM)?.split_once(AFTER_SUM)?;
        let result = rest.strip_suffix(END)?;
        (sum == checksum(id, result)).then(|| result.to_string())
    }

    /// Keeps a result, which is JSON: whole or not at all, whenever it is stopped.
    pub fn put(&self, id: &str, result: &str) -> Result<(), Failure> {
        let path = self.path(id);
        let sum = checksum(id, result);
        // What a machine that lost its power left of it is told by the sum.
        fileio::replace_with(&path, |out| write!(out, "{BEFORE_SUM}{sum}{AFTER_SUM}{result}{END}"))
            .map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
    }

    fn path(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}.json"))
    }
}

fn checksum(id: &str, result: &str) -> String {
    digest(&format!("{id} {result}"))
}

/// 32 hexadecimal digits of a text.
pub(crate) fn digest(text: &str) -> String {
    format!("{:.32x}", Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_result_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        store.put("a", "[1.25,\"word\"]").unwrap();
        assert_eq!(store.get("a").as_deref(), Some("[1.25,\"word\"]"), "the control");
        let path = folder.path().join("a.json");
        let whole = fs::read(&path).unwrap();
        for bit in 0..8 * whole.len() {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, damaged).unwrap();
            assert_eq!(store.get("a"), None, "bit {bit}");
        }
        fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        assert_eq!(store.get("a"), None, "cut");
        fs::write(folder.path().join("b.json"), whole).unwrap();
        assert_eq!(store.get("b"), None, "another's");
    }
}
