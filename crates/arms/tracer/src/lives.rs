//! Which of the threads that had a number one after the other a record is about, and which a name is of.

use std::collections::BTreeMap;

use model::{Nanos, printable};

use super::process_cache::{Origin, ProcessInfo};
use super::recording::{Kind, Seen, Starter};

/// The ticks in which /proc tells moments (USER_HZ).
pub(super) const TICK: Nanos = Nanos::from_millis(10);
/// A start is told in ticks, rounded down; the first wake-up follows soon.
const START: Nanos = Nanos::from_millis(20);
/// Numbers of threads end below this bit (PID_MAX_LIMIT). Above it stands which of its threads it is.
const LIFE: u32 = 22;
/// So many threads of one number are told apart; those that follow have no name.
const MOST_LIVES: usize = 511;

/// Whether two looks at the clocks told the same tick.
pub(super) fn is_same(one: Nanos, other: Nanos) -> bool {
    one.0.abs_diff(other.0) < TICK.0 / 2
}

/// The threads that had one number.
#[derive(Clone, Debug, Default)]
pub(super) struct Lives {
    /// When each of them was seen first.
    creations: Vec<Nanos>,
    /// What /proc said of the number.
    told: Vec<Told>,
    /// The names of programs that it became, and when.
    programs: Vec<(Nanos, [u8; 16])>,
    /// What started them, and when.
    starters: Vec<(Nanos, Starter)>,
}

/// What /proc says of a thread.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// When it said so.
    pub at: Nanos,
    /// When that thread had started.
    pub started: Nanos,
    pub info: ProcessInfo,
}

impl Lives {
    /// Takes up a record of the number, and tells whether it is the first of a thread.
    pub fn note(&mut self, seen: &Seen) -> bool {
        if let Kind::Named { name } = seen.kind {
            self.programs.push((seen.at, name));
        }
        let starter = match seen.kind {
            Kind::Wake { started_by, .. } => started_by,
            _ => None,
        };
        self.starters.extend(starter.map(|starter| (seen.at, starter)));
        let is_known = self.creations.contains(&seen.at);
        match self.creations.first_mut() {
            // CPUs hand over their records one after the other.
            Some(first) if seen.at < *first => *first = seen.at,
            Some(_) if starter.is_none() || is_known => return false,
            _ => self.creations.push(seen.at),
        }
        self.creations.sort_unstable();
        true
    }

    /// Takes up what /proc says of the number. One thread may have several names, of which the last counts,
    /// and parents, of which the first does: it is given to another when that one ends.
    pub fn tell(&mut self, mut told: Told) {
        match self.told.iter_mut().find(|known| is_same(known.started, told.started)) {
            Some(known) => {
                told.info.origin.parent = known.info.origin.parent;
                *known = told;
            }
            None => self.told.push(told),
        }
    }

    /// Which thread had the number at a moment.
    fn at(&self, moment: Nanos) -> usize {
        let begun = self.creations.partition_point(|creation| *creation <= moment);
        begun.saturating_sub(1).min(MOST_LIVES)
    }

    /// What is known of its threads, by place.
    fn known(&self, number: u32) -> BTreeMap<usize, ProcessInfo> {
        let lives = 0..self.creations.len().min(MOST_LIVES);
        lives.filter_map(|life| Some((life, self.of(life, number)?))).collect()
    }

    /// What /proc said of a thread, by the name of the program that it became last.
    fn of(&self, life: usize, number: u32) -> Option<ProcessInfo> {
        let own = self.programs.iter().filter(|(at, _)| self.at(*at) == life);
        let program = own.max_by_key(|(at, _)| *at);
        let told = self.told.iter().rfind(|told| self.only_life(told.started) == Some(life));
        let info = told.map(|told| told.info.clone());
        match program.filter(|(at, _)| told.is_none_or(|told| told.at < *at)) {
            None => info,
            Some((_, name)) => {
                let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
                let name = printable(&String::from_utf8_lossy(&name[..end]));
                // What becomes a program is a process, whatever it was before.
                let info = info.unwrap_or_default();
                let origin = Origin { is_fork: false, ..info.origin };
                Some(ProcessInfo { name, process: number, origin, ..info })
            }
        }
    }

    /// The thread that had started then. What may be one of two is none.
    fn only_life(&self, started: Nanos) -> Option<usize> {
        let is_of = |(place, creation): &(usize, &Nanos)| {
            started <= **creation && (*place == 0 || started.saturating_add(START) > **creation)
        };
        let mut all = self.creations.iter().enumerate().filter(is_of);
        let only = all.next().filter(|_| all.next().is_none());
        only.map(|(place, _)| place)
    }

    /// Forgets threads whose number was another one's before a moment.
    pub fn forget(&mut self, before: Nanos) {
        let gone = self.at(before);
        if gone > 0 {
            self.creations.drain(..gone);
            let oldest = self.creations[0];
            self.told.retain(|told| told.started.saturating_add(START) > oldest);
        }
        let oldest = self.creations.first().copied().unwrap_or_default();
        self.programs.retain(|(at, _)| *at >= oldest);
        self.starters.retain(|(at, _)| *at >= oldest);
    }
}

/// A number with which of its threads it is; the first one's is the number itself.
fn alias(number: u32, life: usize) -> u32 {
    number | (life as u32) << LIFE
}

/// The number of a thread without which of its threads it is.
pub(super) fn number_of(alias: u32) -> u32 {
    alias & ((1 << LIFE) - 1)
}

/// Gives threads that had one number one after the other names of their own, in all records, and tells what
/// is known of each.
pub(super) fn tell_apart(
    seen: &mut [Seen],
    lives: &BTreeMap<u32, Lives>,
) -> BTreeMap<u32, ProcessInfo> {
    let named = |number: u32, at: Nanos| {
        lives.get(&number).map_or(number, |lives| alias(number, lives.at(at)))
    };
    for one in seen {
        one.thread = named(one.thread, one.at);
        if let Kind::Switch { from, .. } = &mut one.kind {
            *from = named(*from, one.at);
        }
    }
    let known = lives.iter().flat_map(|(number, lives)| {
        let known = lives.known(*number).into_iter();
        known.map(|(life, info)| (alias(*number, life), info))
    });
    known.collect()
}

/// What started which thread.
pub(super) fn starters(lives: &BTreeMap<u32, Lives>) -> BTreeMap<u32, Starter> {
    let named = |number: u32, at: Nanos| {
        lives.get(&number).map_or(number, |lives| alias(number, lives.at(at)))
    };
    let all =
        lives.iter().flat_map(|(number, own)| own.starters.iter().map(move |one| (number, one)));
    let starter = |own: &Starter, at| Starter { thread: named(own.thread, at), ..*own };
    all.map(|(number, (at, own))| (named(*number, *at), starter(own, *at))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::recording::Left;
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    const BY_ANOTHER: Starter = Starter { thread: 1, is_same_process: false };

    fn switch(at: u64) -> Seen {
        let kind = Kind::Switch { from: 0, left: Left::Preempted };
        Seen { at: Nanos(at), cpu: 0, thread: 7, kind }
    }

    fn creation(at: u64) -> Seen {
        Seen {
            kind: Kind::Wake { target: 0, throttled_by: None, started_by: Some(BY_ANOTHER) },
            ..switch(at)
        }
    }

    /// What /proc says at four seconds.
    fn told(started: u64, name: &str) -> Told {
        let info = ProcessInfo { process: 7, name: name.to_string(), ..ProcessInfo::default() };
        Told { at: Nanos(4 * SECOND), started: Nanos(started), info }
    }

    /// The names of the records' threads; `None`: unknown.
    fn names(lives: &Lives, seen: &[Seen]) -> Vec<Option<String>> {
        let mut seen = seen.to_vec();
        let known = tell_apart(&mut seen, &BTreeMap::from([(7, lives.clone())]));
        assert!(seen.iter().all(|one| number_of(one.thread) == 7));
        seen.iter().map(|one| known.get(&one.thread).map(|info| info.name.clone())).collect()
    }

    fn lives(seen: &[Seen]) -> Lives {
        let mut lives = Lives::default();
        for one in seen {
            lives.note(one);
        }
        lives
    }

    #[test]
    fn each_thread_that_had_a_number_has_its_own_name() {
        let seen = [switch(SECOND), creation(2 * SECOND), switch(3 * SECOND)];
        let mut both = lives(&seen);
        both.tell(told(SECOND / 2, "hog"));
        both.tell(told(2 * SECOND - 5_000_000, "shell"));
        both.tell(told(2 * SECOND - 5_000_010, "innocent"));
        let [hog, innocent] = ["hog", "innocent"].map(|name| Some(name.to_string()));
        assert_eq!(names(&both, &seen), [hog, innocent.clone(), innocent.clone()]);
        both.forget(Nanos(3 * SECOND));
        assert_eq!(names(&both, &seen[1..]), [innocent.clone(), innocent]);
        let mut control = lives(&[seen[0], seen[2]]);
        control.tell(told(SECOND / 2, "hog"));
        let hog = Some("hog".to_string());
        assert_eq!(names(&control, &seen), [hog.clone(), hog.clone(), hog], "no other is created");
    }

    #[test]
    fn a_thread_that_ended_before_it_was_looked_up_is_no_other_one() {
        let seen = [switch(SECOND), creation(2 * SECOND), switch(3 * SECOND)];
        let mut first = lives(&seen);
        first.tell(told(SECOND / 2, "innocent"));
        let innocent = || Some("innocent".to_string());
        assert_eq!(names(&first, &seen), [innocent(), None, None]);
        let mut second = lives(&seen);
        second.tell(told(2 * SECOND - 5_000_000, "innocent"));
        assert_eq!(names(&second, &seen), [None, innocent(), innocent()]);
        let mut late = lives(&seen[..1]);
        late.tell(told(2 * SECOND - 5_000_000, "innocent"));
        assert_eq!(names(&late, &seen[..1]), [None], "its creation has not come yet");
        let mut either = lives(&[creation(2 * SECOND), creation(2 * SECOND + 5_000_000)]);
        either.tell(told(2 * SECOND - 5_000_000, "innocent"));
        assert_eq!(names(&either, &[switch(3 * SECOND)]), [None], "it may be either's");
    }

    #[test]
    fn a_process_that_ended_at_once_has_the_name_of_its_program() {
        let named = |at, text: &[u8]| {
            let mut name = [0; 16];
            name[..text.len()].copy_from_slice(text);
            Seen { kind: Kind::Named { name }, ..switch(at) }
        };
        let seen = [
            creation(SECOND),
            named(2 * SECOND, b"hog"),
            creation(3 * SECOND),
            named(3 * SECOND + 5, b"shell"),
            named(3 * SECOND + 9, b"a-name-of-sixteen"[..16].as_ref()),
        ];
        let some = |name: &str| Some(name.to_string());
        let [hog, last] = [some("hog"), some("a-name-of-sixtee")];
        let all = [hog.clone(), hog.clone(), last.clone(), last.clone(), last];
        assert_eq!(names(&lives(&seen), &seen), all);
        let mut later = lives(&seen[..2]);
        later.tell(told(SECOND, "renamed"));
        assert_eq!(names(&later, &seen[..1]), [some("renamed")], "/proc was asked after it");
        later.note(&named(5 * SECOND, b"exec"));
        assert_eq!(names(&later, &seen[..1]), [some("exec")], "and before this");
        assert_eq!(names(&lives(&seen[..1]), &seen[..1]), [None], "the control");
    }
}
