//! What stands behind a target's question mark.

use std::collections::BTreeMap;

use model::units;

/// What stands behind the question mark.
pub struct Options(BTreeMap<String, String>);

impl Options {
    /// Those of a path.
    pub fn new(path: &str) -> Result<Options, String> {
        let query = path.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (key, value) = pair.split_once('=').ok_or(format!("`{pair}` is no KEY=VALUE"))?;
            Ok((key.to_string(), value.to_string()))
        };
        pairs.map(pair).collect::<Result<_, String>>().map(Options)
    }

    /// One that `read` understands, or `usual`.
    pub fn take<T>(
        &mut self,
        key: &str,
        usual: T,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        let Some(text) = self.0.remove(key) else { return Ok(usual) };
        read(&text).map_err(|error| format!("{key}: {error}"))
    }

    /// A number.
    pub fn count(
        &mut self,
        key: &str,
        usual: u64,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, String> {
        self.take(key, usual, |text| {
            let count = units::count(text)?;
            let (least, most) = (range.start(), range.end());
            if range.contains(&count) {
                Ok(count)
            } else {
                Err(format!("found {count}; expected {least} to {most}"))
            }
        })
    }

    /// Refuses what was not taken.
    pub fn finish(&self) -> Result<(), String> {
        match self.0.keys().next() {
            Some(key) => Err(format!("no option `{key}` here; docs/guide/measure.md lists them")),
            None => Ok(()),
        }
    }
}
