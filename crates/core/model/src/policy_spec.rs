//! A policy as named on the command line.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::Failure;

/// A policy's name and the options that change it: `cts`, or `cts:queue=cpu:requeue=tail`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicySpec {
    /// The policy's name: `cfs`, `eevdf`, `fifo`, `cts` ...
    pub name: String,
    /// Options by key. Which keys a policy knows is for its arm to say.
    pub options: BTreeMap<String, String>,
}

impl PolicySpec {
    /// A policy without options.
    pub fn plain(name: &str) -> PolicySpec {
        PolicySpec { name: name.to_string(), options: BTreeMap::new() }
    }

    /// Reads `NAME[:KEY=VALUE]...`; anything else is a [`Failure::Input`].
    pub fn parse(text: &str) -> Result<PolicySpec, Failure> {
        let malformed = || {
            Failure::Input(format!(
                "policy `{text}`: expected NAME or NAME:KEY=VALUE, for example cts:queue=cpu"
            ))
        };
        let mut parts = text.split(':');
        let name = parts.next().filter(|name| !name.is_empty()).ok_or_else(malformed)?;
        let mut options = BTreeMap::new();
        for part in parts {
            let (key, value) = part.split_once('=').ok_or_else(malformed)?;
            if key.is_empty() || value.is_empty() {
                return Err(malformed());
            }
            if options.insert(key.to_string(), value.to_string()).is_some() {
                return Err(Failure::Input(format!("policy `{text}`: `{key}` is given twice")));
            }
        }
        Ok(PolicySpec { name: name.to_string(), options })
    }

    /// The file that the name means: it has a `/` or ends in `.c`. No other name is ever a file, because the
    /// working folder may be another user's.
    pub fn file(&self) -> Option<&Path> {
        let is_file = self.name.contains('/') || self.name.ends_with(".c");
        is_file.then(|| Path::new(&self.name))
    }

    /// [`Failure::Input`] for a policy in a file: a plan or a cluster is data, and names no code by itself.
    pub fn check_shipped(&self) -> Result<(), Failure> {
        match self.file() {
            None => Ok(()),
            Some(_) => Err(Failure::Input(format!(
                "policy `{self}` is code of its own: read it, then say --allow-own-policies"
            ))),
        }
    }
}

impl fmt::Display for PolicySpec {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.name)?;
        self.options.iter().try_for_each(|(key, value)| write!(f, ":{key}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_prints_as_it_was_written() {
        for text in ["cts", "cts:queue=cpu:requeue=tail"] {
            assert_eq!(PolicySpec::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_name_alone_is_never_a_file() {
        for (text, is_file) in
            [("mine", false), ("cts:queue=cpu", false), ("mine.c", true), ("./a", true)]
        {
            let spec = PolicySpec::parse(text).unwrap();
            assert_eq!(spec.file().is_some(), is_file, "{text}");
            assert_eq!(spec.check_shipped().is_err(), is_file, "{text}");
        }
    }

    #[test]
    fn malformed_specs_are_bad_input() {
        for text in ["", ":queue=cpu", "cts:queue", "cts:=cpu", "cts:queue=", "cts:a=1:a=2"] {
            assert!(matches!(PolicySpec::parse(text), Err(Failure::Input(_))), "{text}");
        }
    }
}
