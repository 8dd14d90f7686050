//! The processes of this machine, as /proc numbers them.

use std::fs;

/// The entries of a folder that are numbers.
pub(crate) fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The processes that one has started, and those that they have.
pub fn started_by(process: u32) -> Vec<u32> {
    let all = numbers("/proc").into_iter();
    let parents: Vec<(u32, u32)> = all.filter_map(|one| Some((one, parent_of(one)?))).collect();
    let mut family = vec![process];
    let mut asked = 0;
    while let Some(parent) = family.get(asked).copied() {
        // Processes come and go while they are read: what seems a ring has an end.
        let is_new = |(one, of): &&(u32, u32)| *of == parent && !family.contains(one);
        let children: Vec<u32> = parents.iter().filter(is_new).map(|(one, _)| *one).collect();
        family.extend(children);
        asked += 1;
    }
    family.split_off(1)
}

/// The parent of a process: the second word behind its name in parentheses, which may hold anything.
fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
