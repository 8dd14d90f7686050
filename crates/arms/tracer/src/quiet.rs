//! What quiet CPUs keep. A CPU hands its records over with its next one, which may be seconds away.

use super::recording::Seen;

/// Takes over what a CPU keeps that was still between two looks, and knows it again when it comes.
#[derive(Default)]
pub(super) struct QuietCpus {
    /// By CPU, what it kept at the last look.
    before: Vec<Vec<Seen>>,
    /// By CPU, what was taken over and has not come yet.
    taken: Vec<Vec<Seen>>,
}

impl QuietCpus {
    /// What CPUs keep now, by CPU; tells what is to be taken over. What changes while it is read is not
    /// still.
    pub fn look(&mut self, kept: Vec<Vec<Seen>>) -> Vec<Seen> {
        self.before.resize(kept.len(), Vec::new());
        self.taken.resize(kept.len(), Vec::new());
        let mut fresh = Vec::new();
        for (cpu, now) in kept.iter().enumerate().filter(|(cpu, now)| self.before[*cpu] == **now) {
            let known = &mut self.taken[cpu];
            let new: Vec<Seen> = now.iter().filter(|one| !known.contains(one)).copied().collect();
            known.extend(&new);
            fresh.extend(new);
        }
        self.before = kept;
        fresh
    }

    /// What CPUs keep at the end, when no hook writes any more: all that was not taken over before.
    pub fn finish(&mut self, kept: Vec<Vec<Seen>>) -> Vec<Seen> {
        let mut all = kept.concat();
        self.filter(&mut all);
        all
    }

    /// Takes out of what CPUs handed over what was taken over before.
    pub fn filter(&mut self, handed: &mut Vec<Seen>) {
        if self.taken.iter().all(Vec::is_empty) {
            return;
        }
        handed.retain(|one| {
            let Some(taken) = self.taken.get_mut(usize::from(one.cpu)) else { return true };
            let known = taken.iter().position(|known| known == one);
            known.map(|at| taken.swap_remove(at)).is_none()
        });
    }
}

#[cfg(test)]
mod tests {
    use model::Nanos;

    use super::super::recording::{Kind, Level};
    use super::*;

    fn seen(at: u64, cpu: u16) -> Seen {
        Seen { at: Nanos(at), cpu, thread: 1, kind: Kind::Begin { vector: 1, level: Level::Soft } }
    }

    #[test]
    fn a_quiet_cpus_records_are_taken_over_once() {
        let mut quiet = QuietCpus::default();
        let kept = || vec![vec![seen(1, 0), seen(2, 0)], vec![seen(3, 1)]];
        assert_eq!(quiet.look(kept()), [], "they may come by themselves");
        assert_eq!(quiet.look(kept()), [seen(1, 0), seen(2, 0), seen(3, 1)]);
        assert_eq!(quiet.look(kept()), [], "once");
        // The first CPU goes on and hands over all that it has; the second one does so later.
        let mut handed = vec![seen(1, 0), seen(2, 0), seen(9, 0)];
        quiet.filter(&mut handed);
        assert_eq!(handed, [seen(9, 0)]);
        let mut again = QuietCpus { before: quiet.before.clone(), taken: quiet.taken.clone() };
        assert_eq!(
            again.finish(vec![vec![seen(9, 0)], vec![seen(3, 1), seen(4, 1)]]),
            [seen(9, 0), seen(4, 1)]
        );
        let mut handed = vec![seen(3, 1), seen(1, 0)];
        quiet.filter(&mut handed);
        assert_eq!(handed, [seen(1, 0)], "what came once comes no second time");
    }

    #[test]
    fn a_cpu_that_is_at_work_hands_over_by_itself() {
        let mut quiet = QuietCpus::default();
        for at in 0..5 {
            assert_eq!(quiet.look(vec![vec![seen(at, 0)]]), []);
        }
    }
}
