//! Threads that may not run because their group has used up its quota. The kernel tells it of a thread that
//! leaves its CPU, and of no other one that waits in the same queue.

use std::collections::BTreeMap;

use super::process_cache::ProcessInfo;

/// Threads that want a CPU and have none, by the kernel's ids.
pub(super) struct Quotas<'a> {
    known: &'a BTreeMap<u32, ProcessInfo>,
    /// Those that may run, and the CPU in whose queue each is.
    waiting: BTreeMap<u32, u16>,
    /// The others, with the group whose quota is used up.
    throttled: BTreeMap<u32, (u32, u16)>,
}

impl<'a> Quotas<'a> {
    /// Of threads of which this is known.
    pub fn new(known: &'a BTreeMap<u32, ProcessInfo>) -> Quotas<'a> {
        Quotas { known, waiting: BTreeMap::new(), throttled: BTreeMap::new() }
    }

    /// A thread waits in the queue of a CPU.
    pub fn wait(&mut self, thread: u32, cpu: u16) {
        self.throttled.remove(&thread);
        self.waiting.insert(thread, cpu);
    }

    /// A thread has a CPU, or wants none.
    pub fn leave(&mut self, thread: u32) {
        self.throttled.remove(&thread);
        self.waiting.remove(&thread);
    }

    /// The quota of a group that a thread is in is used up on a CPU. Tells all that may not run from now on:
    /// the thread, and those of the same cgroup in the queue of that CPU.
    pub fn throttle(&mut self, thread: u32, cpu: u16, group: u32) -> Vec<u32> {
        self.waiting.remove(&thread);
        let path = |one: &u32| self.known.get(one).map(|info| &info.group);
        let own = path(&thread).filter(|path| !path.is_empty());
        let is_beside = |(one, at): &(&u32, &u16)| **at == cpu && own.is_some() && path(one) == own;
        let beside = self.waiting.iter().filter(is_beside).map(|(one, _)| *one);
        let all: Vec<u32> = std::iter::once(thread).chain(beside).collect();
        for one in &all {
            self.waiting.remove(one);
            self.throttled.insert(*one, (group, cpu));
        }
        all
    }

    /// A group has a quota again, but for the CPUs of these bits. Tells which threads may run.
    pub fn renew(&mut self, group: u32, held: u64) -> Vec<u32> {
        let is_free =
            |(_, own): &(&u32, &(u32, u16))| own.0 == group && held >> (own.1 % 64) & 1 == 0;
        let free: Vec<(u32, u16)> =
            self.throttled.iter().filter(is_free).map(|(one, own)| (*one, own.1)).collect();
        free.iter().for_each(|(one, cpu)| self.wait(*one, *cpu));
        free.into_iter().map(|(one, _)| one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: u32 = 5;

    fn known() -> BTreeMap<u32, ProcessInfo> {
        let of = |group: &str| ProcessInfo { group: group.to_string(), ..ProcessInfo::default() };
        BTreeMap::from([(1, of("web")), (2, of("web")), (3, of("batch")), (4, of("")), (6, of(""))])
    }

    #[test]
    fn who_waits_in_the_queue_of_a_throttled_group_is_throttled() {
        let known = known();
        let mut quotas = Quotas::new(&known);
        for thread in [2, 3, 4] {
            quotas.wait(thread, 0);
        }
        assert_eq!(quotas.throttle(1, 0, GROUP), [1, 2], "the control: another group");
        assert_eq!(quotas.throttle(6, 0, GROUP), [6], "the root has no quota");
        quotas.wait(2, 1);
        assert_eq!(quotas.throttle(1, 0, GROUP), [1], "the control: another CPU");
        quotas.leave(2);
        assert_eq!(quotas.throttle(1, 1, GROUP), [1], "the control: it has that CPU");
    }

    #[test]
    fn a_renewed_quota_frees_the_threads_of_its_group_where_it_has_one() {
        let known = known();
        let mut quotas = Quotas::new(&known);
        quotas.throttle(1, 0, GROUP);
        quotas.throttle(2, 1, GROUP);
        assert_eq!(quotas.renew(7, 0), Vec::<u32>::new(), "another group's");
        assert_eq!(quotas.renew(GROUP, 0b10), [1], "its debt on CPU 1 is not paid");
        assert_eq!(quotas.throttle(2, 0, GROUP), [2, 1], "it waits again");
        quotas.leave(1);
        assert_eq!(quotas.renew(GROUP, 0), [2]);
    }
}
