//! Rows of switches: round trips through pipes under each scheduler in turn, block by block.

use host::pipes::{WINDOW, round_trips_ns};
use model::{Failure, PolicySpec, Watch};
use report::document::Estimate;
use report::proof::{ProofRow, ProofSide};

use super::Study;
use super::plan::{LEAST_RUNS, MOST_RUNS, PAIRS};
use super::timed::Timed;

/// Nanoseconds a round trip, by contender and number of pairs. The last contender is the first again.
type Block = Vec<Vec<f64>>;

impl Study {
    /// As many blocks as their part of the time has room for. A scheduler that cannot be loaded, or does not
    /// stay, fails here, before the long part.
    pub(super) fn switches(&self, watch: &Timed) -> Result<Vec<ProofRow>, Failure> {
        let (part, begin) = (self.budget.of_switches(), watch.elapsed());
        let mut blocks = Vec::new();
        loop {
            match self.block(blocks.len(), watch) {
                Ok(block) => blocks.push(block),
                Err(Failure::Interrupted) if !watch.user_stops() && !blocks.is_empty() => break,
                Err(failure) => return Err(failure),
            }
            let (spent, done) = ((watch.elapsed() - begin).0, blocks.len() as u64);
            let room = if done < LEAST_RUNS { 2 * part.0 } else { part.0 };
            if done == MOST_RUNS || spent + spent / done > room {
                break;
            }
        }
        let names: Vec<String> = self.policies.iter().map(ToString::to_string).collect();
        Ok((0..PAIRS.len()).map(|shape| row(&names, &blocks, shape)).collect())
    }

    /// Each contender once, with the same pairs, in every block from another one on.
    fn block(&self, number: usize, watch: &dyn Watch) -> Result<Block, Failure> {
        let count = self.policies.len() + 1;
        let contender = |turn: usize| (number + turn) % count;
        let policy = |turn| &self.policies[contender(turn) % self.policies.len()];
        let policies: Vec<&PolicySpec> = (0..count).map(policy).collect();
        watch.progress(0.0);
        let mut block = vec![Vec::new(); count];
        for (turn, found) in round_trips_ns(&policies, &PAIRS, watch)?.into_iter().enumerate() {
            block[contender(turn)] = found;
        }
        Ok(block)
    }
}

/// A number of pairs under every contender.
fn row(names: &[String], blocks: &[Block], shape: usize) -> ProofRow {
    let figures = |contender: usize| blocks.iter().map(|block| block[contender][shape]).collect();
    let first: Vec<f64> = figures(0);
    let side = |contender: usize| {
        let own: Vec<f64> = figures(contender);
        let ratio =
            stats::ratio_of_pairs(&own, &first).map_or(Estimate::default(), figures::estimate);
        ProofSide {
            policy: names[contender % names.len()].clone(),
            value_ns: stats::mean_of_runs(&own).map_or(Estimate::default(), figures::estimate),
            ratio,
            answer: ratio.answer(blocks.len(), true).filter(|_| contender > 0),
            ..ProofSide::default()
        }
    };
    let pairs = PAIRS[shape];
    ProofRow {
        what: format!("one CPU, {pairs} {}", if pairs == 1 { "pair" } else { "pairs" }),
        figure: "round trip".to_string(),
        runs: blocks.len() as u64,
        window_ns: WINDOW.0,
        sides: (0..=names.len()).map(side).collect(),
        ..ProofRow::default()
    }
}

#[cfg(test)]
mod tests {
    use model::Answer;

    use super::*;

    /// Three blocks on a machine that becomes slower: 1,000 ns by default, 1,200 ns under the other.
    #[test]
    fn what_slows_down_a_block_cancels_and_the_default_class_does_not_differ_from_itself() {
        let names = ["default", "mine"].map(String::from);
        let block = |slower: f64| {
            [1_000.0, 1_200.0, 1_004.0].map(|ns| vec![ns * slower; PAIRS.len()]).to_vec()
        };
        let row = row(&names, &[block(1.0), block(1.5), block(3.0)], 3);
        let [first, mine, again] = &row.sides[..] else { panic!("{row:?}") };
        assert_eq!((first.answer, mine.answer), (None, Some(Answer::Worse)));
        assert!((mine.ratio.low.unwrap() - 1.2).abs() < 1e-9, "{mine:?}");
        assert_eq!((&again.policy, again.answer), (&first.policy, Some(Answer::CannotTell)));
        assert!(first.value_ns.high > Some(3_000.0), "control: whole runs differ: {first:?}");
    }

    #[test]
    fn one_block_tells_nothing() {
        let names = ["default", "mine"].map(String::from);
        let block = [1_000.0, 2_000.0, 1_000.0].map(|ns| vec![ns; PAIRS.len()]).to_vec();
        assert!(row(&names, &[block], 0).sides.iter().all(|side| side.answer.is_none()));
    }
}
