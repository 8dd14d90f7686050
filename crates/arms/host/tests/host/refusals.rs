//! What the arm does not do is said before anything starts, with the right exit code and a remedy.

use std::process::Command;

use host::HostArm;
use libtest_mimic::{Failed, Trial};
use model::scenario::{Architecture, Group, Kind, Machine, Program, Scenario};
use model::{Arm, Failure, Nanos, PolicySpec};

use crate::fixtures::{CHECK_UNPRIVILEGED, scenario, service};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("unknown_policies_and_options_are_bad_input", bad_input),
        Trial::test("what_the_machine_lacks_is_said", bad_machine),
        Trial::test("a_user_without_privileges_is_told_the_remedy", no_privileges),
    ]
}

fn plain() -> Scenario {
    scenario(vec![service(Architecture::ThreadPerConnection, 1, 0.1)], Nanos::from_secs(1))
}

fn answer(scenario: &Scenario, policy: &str) -> Result<(), Failure> {
    HostArm::default().check(scenario, &PolicySpec::parse(policy)?)
}

/// The control: nothing is refused, but for nice 0 to a test that `nice` started and that may not go back.
fn admitted(scenario: &Scenario) -> Result<(), Failed> {
    match answer(scenario, "default") {
        Err(failure) if !failure.to_string().contains("nice 0") => Err(failure.to_string().into()),
        _ => Ok(()),
    }
}

fn bad_input() -> Result<(), Failed> {
    let message = |policy| match answer(&plain(), policy) {
        Err(Failure::Input(message)) => message,
        other => panic!("{policy}: {other:?}"),
    };
    assert!(message("fiof").contains("did you mean `fifo`?"));
    let none = message("no-such-policy");
    assert!(none.contains("--on sim") && !none.contains("did you mean"), "{none}");
    assert!(message("scx_no_such").contains("--with"));
    assert!(message("default:queue=cpu").contains("no option `queue`"));
    admitted(&plain())
}

fn bad_machine() -> Result<(), Failed> {
    let message = |change: &dyn Fn(&mut Scenario)| {
        let mut changed = plain();
        change(&mut changed);
        match answer(&changed, "default") {
            Err(Failure::Machine(message)) => message,
            other => panic!("{other:?}"),
        }
    };
    let big = Machine { cpus: 4_095, ..Machine::ONE_CPU };
    assert!(message(&|s| s.machine = big).contains("needs 4096 CPUs"));
    let paired = Machine { cpus: 2, smt: 2, ..Machine::ONE_CPU };
    assert!(message(&|s| s.machine = paired).contains("SMT"));
    let group = |name: &str, parent| Group::new(name, parent, 200);
    let nest = |s: &mut Scenario| {
        s.groups = vec![group("front", None), group("front/api", Some(0))];
        s.programs[0].group = Some(0);
    };
    assert!(message(&nest).contains("give it a group of its own"));
    let command = |s: &mut Scenario| {
        s.programs.push(Program::new("bench", Kind::Command { command: ["true".into()].into() }));
    };
    assert!(
        message(&command).contains("`bench` is a command") && message(&command).contains("--on vm")
    );
    assert!(message(&|s| s.mechanisms.sibling_gain = Some(0.5)).contains("its own"));
    let stretch = |s: &mut Scenario| {
        if let Kind::Service(service) = &mut s.programs[0].kind {
            service.request_bytes = 1 << 20;
        }
    };
    assert!(message(&stretch).contains("1048576 bytes"));
    let crowd = |s: &mut Scenario| {
        if let Kind::Service(service) = &mut s.programs[0].kind {
            service.connections = 1 << 30;
        }
    };
    assert!(message(&crowd).contains("ulimit -Hn"));
    let mut together = plain();
    together.mechanisms.start_barrier = true;
    admitted(&together)
}

fn no_privileges() -> Result<(), Failed> {
    let ask = |policy: &str| -> Result<(Option<i32>, String), Failed> {
        let output = Command::new("/proc/self/exe").args([CHECK_UNPRIVILEGED, policy]).output()?;
        Ok((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned()))
    };
    for policy in ["fifo", "rr", "nice"] {
        let (code, message) = ask(policy)?;
        assert_eq!(code, Some(3), "{policy}: {message}");
        for remedy in ["sudo", "CAP_SYS_NICE", "ulimit -"] {
            assert!(message.contains(remedy), "{policy}: {message}");
        }
    }
    let (code, message) = ask("default")?;
    assert!(code == Some(0) || message.contains("nice 0"), "{code:?}: {message}");
    Ok(())
}
