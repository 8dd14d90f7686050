//! A version's own folder: its tree, what was built in it, and what its runs showed.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model::{Failure, Watch, printable};

use crate::versions::{Origin, Version, git};

/// Left beside a tree once all of it is there.
const WHOLE: &str = "built";
/// What the build printed.
const LOG: &str = "build.log";
/// Lines of it that are shown at most, and where in it they are looked for.
const LAST_LINES: usize = 10;
const LAST_BYTES: u64 = 8 << 10;

/// How a version is made.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Where its tree comes from.
    pub origin: Origin,
    /// What builds it, for `sh -c`, in the tree; `VERSION` is the version's name.
    pub build: Option<String>,
}

/// The folder of all versions.
pub struct Builds {
    folder: PathBuf,
    recipe: Recipe,
    is_kept: bool,
}

impl Builds {
    /// In this folder, which may hold what an earlier search has built: it is run, so no other user may have
    /// put it there. Files of a folder that is not kept are not named.
    pub fn new(folder: PathBuf, recipe: Recipe, is_kept: bool) -> Result<Builds, Failure> {
        let refuse = |why: String| Failure::Input(format!("--keep {}: {why}", folder.display()));
        let above = folder.parent().map_or(Ok(()), fs::create_dir_all);
        above.map_err(|error| refuse(error.to_string()))?;
        fileio::private_folder(&folder).map_err(refuse)?;
        Ok(Builds { folder, recipe, is_kept })
    }

    /// What belongs to a version alone.
    pub fn folder(&self, version: &Version) -> PathBuf {
        self.folder.join(version.short())
    }

    /// Whether all of a version is there.
    pub fn is_built(&self, version: &Version) -> bool {
        self.folder(version).join(WHOLE).exists()
    }

    /// A version's tree, made and built unless that was done before.
    pub fn tree(&self, version: &Version, watch: &dyn Watch) -> Result<PathBuf, Failure> {
        let own = self.folder(version);
        let tree = own.join("tree");
        if self.is_built(version) {
            return Ok(tree);
        }
        // What an earlier attempt left is half of something.
        let failed = |error: io::Error| Failure::Machine(format!("{}: {error}", own.display()));
        if tree.exists() {
            fs::remove_dir_all(&tree).map_err(failed)?;
        }
        fs::create_dir_all(&tree).map_err(failed)?;
        self.fill(version, &tree)?;
        self.build(version, &own, watch)?;
        fileio::replace(&own.join(WHOLE), b"").map_err(failed)?;
        Ok(tree)
    }

    fn fill(&self, version: &Version, tree: &Path) -> Result<(), Failure> {
        let Origin::Git(repository) = &self.recipe.origin else { return Ok(()) };
        let source = fs::canonicalize(repository)
            .map_err(|error| Failure::Input(format!("{}: {error}", repository.display())))?;
        // Objects are shared, so a tree takes no more than its files.
        git(
            tree,
            &["clone", "--quiet", "--shared", "--no-checkout", &source.to_string_lossy(), "."],
        )?;
        git(tree, &["checkout", "--quiet", "--detach", &version.name]).map(|_| ())
    }

    fn build(&self, version: &Version, own: &Path, watch: &dyn Watch) -> Result<(), Failure> {
        let Some(build) = &self.recipe.build else { return Ok(()) };
        let log = own.join(LOG);
        let failed = |error: io::Error| Failure::Machine(format!("sh -c '{build}': {error}"));
        let said = fileio::create_new(&log).map_err(failed)?;
        let mut shell = Command::new("sh");
        shell.args(["-c", build]).current_dir(own.join("tree")).env("VERSION", &version.name);
        shell.stdin(Stdio::null()).stdout(said.try_clone().map_err(failed)?).stderr(said);
        let mut child = shell.process_group(0).spawn().map_err(failed)?;
        let status = experiment::ended(&mut child, watch).map_err(failed)?;
        match status.success() {
            _ if watch.cancelled() => Err(Failure::Interrupted),
            true => Ok(()),
            false => Err(Failure::Run(format!(
                "its build ended with {status}{}",
                self.said(&log).map_err(failed)?
            ))),
        }
    }

    /// The end of what a build printed, and where all of it is.
    fn said(&self, log: &Path) -> io::Result<String> {
        let last = last_lines(log)?;
        Ok(if self.is_kept { format!(": {}{last}", log.display()) } else { last })
    }
}

fn last_lines(log: &Path) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(LAST_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    Ok(last.iter().map(|line| format!("\n    {}", printable(line))).collect())
}

#[cfg(test)]
mod tests {
    use model::Silent;

    use super::*;

    #[test]
    fn a_failed_build_shows_its_last_lines_and_names_its_log_where_that_is_kept() {
        let said = |is_kept| {
            let folder = tempfile::tempdir().expect("a folder");
            let build = Some("seq 12; printf '\\033[2J'; exit 7".to_string());
            let recipe = Recipe { origin: Origin::Named, build };
            let version = Version::named("1.0").expect("a name");
            let builds = Builds::new(folder.path().join("b"), recipe, is_kept).expect("ours");
            builds.tree(&version, &Silent).unwrap_err().to_string()
        };
        let temporary = said(false);
        assert!(temporary.ends_with("\n    11\n    12\n    ?[2J"), "{temporary}");
        assert!(temporary.contains("\n    4\n") && !temporary.contains("\n    3\n"), "{temporary}");
        assert!(!temporary.contains(LOG) && said(true).contains(LOG), "{temporary}");
    }
}
