//! CPUs between cells, by a target of outliers.

use std::collections::BTreeMap;

use model::{Failure, Nanos, units};

use super::{Cell, cells, resize};
use crate::cpus::Cpus;
use crate::machine::Machine;
use crate::transaction::Stop;

/// A cell gives a CPU only while its outliers are at most this part of the target. So it keeps a margin, and
/// two cells do not pass one CPU to and fro.
const GIVES_BELOW: f64 = 0.5;

/// At most this proportion of a cell's requests is slower than the threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// The threshold.
    pub threshold: Nanos,
    /// The proportion, 0 to 1.
    pub proportion: f64,
}

impl Goal {
    /// Reads `100us=0.1%`.
    pub fn from_user(text: &str) -> Result<Goal, String> {
        let wrong = || format!("`{text}`: expected a threshold and a share, such as 100us=0.1%");
        let (threshold, share) = text.split_once('=').ok_or_else(wrong)?;
        let percent = share.strip_suffix('%').ok_or_else(wrong)?;
        let percent: f64 = percent.parse().map_err(|_| wrong())?;
        if !(percent > 0.0 && percent < 100.0) {
            return Err(wrong());
        }
        Ok(Goal { threshold: units::duration(threshold)?, proportion: percent / 100.0 })
    }
}

/// What a look at cells leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Every cell whose outliers are known is at or below its target.
    Content,
    /// A CPU goes from a cell to another.
    Move {
        /// The giver.
        from: String,
        /// The receiver.
        to: String,
        /// The CPU.
        cpu: usize,
    },
    /// A cell has too many outliers, and no cell has a CPU to give.
    Short {
        /// The cell.
        cell: String,
    },
}

/// Decides on one step: the cell with most outliers above the target gets a CPU of the one with fewest, which
/// must be well below the target and keep one.
pub fn decide(cells: &[(String, Cpus)], outliers: &BTreeMap<String, f64>, goal: Goal) -> Step {
    let known = || cells.iter().filter_map(|(name, cpus)| Some((name, cpus, *outliers.get(name)?)));
    let above = known().filter(|(.., share)| *share > goal.proportion);
    let Some((to, ..)) = above.max_by(|a, b| a.2.total_cmp(&b.2)) else { return Step::Content };
    let can_give =
        |cpus: &Cpus, share: f64| cpus.len() > 1 && share <= GIVES_BELOW * goal.proportion;
    let giver = known().filter(|(_, cpus, share)| can_give(cpus, *share));
    match giver.min_by(|a, b| a.2.total_cmp(&b.2)) {
        Some((from, cpus, _)) => Step::Move {
            from: from.clone(),
            to: to.clone(),
            cpu: cpus.iter().next_back().expect("two at least"),
        },
        None => Step::Short { cell: to.clone() },
    }
}

/// Looks once, and moves a CPU if that helps. The caller holds the lock.
pub fn look(
    machine: &Machine,
    outliers: &BTreeMap<String, f64>,
    goal: Goal,
) -> Result<Step, Failure> {
    let sizes = |cells: Vec<Cell>| -> Vec<(String, Cpus)> {
        cells.into_iter().map(|cell| (cell.name, cell.cpus)).collect()
    };
    let cells = sizes(cells(&machine.journal())?);
    let step = decide(&cells, outliers, goal);
    if let Step::Move { from, to, cpu } = &step {
        let of = |name: &String| {
            cells.iter().find(|(known, _)| known == name).expect("decided").1.clone()
        };
        let one: Cpus = [*cpu].into_iter().collect();
        let stop = Stop::new(false);
        resize(machine, &stop, from, &of(from).without(&one))?;
        if let Err(failure) = resize(machine, &stop, to, &of(to).or(&one)) {
            // No cell's CPU would help.
            resize(machine, &stop, from, &of(from))?;
            return Err(failure);
        }
    }
    Ok(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(cells: &[(&str, &str, f64)]) -> Step {
        let sizes: Vec<(String, Cpus)> = cells
            .iter()
            .map(|(name, cpus, _)| (name.to_string(), Cpus::read_list(cpus).expect("a list")))
            .collect();
        let outliers = cells.iter().map(|(name, _, share)| (name.to_string(), *share)).collect();
        decide(&sizes, &outliers, Goal::from_user("100us=1%").expect("a goal"))
    }

    fn moved(from: &str, to: &str, cpu: usize) -> Step {
        Step::Move { from: from.into(), to: to.into(), cpu }
    }

    #[test]
    fn the_neediest_gets_a_cpu_of_the_calmest() {
        let cells = [("a", "1-2", 0.02), ("b", "3-4", 0.001), ("c", "5-6", 0.05), ("d", "7", 0.0)];
        assert_eq!(decided(&cells), moved("b", "c", 4));
    }

    #[test]
    fn no_cell_gives_its_last_cpu_or_one_that_it_needs() {
        let short = || Step::Short { cell: "a".into() };
        assert_eq!(decided(&[("a", "1", 0.02), ("b", "2", 0.0)]), short());
        assert_eq!(decided(&[("a", "1", 0.02), ("b", "2-3", 0.006)]), short());
        assert_eq!(decided(&[("a", "1", 0.02), ("b", "2-3", 0.005)]), moved("b", "a", 3));
        assert_eq!(decided(&[("a", "1", 0.01), ("b", "2-3", 0.0)]), Step::Content);
    }

    #[test]
    fn a_cell_of_which_nothing_is_known_neither_gives_nor_gets() {
        let sizes = [("a", "1"), ("b", "2-3")];
        let sizes = sizes.map(|(n, c)| (n.to_string(), Cpus::read_list(c).expect("a list")));
        let goal = Goal::from_user("100us=1%").expect("a goal");
        let only_a = BTreeMap::from([("a".to_string(), 0.5)]);
        assert_eq!(decide(&sizes, &only_a, goal), Step::Short { cell: "a".into() });
    }

    #[test]
    fn goals_are_read_with_their_units() {
        let goal = Goal::from_user("100us=0.1%").expect("a goal");
        assert_eq!((goal.threshold, goal.proportion), (Nanos(100_000), 0.001));
        for bad in ["100us", "100=0.1%", "100us=0.1", "100us=0%", "100us=x%", "=1%"] {
            Goal::from_user(bad).unwrap_err();
        }
    }
}
