//! What is said of a promise before it is made, held against what comes of it: in simulation that is known.

mod support;

use model::scenario::Promise;
use support::recorded;
use whatif::{Admitted, admission};

/// A service beside as many spinners as there are CPUs, in groups of like weight.
fn text(machine: &str, service: &str, promise: &str, at_most: u32) -> String {
    format!(
        "# A service with a promise.\nduration = \"10s\"\nwarm_up = \"1s\"\nseeds = [1]\n\
         [machine]\ncpus = {machine}\n\
         [[group]]\nname = \"cache\"\npromise = \"{promise}\"\nat_most = \"{at_most}%\"\n\
         [[group]]\nname = \"work\"\n\
         [[program]]\nname = \"cache\"\nkind = \"service\"\ngroup = \"cache\"\n{service}\n\
         [[program]]\nname = \"batch\"\nkind = \"batch\"\nthreads = {machine}\ngroup = \"work\"\n"
    )
}

const EVENT_LOOP: &str = "architecture = \"partitioned\"\nworkers = 1\nservice_time = \"400us\"";
const THREADS: &str =
    "connections = 64\nservice_time = { mean = \"500us\", law = \"lognormal\", cv = 1.5 }";
const PARTITIONED: &str = "architecture = \"partitioned\"\nworkers = 4\nservice_time = \"400us\"";

/// What is said of requests that the default class served, and whether that promise is kept then.
fn told_and_kept(
    [machine, service, load]: [&str; 3],
    promise: &str,
    at_most: u32,
) -> (Admitted, bool) {
    let service = format!("{service}\narrivals = {{ utilisation = {load} }}");
    let text = text(machine, &service, promise, at_most);
    let made = Promise::read(&format!("{promise}, at most {at_most}%")).expect("a promise");
    let told =
        admission(&recorded(&text, "eevdf"), &made).unwrap_or_else(|wrong| panic!("{wrong}"));
    let latencies = stats::window_latencies(&recorded(&text, "rearguard").trace, 0);
    let late = latencies.iter().filter(|latency| **latency > made.within).count();
    let is_kept =
        late as f64 / latencies.len() as f64 <= f64::from(made.outliers_per_million) / 1e6;
    println!("{machine} {load} {promise} {at_most}%: {:?}, {late} late", told);
    (told.answer, is_kept)
}

#[test]
fn a_promise_is_kept_after_a_yes_and_not_after_a_no() {
    let [mut kept, mut not, mut short] = [0; 3];
    for [machine, service] in [["1", EVENT_LOOP], ["4", THREADS]] {
        for (promise, load) in
            [("2ms=3%", ["0.1", "0.5", "0.7"]), ("5ms=1%", ["0.3", "0.6", "0.9"])]
                .iter()
                .flat_map(|(promise, loads)| loads.map(|load| (*promise, load)))
        {
            for at_most in [30, 60, 90] {
                let (told, is_kept) = told_and_kept([machine, service, load], promise, at_most);
                match told {
                    Admitted::Yes => assert!(is_kept),
                    Admitted::No { .. } => assert!(!is_kept),
                    // The spinners want their half.
                    Admitted::Budget { at_most_percent } if at_most_percent > Some(55) => {
                        assert!(!is_kept);
                    }
                    _ => {}
                }
                kept += u32::from(told == Admitted::Yes);
                not += u32::from(matches!(told, Admitted::No { .. }));
                short += u32::from(matches!(told, Admitted::Budget { .. }));
            }
        }
    }
    assert!(kept >= 8 && not >= 6 && short >= 3, "{kept} {not} {short}");
}

#[test]
fn a_budget_of_what_was_told_is_enough_and_a_smaller_one_is_not() {
    for load in ["0.6", "0.7"] {
        let case = ["1", EVENT_LOOP, load];
        let (told, is_kept) = told_and_kept(case, "5ms=1%", 40);
        let Admitted::Budget { at_most_percent: Some(enough) } = told else { panic!("{told:?}") };
        assert!(!is_kept);
        assert!(told_and_kept(case, "5ms=1%", enough + 2).1, "{enough}");
        assert!(!told_and_kept(case, "5ms=1%", enough - 5).1, "{enough}");
    }
}

#[test]
fn threads_with_queues_of_their_own_get_no_yes() {
    let (told, _) = told_and_kept(["4", PARTITIONED, "0.3"], "5ms=1%", 60);
    assert_eq!(told, Admitted::Partitioned);
}
