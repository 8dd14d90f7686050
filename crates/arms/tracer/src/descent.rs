//! Which processes are the service's own: those that it started, and forks of the process that it is a fork
//! of.

use std::collections::BTreeSet;

use super::recording::{Recording, Starter};
use super::thread_table::ThreadTable;

/// A process that was started by one that was started by a third, and so on: of so many.
pub(super) const MOST_HOPS: usize = 64;

/// The processes of a service, and those that they are forks of.
pub(super) struct Descent<'a> {
    recording: &'a Recording,
    service: BTreeSet<u32>,
    /// Its forebears whose program it still is: a server's first process, which may serve no request.
    forebears: BTreeSet<u32>,
    group: &'a str,
}

impl<'a> Descent<'a> {
    /// That of the service with these threads.
    pub fn new(recording: &'a Recording, threads: impl Iterator<Item = u32>) -> Descent<'a> {
        let threads: BTreeSet<u32> = threads.collect();
        let of_first = threads.first().and_then(|first| recording.known.get(first));
        let group = of_first.map_or("", |info| &info.group);
        let (service, forebears) = (BTreeSet::new(), BTreeSet::new());
        let mut descent = Descent { recording, service, forebears, group };
        descent.service = threads.iter().map(|thread| descent.process(*thread)).collect();
        descent.forebears =
            threads.iter().flat_map(|thread| descent.forebears_of(*thread)).collect();
        descent
    }

    fn forebears_of(&self, thread: u32) -> Vec<u32> {
        let forks = self.line(thread).take_while(|(_, is_fork)| *is_fork);
        forks.map(|(starter, _)| self.process(starter)).collect()
    }

    /// Marks the service's own among the other processes. A number that several processes had is marked
    /// where all of them were.
    pub fn mark(&self, table: &mut ThreadTable) {
        let programs = table.programs_of.iter().zip(&table.threads);
        let strangers = programs.filter(|(_, thread)| !self.includes(**thread));
        let strangers: BTreeSet<usize> = strangers.map(|(program, _)| *program).collect();
        for (program, process) in (1..).zip(&mut table.others) {
            process.descends = !strangers.contains(&program);
        }
    }

    /// Whether a thread's process is the service's own. One in another group (a unit, a container) is not: a
    /// server of logins starts other people's programs.
    fn includes(&self, thread: u32) -> bool {
        let info = self.recording.known.get(&thread);
        if info.is_some_and(|info| info.group != self.group) {
            return false;
        }
        let mut all_forks = true;
        let is_reached = |one: u32, all_forks: bool| {
            let process = self.process(one);
            self.service.contains(&process) || all_forks && self.forebears.contains(&process)
        };
        is_reached(thread, true)
            || self.line(thread).any(|(starter, is_fork)| {
                all_forks &= is_fork;
                is_reached(starter, all_forks)
            })
    }

    /// A thread's starter, that one's, and so on, and whether each was started without becoming a program of
    /// its own.
    fn line(&self, thread: u32) -> impl Iterator<Item = (u32, bool)> {
        let first = self.starter(thread);
        std::iter::successors(first, |(one, _)| self.starter(*one)).take(MOST_HOPS)
    }

    fn starter(&self, thread: u32) -> Option<(u32, bool)> {
        let info = self.recording.known.get(&thread);
        let origin = info.map(|info| info.origin);
        if let Some(Starter { thread, is_same_process }) = self.recording.starters.get(&thread) {
            let is_fork = *is_same_process || origin.is_none_or(|origin| origin.is_fork);
            return Some((*thread, is_fork));
        }
        let origin = origin.or_else(|| self.recording.processes.ancestors.get(&thread).copied())?;
        (origin.parent != 0).then_some((origin.parent, origin.is_fork))
    }

    fn process(&self, thread: u32) -> u32 {
        self.recording.known.get(&thread).map_or(thread, |info| info.process)
    }
}

#[cfg(test)]
mod tests {
    use super::super::process_cache::{Origin, ProcessInfo};
    use super::*;

    const SERVICE: u32 = 10;
    const OTHER: u32 = 20;

    /// A recording of the service and another process, each of this parent.
    fn recording(parents: [u32; 2], is_fork: bool) -> Recording {
        let info = |process, parent| {
            let (origin, name) = (Origin { parent, is_fork }, "redis-server".to_string());
            (process, ProcessInfo { process, name, origin, ..ProcessInfo::default() })
        };
        let known = [info(SERVICE, parents[0]), info(OTHER, parents[1])].into();
        Recording { known, ..Recording::default() }
    }

    /// As a process starts one.
    fn by(thread: u32) -> Starter {
        Starter { thread, is_same_process: false }
    }

    fn includes(recording: &Recording, thread: u32) -> bool {
        Descent::new(recording, [SERVICE].into_iter()).includes(thread)
    }

    #[test]
    fn what_the_service_started_is_its_own_and_what_another_started_is_not() {
        assert!(includes(&recording([5, SERVICE], false), OTHER));
        assert!(!includes(&recording([5, 5], false), OTHER), "the control: of the same parent");
        assert!(!includes(&recording([5, 0], false), OTHER), "of an unknown one");
        let mut elsewhere = recording([5, SERVICE], false);
        let other = elsewhere.known.get_mut(&OTHER).expect("it is there");
        other.group = "user.slice".to_string();
        assert!(!includes(&elsewhere, OTHER), "in another group");
    }

    #[test]
    fn a_process_between_them_need_not_have_had_a_cpu() {
        let mut through = recording([5, 15], false);
        assert!(!includes(&through, OTHER), "the control: nothing is known of it");
        through.processes.ancestors.insert(15, Origin { parent: SERVICE, is_fork: false });
        assert!(includes(&through, OTHER));
    }

    /// Processes of PostgreSQL are forks of one that reads no request.
    #[test]
    fn forks_of_one_process_belong_together() {
        let siblings = recording([5, 5], true);
        assert!(includes(&siblings, OTHER));
        let mut started = siblings.clone();
        started.known.get_mut(&OTHER).expect("it is there").origin.is_fork = false;
        assert!(!includes(&started, OTHER), "the control: it became a program of its own");
        let mut first = siblings;
        first.known.insert(5, ProcessInfo { process: 5, ..ProcessInfo::default() });
        assert!(includes(&first, 5));
    }

    /// A child that ends before it is looked up.
    #[test]
    fn the_wake_up_of_a_new_thread_tells_which_thread_started_it() {
        let mut brief = recording([5, 5], false);
        brief.starters = [(31, by(30)), (30, by(SERVICE + 1))].into();
        let thread = ProcessInfo { process: SERVICE, ..ProcessInfo::default() };
        brief.known.insert(SERVICE + 1, thread);
        assert!(includes(&brief, 31));
        brief.starters.insert(30, by(OTHER));
        assert!(!includes(&brief, 31), "the control: the other one started it");
    }

    #[test]
    fn a_line_that_goes_in_circles_ends() {
        let mut circle = recording([5, 5], false);
        circle.starters = [(30, by(31)), (31, by(30))].into();
        assert!(!includes(&circle, 30));
    }
}
