//! The versions, from the good one to the worse one.

use std::path::{Path, PathBuf};
use std::process::Command;

use model::Failure;

/// A commit is named by so many digits of its hash.
const SHORT: usize = 12;

/// Where versions come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The commits of a git repository.
    Git(PathBuf),
    /// They have names, and the recipe knows how to get them.
    Named,
}

/// A version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// What it is asked for by: a commit's hash, or a release's name.
    pub name: String,
    /// A commit's first line.
    pub subject: Option<String>,
}

impl Version {
    /// A repository's commits from `good` to `worse`, both included, along the first parents of `worse`.
    pub fn commits(at: &Path, good: &str, worse: &str) -> Result<Vec<Version>, Failure> {
        let [first, last] = [good, worse].map(|name| commit(at, name));
        let (first, last) = (first?, last?);
        if git(at, &["merge-base", "--is-ancestor", &first, &last]).is_err() {
            let why = format!("{good} is not among the commits before {worse}");
            let remedy = "give the older one first";
            return Err(Failure::Input(format!("{}: {why}: {remedy}", at.display())));
        }
        let range = format!("{first}..{last}");
        let after = git(at, &["log", "--reverse", "--first-parent", "--format=%H %s", &range])?;
        let begin = git(at, &["log", "--max-count=1", "--format=%H %s", &first])?;
        let versions: Vec<Version> = begin.lines().chain(after.lines()).map(of_line).collect();
        match versions.len() {
            0 | 1 => Err(Failure::Input(format!("{good} and {worse} are the same commit"))),
            _ => Ok(versions),
        }
    }

    /// Releases; [`Failure::Input`] unless there are two or more, each once.
    pub fn all_named(names: &[String]) -> Result<Vec<Version>, Failure> {
        let versions: Vec<Version> =
            names.iter().map(|name| Version::named(name)).collect::<Result<_, _>>()?;
        let again = |at: &usize| names[..*at].contains(&names[*at]);
        if let Some(at) = (0..names.len()).find(again) {
            return Err(Failure::Input(format!("version `{}` is given twice", names[at])));
        }
        match versions.len() {
            0 | 1 => Err(Failure::Input("--versions: expected two or more".to_string())),
            _ => Ok(versions),
        }
    }

    /// A release; [`Failure::Input`] where its name cannot be a folder's.
    pub fn named(name: &str) -> Result<Version, Failure> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(fits) {
            let wanted = "expected letters, digits and `._+-`, such as 1.0.19";
            return Err(Failure::Input(format!("version `{name}`: {wanted}")));
        }
        Ok(Version { name: name.to_string(), subject: None })
    }

    /// As people and folders name it.
    pub fn short(&self) -> &str {
        let is_hash = self.subject.is_some();
        if is_hash { &self.name[..SHORT.min(self.name.len())] } else { &self.name }
    }
}

fn of_line(line: &str) -> Version {
    let (name, subject) = line.split_once(' ').unwrap_or((line, ""));
    Version { name: name.to_string(), subject: Some(subject.to_string()) }
}

fn commit(at: &Path, name: &str) -> Result<String, Failure> {
    let found = git(at, &["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")]);
    found.map(|hash| hash.trim().to_string()).map_err(|failure| match failure {
        Failure::Run(_) => {
            Failure::Input(format!("{}: no commit `{name}` of a git repository", at.display()))
        }
        other => other,
    })
}

/// What git prints; [`Failure::Run`] with its complaint.
pub(crate) fn git(at: &Path, words: &[&str]) -> Result<String, Failure> {
    let mut git = Command::new("git");
    let ran = git.arg("-C").arg(at).args(words).output();
    let ran = ran.map_err(|error| Failure::Machine(format!("git: {error}: install git")))?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        return Err(Failure::Run(format!("git {}: {}", words.join(" "), said.trim())));
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_a_folder_s_name_and_a_commit_is_shown_short() {
        assert_eq!(Version::named("1.0.19-rc1").unwrap().short(), "1.0.19-rc1");
        for bad in ["", "..", "a/b", "-v", "a b"] {
            assert!(matches!(Version::named(bad), Err(Failure::Input(_))), "{bad}");
        }
        let commit = of_line("0123456789abcdef0123 pick: newest first");
        assert_eq!(commit.short(), "0123456789ab");
        assert_eq!(commit.subject.as_deref(), Some("pick: newest first"));
    }
}
