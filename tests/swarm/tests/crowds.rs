//! A queue's index has room for many threads of one set of CPUs.

use model::{PolicySpec, Scenario, Silent};
use swarm::{Case, watch};

/// A process with many threads and a service on the CPUs of one cache of a large machine.
fn crowd(threads: u32) -> Case {
    let text = format!(
        "# A crowd.\nwarm_up = \"0s\"\nduration = \"100ms\"\n\
         [machine]\ncpus = 64\nllcs = 16\nstart = \"barrier\"\n\
         [[group]]\nname = \"few\"\nweight = 100\ncpus = [8, 9, 10, 11]\n\
         [[program]]\nname = \"crowd\"\nkind = \"batch\"\ngroup = \"few\"\nthreads = {threads}\n\
         [[program]]\nname = \"other\"\nkind = \"service\"\ngroup = \"few\"\nservice_time = \"100us\"\n\
         arrivals = {{ utilisation = 0.02 }}\n"
    );
    let scenario = Scenario::read(&text, "crowd").expect("a valid scenario");
    Case { seed: 1, scenario, policy: policy("rearguard"), changes: Vec::new() }
}

fn policy(word: &str) -> PolicySpec {
    PolicySpec::parse(word).expect("a valid policy")
}

/// The rules that a policy breaks which `rearguard` keeps.
fn broken(threads: u32, loaded: &str) -> Vec<&'static str> {
    let case = crowd(threads);
    let outcome = watch(&case, |watcher| {
        let (scenario, loaded) = (&case.scenario, policy(loaded));
        sim::arm::observe_changing(scenario, &loaded, case.seed, &Silent, Vec::new(), watcher)
    });
    outcome.faults.iter().map(|fault| fault.rule).collect()
}

#[test]
fn crowds_are_served_in_the_order_of_their_arrival() {
    // A heap's own part of the index is 128 rows here.
    for threads in [100, 300, 2_000] {
        assert_eq!(broken(threads, "rearguard"), [""; 0], "{threads}");
        assert_eq!(broken(threads, "rearguard:order=lcfs"), ["order"], "{threads}");
    }
}
