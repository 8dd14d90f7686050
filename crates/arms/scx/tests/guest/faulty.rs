//! Policies in files that are wrong: what the verifier refuses, and what the kernel's watchdog ejects.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use model::{Failure, PolicySpec};
use rustix::process::{Pid, setpriority_process};
use scx::{Code, Poll};

use crate::guest::under_with;
use crate::life::{awaited, io, start};

/// Beyond the kernel's watchdog: sched_ext looks after 30 s, each half of that.
const PATIENCE: Duration = Duration::from_secs(50);

pub fn trials() -> Vec<Trial> {
    vec![Trial::test("faulty_policies_are_refused_or_ejected", faulty).with_ignored_flag(true)]
}

/// The sound policy, and faults planted in it: a pointer that may be none, threads of nice 19 that no queue
/// keeps.
const FAULTS: [(&str, &str, &str); 3] = [
    ("sound", "", ""),
    ("careless", "if (!thread || rg_is_percpu_kthread(t)) {", "if (rg_is_percpu_kthread(t)) {"),
    (
        "forgetful",
        "rg_insert_ordered(t, QUEUE",
        "if (rg_weight(t) > 15)\n\t\trg_insert_ordered(t, QUEUE",
    ),
];

const EXPECTED: &str = "
careless: exit code 1, refused: true
careless leaves None
sound: InForce
forgetful: ejected true, a stall: true
forgetful leaves None";

fn faulty() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let template =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../policy/examples/template.c");
    let template = std::fs::read_to_string(template)?;
    for (name, right, wrong) in FAULTS {
        assert!(template.contains(right), "{name}");
        let source = folder.path().join(name).with_extension("c");
        std::fs::write(&source, template.replacen(right, wrong, 1))?;
        let code = Code::of(&PolicySpec::plain(source.to_str().expect("UTF-8")))?;
        std::fs::write(folder.path().join(name), code.bytes().expect("a file's"))?;
    }
    let (lines, code, errors) = under_with("newest", 2, "faulty", Some(folder.path()));
    assert_eq!(code, 0, "{errors}");
    assert_eq!(lines.join("\n"), EXPECTED.trim());
    Ok(())
}

/// In the guest.
pub fn play() -> Result<Vec<String>, Failure> {
    let folder = PathBuf::from(std::env::args().nth(3).expect("the folder"));
    let load = |name| {
        let bytes = std::fs::read(folder.join(name)).map_err(io)?;
        scx::load_code(
            &PolicySpec::plain(&format!("./{name}.c")),
            Code::object(bytes),
            None,
            scx::Scope::Machine,
            None,
        )
    };
    let refused = load("careless").err().expect("the verifier looks");
    let named = refused.to_string().contains("the kernel refused the policy");
    let mut lines = vec![
        format!("careless: exit code {}, refused: {named}", refused.exit_code()),
        format!("careless leaves {:?}", scx::in_force()?),
        format!("sound: {:?}", with_nice_19(load("sound")?)?),
    ];
    let Poll::Ended(ending) = with_nice_19(load("forgetful")?)? else {
        return Ok(lines);
    };
    let stall = ending.reason.contains("runnable task stall");
    lines.push(format!("forgetful: ejected {}, a stall: {stall}", ending.ejected));
    lines.push(format!("forgetful leaves {:?}", scx::in_force()?));
    Ok(lines)
}

/// What becomes of a policy while a thread of nice 19 wants a CPU.
fn with_nice_19(mut loaded: scx::Loaded) -> Result<Poll, Failure> {
    let mut spinner: Child = start("spin")?;
    setpriority_process(Some(Pid::from_child(&spinner)), 19).map_err(|error| io(error.into()))?;
    let poll = awaited(&mut loaded, PATIENCE);
    drop(loaded);
    spinner.kill().and_then(|()| spinner.wait()).map_err(io)?;
    poll
}
