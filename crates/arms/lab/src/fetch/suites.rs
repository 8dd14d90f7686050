//! The lists of several suites, of which some may not be had.

use model::Failure;

use super::apt::{Apt, Archive};
use super::packages::{self, Found};
use crate::store::Lab;

/// What the suites have.
#[derive(Default)]
pub struct Suites {
    had: Vec<Suite>,
    /// Suites whose list could not be had, each with the reason.
    pub passed_over: Vec<String>,
}

struct Suite {
    name: String,
    apt: Apt,
    /// Its packages of kernels, a line each.
    packages: String,
}

impl Suites {
    /// Brings their lists up to date.
    pub fn update(lab: &Lab, archive: &Archive, names: &[&str]) -> Result<Suites, Failure> {
        let mut suites = Suites::default();
        for name in names {
            let apt = Apt::new(lab, archive, name)?;
            match apt.update().and_then(|()| apt.names()) {
                Ok(packages) => suites.had.push(Suite { name: name.to_string(), apt, packages }),
                Err(why) => suites.passed_over.push(format!("suite {name} is passed over: {why}")),
            }
        }
        Ok(suites)
    }

    /// The newest kernel that is meant, and the state of the suite that has it.
    pub fn newest(&self, is_meant: impl Fn(&str) -> bool) -> Option<(&Apt, Found)> {
        let found = self
            .had
            .iter()
            .filter_map(|suite| Some((&suite.apt, packages::newest(&suite.packages, &is_meant)?)));
        // A past version may have lost its modules in one suite and have them in another.
        found.max_by_key(|(_, found)| (packages::numbers(&found.release), found.names.len()))
    }

    /// Version and patch level of all their kernels, the oldest first.
    pub fn versions(&self) -> Vec<String> {
        let all: String = self.had.iter().map(|suite| suite.packages.as_str()).collect();
        packages::versions(&all)
    }

    /// Why a kernel that none of them has cannot be brought. A suite that was passed over may have it.
    pub fn refusal(&self, wanted: &str) -> Failure {
        let names: Vec<&str> = self.had.iter().map(|suite| suite.name.as_str()).collect();
        let names = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        if self.passed_over.is_empty() {
            let versions = self.versions().join(", ");
            return Failure::Input(format!(
                "kernel {wanted} is not in Debian's {names}: there is {versions}, and 6.1 in bookworm"
            ));
        }
        let passed_over = self.passed_over.join("; ");
        Failure::Machine(format!(
            "kernel {wanted} is in none of Debian's suites that could be had ({names}); {passed_over}"
        ))
    }
}
