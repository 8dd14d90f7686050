//! Which service of one result is which of another.

use super::found::{Found, Subject};

/// A service before and after, in every file of each side.
pub(super) struct Pair<'a> {
    pub before: Vec<(&'a Found, &'a Subject)>,
    pub after: Vec<(&'a Found, &'a Subject)>,
}

/// By policy and service; what is left over by its service alone, where one is left on each side; and what
/// is left then, where that is one on each side: another policy or target is what was changed.
pub(super) fn pairs<'a>(before: &'a [Found], after: &'a [Found]) -> Vec<Pair<'a>> {
    let (mut left, mut right) = (common(before), common(after));
    let mut paired = Vec::new();
    let same = |a: &Subject, b: &Subject| a.policy == b.policy && a.service == b.service;
    let served = |a: &Subject, b: &Subject| a.service == b.service;
    let rules: [fn(&Subject, &Subject) -> bool; 3] = [same, served, |_, _| true];
    for rule in rules {
        take(&mut left, &mut right, rule, &mut paired);
    }
    let every = |files: &'a [Found], one: &Subject| {
        files.iter().filter_map(|file| Some((file, counterpart(file, one)?))).collect()
    };
    let pair =
        |(a, b): (&Subject, &Subject)| Pair { before: every(before, a), after: every(after, b) };
    paired.into_iter().map(pair).collect()
}

/// What every file of a side has.
fn common(files: &[Found]) -> Vec<&Subject> {
    let Some((first, others)) = files.split_first() else { return Vec::new() };
    let is_common = |one: &&Subject| others.iter().all(|file| counterpart(file, one).is_some());
    first.subjects.iter().filter(is_common).collect()
}

/// The subject in another file of its side. The only one of a file goes by any name: each start of a server
/// has a port of its own.
fn counterpart<'a>(file: &'a Found, one: &Subject) -> Option<&'a Subject> {
    let named = file.subjects.iter().find(|own| own.name() == one.name());
    let only = (file.subjects.len() == 1).then(|| &file.subjects[0]);
    named.or(only)
}

fn take<'a>(
    left: &mut Vec<&'a Subject>,
    right: &mut Vec<&'a Subject>,
    rule: fn(&Subject, &Subject) -> bool,
    paired: &mut Vec<(&'a Subject, &'a Subject)>,
) {
    for one in left.clone() {
        let fits = |other: &&&Subject| rule(one, other);
        let rivals = left.iter().filter(|own| rule(own, one)).count();
        if let (1, &[other]) = (rivals, &right.iter().filter(fits).collect::<Vec<_>>()[..]) {
            let other = *other;
            left.retain(|own| !std::ptr::eq(*own, one));
            right.retain(|own| !std::ptr::eq(*own, other));
            paired.push((one, other));
        }
    }
}
