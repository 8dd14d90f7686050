//! Controllers of cgroups.

use std::io;

use super::file;
use crate::platform::Platform;

fn control(group: &str) -> String {
    format!("{group}/cgroup.subtree_control")
}

/// `on` or `off`.
pub fn read(on: &dyn Platform, group: &str, name: &str) -> io::Result<Option<String>> {
    let works = |text: String| text.split_whitespace().any(|word| word == name);
    let state = |works| String::from(if works { "on" } else { "off" });
    Ok(file::read(on, &control(group))?.map(|text| state(works(text))))
}

/// Switches it on or off.
pub fn write(on: &dyn Platform, group: &str, name: &str, value: &str) -> io::Result<()> {
    let sign = if value == "on" { '+' } else { '-' };
    on.write(&control(group), &format!("{sign}{name}"))
}
