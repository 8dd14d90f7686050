//! Rules as people write them: a name and options, `choices:d=2`, in the manner of policies.

use std::ops::RangeInclusive;

use model::{Failure, Nanos, PolicySpec, units};

/// A rule's text, taken apart.
pub(crate) struct Words<'a> {
    what: &'a str,
    text: &'a str,
    forms: &'a str,
    spec: PolicySpec,
}

/// A text that is no rule.
pub(crate) fn refused(what: &str, text: &str, forms: &str) -> Failure {
    Failure::Input(format!("{what} `{}`: expected one of {forms}", text.escape_debug()))
}

impl<'a> Words<'a> {
    /// Takes a text apart.
    pub fn read(what: &'a str, text: &'a str, forms: &'a str) -> Result<Words<'a>, Failure> {
        let spec = PolicySpec::parse(text).map_err(|_| refused(what, text, forms))?;
        Ok(Words { what, text, forms, spec })
    }

    /// The rule's name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// An option's text, which is then done with.
    pub fn option(&mut self, key: &str) -> Option<String> {
        self.spec.options.remove(key)
    }

    /// An option that counts something.
    pub fn count(
        &mut self,
        key: &str,
        default: u32,
        range: RangeInclusive<u32>,
    ) -> Result<u32, Failure> {
        let Some(text) = self.option(key) else { return Ok(default) };
        let read = text.parse().ok().filter(|n| range.contains(n));
        let expected = || format!("{} to {}", range.start(), range.end());
        read.ok_or_else(|| self.wrong(key, &text, &expected()))
    }

    /// An option that is a duration.
    pub fn duration(&mut self, key: &str) -> Result<Option<Nanos>, Failure> {
        let Some(text) = self.option(key) else { return Ok(None) };
        units::duration(&text)
            .map(Some)
            .map_err(|_| self.wrong(key, &text, "a duration such as 10ms"))
    }

    /// An option that is a share between 0 and 1, both excluded.
    pub fn share(&mut self, key: &str) -> Result<Option<f64>, Failure> {
        let Some(text) = self.option(key) else { return Ok(None) };
        let read = text.parse().ok().filter(|share| *share > 0.0 && *share < 1.0);
        read.map(Some).ok_or_else(|| self.wrong(key, &text, "a share above 0 and below 1"))
    }

    /// An option that is one of a few words; the first where it is absent.
    pub fn word(&mut self, key: &str, known: &[&str]) -> Result<usize, Failure> {
        let Some(text) = self.option(key) else { return Ok(0) };
        let place = known.iter().position(|word| *word == text);
        place.ok_or_else(|| self.wrong(key, &text, &known.join(", ")))
    }

    fn wrong(&self, key: &str, found: &str, expected: &str) -> Failure {
        let (what, text) = (self.what, self.text.escape_debug());
        Failure::Input(format!(
            "{what} `{text}`: `{key}` is `{}`; expected {expected}",
            found.escape_debug()
        ))
    }

    /// The rule, unless options are left over.
    pub fn done<T>(self, rule: T) -> Result<T, Failure> {
        if self.spec.options.is_empty() {
            Ok(rule)
        } else {
            Err(refused(self.what, self.text, self.forms))
        }
    }
}
