//! A policy as named on the command line.

use std::collections::BTreeMap;
use std::fmt;

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
    fn malformed_specs_are_bad_input() {
        for text in ["", ":queue=cpu", "cts:queue", "cts:=cpu", "cts:queue=", "cts:a=1:a=2"] {
            assert!(matches!(PolicySpec::parse(text), Err(Failure::Input(_))), "{text}");
        }
    }
}
