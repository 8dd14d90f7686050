//! A gate tells a round that takes longer.
#![forbid(unsafe_code)]

use gate::{Least, Recorded, Runner, Source, judge};
use model::{Answer, PolicySpec};
use sim::SimArm;

fn record(work_us: u64) -> Recorded {
    let text = format!(
        "# Rounds beside a spinner.\nduration = \"1s\"\nseeds = [1, 2, 3]\n[machine]\ncpus = 2\n\
         [[program]]\nname = \"rounds\"\nkind = \"fork-join\"\nthreads = 4\nwork = \"{work_us}us\"\n\
         [[program]]\nname = \"batch\"\nkind = \"batch\"\n"
    );
    let policy = PolicySpec::plain("rearguard");
    let runner = Runner { arm: &SimArm, policy: &policy, jobs: Some(1) };
    let source = Source { name: "rounds.toml".into(), text };
    runner.record(&source, None, &model::Silent).expect("a run")
}

#[test]
fn a_round_that_takes_longer_is_worse_and_the_same_is_the_same() {
    let answer = |now_us: u64| {
        let outcome = judge(&[record(500)], &[record(now_us)], Least(0.01)).expect("one scenario");
        let round = outcome.0.iter().find(|one| one.figure == "round_ns").expect("a figure");
        assert_eq!(round.program.as_deref(), Some("rounds"));
        round.answer
    };
    assert_eq!(answer(600), Answer::Worse);
    assert_eq!(answer(400), Answer::Better);
    assert_eq!(answer(500), Answer::CannotTell, "control");
}
