//! Traces that no run leaves behind: a file may say anything.

mod support;

use model::Failure;
use sim::costs::Costs;
use support::recorded;
use trace::Recorded;
use whatif::scenario;

const TEXT: &str = "# A service.\nduration = \"100ms\"\n[machine]\ncpus = 1\n\
    [[program]]\nname = \"web\"\nkind = \"service\"\nservice_time = \"400us\"\n\
    arrivals = { utilisation = 0.4 }\n";
const TWO: &str = "[[program]]\nname = \"batch\"\nkind = \"batch\"\n";

fn refused(recorded: &Recorded) -> String {
    match scenario(recorded, Costs::DEFAULT.switch) {
        Err(Failure::Input(message)) => message,
        other => panic!("expected a refusal, got {:?}", other.map(|found| found.text)),
    }
}

#[test]
fn a_trace_and_the_scenario_in_its_header_have_the_same_programs() {
    let own = recorded(TEXT, "eevdf");
    scenario(&own, Costs::DEFAULT.switch).expect("control: as it was recorded");
    let mut more = own.clone();
    more.header.programs.push(more.header.programs[0].clone());
    more.trace.programs.push(more.trace.programs[0].clone());
    let message = refused(&more);
    assert!(message.contains("has 2 programs, and its scenario 1"), "{message}");
    assert!(message.contains("record it again"), "{message}");
    let mut fewer = own;
    fewer.header.scenario_text = format!("{TEXT}{TWO}");
    assert!(refused(&fewer).contains("has 1 programs, and its scenario 2"));
}
