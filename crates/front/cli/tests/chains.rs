//! Services behind one another: each command that cannot follow them says so, and runs the same scenario
//! without `behind`, or refuses it for another reason.

use std::fs;
use std::path::Path;
use std::process::Command;

const CHAIN: &str = "# Two services.\nduration = \"1s\"\nwarm_up = \"0s\"\nseeds = [1, 2, 3]\n\
    [machine]\ncpus = CPUS\n[[program]]\nname = \"proxy\"\nkind = \"service\"\nservice_time = \"200us\"\n\
    arrivals = { utilisation = 0.2 }\n[[program]]\nname = \"store\"\nkind = \"service\"\n\
    service_time = \"200us\"\nFROM\n";
const BEHIND: &str = "behind = \"proxy\"";
const ALONE: &str = "arrivals = { utilisation = 0.2 }";

/// A folder with scenarios of one CPU and of more than any machine has, with a plan of a sweep and a
/// cluster; `from` is where the second service has its requests from.
fn folder(from: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    let scenario = |cpus: &str| CHAIN.replace("CPUS", cpus).replace("FROM", from);
    put("s.toml", &scenario("1"));
    put("wide.toml", &scenario("4095"));
    for (on, file, policy) in [("host", "wide.toml", "default"), ("vm", "s.toml", "scx_none")] {
        let plan = format!("scenario = \"{file}\"\npolicies = [\"{policy}\"]\non = \"{on}\"\n");
        put(&format!("{on}.toml"), &format!("# A plan.\n{plan}"));
    }
    put(
        "cluster.toml",
        "# A cluster.\nduration = \"1s\"\narrivals.utilisation = 0.2\n\
         leaf = { servers = 2, machine = \"s.toml\", policy = \"cts\" }\n",
    );
    folder
}

/// Exit code and stderr; the lab is an empty one.
fn rearguard(folder: &Path, words: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    let command = command.args(words).current_dir(folder).env("RG_LAB_DIR", folder.join("lab"));
    let output = command.output().expect("it runs");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    (output.status.code().expect("an exit code"), stderr)
}

/// What is refused of a chain, with which exit code, and which words of the refusal are of chains alone.
fn refusals() -> Vec<(Vec<&'static str>, i32, &'static str)> {
    const ON: &str = "`behind` is simulated alone: use --on sim";
    // On this machine CPUs are missing, and in guests the policy's program: both are said later.
    let host = ["--on", "host", "--policy", "default"];
    let vm = ["--on", "vm", "--policy", "scx_none"];
    let gate = ["gate", "record", "--output", "base.json", "--scenarios"];
    let slo = ["--service", "proxy", "--slo", "10ms=1%"];
    let mut all = vec![
        (vec!["sweep", "host.toml"], 1, ON),
        (vec!["sweep", "vm.toml"], 1, ON),
        (vec!["cluster", "cluster.toml"], 2, "leave `behind` out"),
        (vec!["explain", "a.trace"], 2, "from `proxy` on to `store`"),
        (vec!["what-if", "a.trace"], 2, "from `proxy` on to `store`"),
    ];
    for (file, on) in [("wide.toml", host), ("s.toml", vm)] {
        all.push(([&["compare", file][..], &on].concat(), 3, ON));
        all.push(([&["capacity", file][..], &slo, &on].concat(), 3, ON));
        all.push(([&gate[..], &[file], &on].concat(), 3, ON));
    }
    all
}

#[test]
fn what_cannot_follow_a_chain_says_so() {
    let (chain, alone) = (folder(BEHIND), folder(ALONE));
    for folder in [&chain, &alone] {
        let made = ["compare", "s.toml", "--policy", "eevdf", "--seed", "1", "--trace", "a.trace"];
        assert_eq!(rearguard(folder.path(), &made), (0, String::new()), "simulation runs both");
    }
    for (words, code, expected) in refusals() {
        let (found, said) = rearguard(chain.path(), &words);
        assert_eq!(found, code, "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
        let (_, said) = rearguard(alone.path(), &words);
        assert!(
            !said.contains(expected) && !said.contains("behind"),
            "the control: {words:?}: {said}"
        );
    }
}
