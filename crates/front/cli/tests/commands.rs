//! The command as a user sees it: what it prints, where, and how it ends.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs `rearguard` in the project's folder.
fn rearguard(args: &[&str]) -> Output {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.args(args).current_dir(root).output().expect("the built command runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

fn json(args: &[&str]) -> Value {
    let output = rearguard(args);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

/// A short comparison in simulation.
const SHORT: [&str; 8] = [
    "compare",
    "scenarios/null-rpc.toml",
    "--policy",
    "lcfs,cts",
    "--duration",
    "2s",
    "--seeds",
    "2",
];

fn short(more: &[&'static str]) -> Vec<&'static str> {
    SHORT.iter().chain(more).copied().collect()
}

#[test]
fn compare_prints_a_table_without_colour_into_a_pipe() {
    let output = rearguard(&short(&[]));
    assert!(output.status.success(), "{}", stderr(&output));
    let table = stdout(&output);
    for word in ["lcfs", "cts", "ideal", "p99.9"] {
        assert!(table.contains(word), "no `{word}` in:\n{table}");
    }
    assert!(!table.contains('\u{1b}'), "no escape sequences in a pipe");
    assert_eq!(stderr(&output), "", "no progress bar in a pipe");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let first = stdout(&rearguard(&short(&["--json"])));
    assert_eq!(first, stdout(&rearguard(&short(&["--json"]))));
    let other = ["compare", "scenarios/null-rpc.toml", "--policy", "lcfs,cts", "--duration", "2s"];
    let other = [&other[..], &["--seed", "7,8", "--json"]].concat();
    assert_ne!(first, stdout(&rearguard(&other)), "another seed must show");
}

#[test]
fn compare_writes_its_schema() {
    let document = json(&short(&["--json"]));
    assert_eq!(document["schema"], "rearguard.compare/1");
    assert_eq!(document["arm"], "sim");
    let results = document["results"].as_array().expect("results");
    let pooled: Vec<&Value> = results.iter().filter(|result| result["seed"].is_null()).collect();
    assert_eq!(
        pooled.iter().map(|r| r["policy"].as_str().unwrap()).collect::<Vec<_>>(),
        ["lcfs", "cts"]
    );
    assert_eq!(results.len(), 2 + 2 * 2, "pooled, and one a seed");
    for result in results {
        let service = &result["programs"][0];
        let p99 = &service["latency_ns"]["p99"];
        assert!(p99["low"].as_f64() <= p99["value"].as_f64());
        assert!(service["ideal_ns"]["p50"]["value"].as_f64() > Some(0.0));
        assert!(service["excess_p99_9"].as_f64() > Some(0.5));
    }
    assert!(document["verdicts"].as_array().is_some_and(|verdicts| !verdicts.is_empty()));
}

#[test]
fn a_policy_and_itself_cannot_be_told_apart() {
    let document = json(&short(&["--json"]));
    let verdicts = document["verdicts"].as_array().expect("verdicts");
    let twins: Vec<&Value> =
        verdicts.iter().filter(|verdict| verdict["a"] == verdict["b"]).collect();
    assert!(!twins.is_empty(), "every comparison holds an A/A pair");
    assert!(twins.iter().all(|verdict| verdict["answer"] == "cannot tell"));
    // The control: two policies that differ are told apart by the same method on the same runs.
    let told = |verdict: &&Value| verdict["a"] == "cts" && verdict["answer"] == "better";
    assert!(verdicts.iter().any(|verdict| told(&verdict)));
}

#[test]
fn ideal_writes_its_schema_with_the_exact_values() {
    let document = json(&[
        "ideal",
        "--arrivals",
        "poisson",
        "--service",
        "fixed",
        "--service-time",
        "50us",
        "--workers",
        "4",
        "--utilisation",
        "0.8",
        "--discipline",
        "fifo",
        "--requests",
        "1M",
        "--seed",
        "1",
        "--json",
    ]);
    assert_eq!(document["schema"], "rearguard.ideal/1");
    assert_eq!(document["requests"], 1_000_000);
    // M/D/4 at 80%, 50 us: exact p99 172.729 us (Crommelin).
    let exact = document["exact_ns"]["p99"].as_f64().expect("a closed form");
    assert!((exact - 172_729.0).abs() < 1.0, "{exact}");
    let p99 = &document["latency_ns"]["p99"];
    let (low, high) = (p99["low"].as_f64().unwrap(), p99["high"].as_f64().unwrap());
    assert!(low <= exact && exact <= high, "{low} {exact} {high}");
}

#[test]
fn bad_input_ends_with_2_and_one_message() {
    let policy = |name| ["compare", "scenarios/null-rpc.toml", "--policy", name];
    let beside = [&policy("cts")[..], &["--on", "vm", "--with", "/nope"]].concat();
    let cases: [(&[&str], &str); 16] = [
        (&["explain"], "TRACE|--port <PORT>|--pid <PID>"),
        (&policy("cts:interval=5ms"), "interval has no meaning"),
        (&policy("credit:order=fcfs"), "order has no meaning"),
        (&policy("global:order=lcfs"), "order has no meaning"),
        (&policy("gvts:order=fcfs"), "order has no meaning"),
        (&policy("cts:min_vruntime=target"), "min_vruntime=target needs targets"),
        (&beside, "--with /nope: there is no such program"),
        (&["compare", "scenarios/null-rpc.toml", "--policy", "cts,cts"], "cts is given twice"),
        (&["compare", "scenarios/null-rpc.toml", "--policy", "cts", "--seed", "1,1"], "twice"),
        (
            &["compare", "scenarios/null-rpc.toml", "--policy", "cts", "--duration", "0s"],
            "duration",
        ),
        (&["compare", "scenarios/null-rpc.toml", "--policy", "ctz"], "cts"),
        (&["compare", "scenarios/null-rpc.toml", "--policy", "cts:queue=gpu"], "llc"),
        (&["compare", "scenarios/none.toml", "--policy", "cts"], "scenarios/none.toml"),
        (&["compare", "scenarios/null-rpc.toml", "--policy", "cts", "--report", "x.pdf"], ".html"),
        (&["check", "Cargo.toml"], "Cargo.toml:"),
        (&["ideal", "--utilisation", "1.2"], "utilisation"),
    ];
    for (args, expected) in cases {
        let output = rearguard(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{args:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{args:?}");
    }
}

/// They were "unexpected arguments", with a tip that does not help.
#[test]
fn a_value_below_0_is_told_by_its_option() {
    let base = "gate check base.json --policy cts";
    let compare = "compare scenarios/null-rpc.toml --policy cts";
    for (command, option, expected) in [
        ("ideal", "--utilisation -1", "expected above 0 and below 1"),
        ("ideal", "--service-time -5us", "invalid value '-5us' for '--service-time"),
        (compare, "--seeds -1", "invalid value '-1' for '--seeds"),
        (base, "--least -1%", "expected a percentage such as 5%"),
        // The controls: what takes no value, and what there is not.
        ("ideal", "--json -1", "unexpected value '-1' for '--json'"),
        ("ideal", "--jason -1", "unexpected argument '--jason'"),
    ] {
        let words: Vec<&str> = command.split(' ').chain(option.split(' ')).collect();
        let output = rearguard(&words);
        assert_eq!(output.status.code(), Some(2), "{option}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{option}: {}", stderr(&output));
    }
}

#[test]
fn a_service_without_requests_is_said_to_keep_no_bound() {
    let said = |utilisation: &str| {
        let set = format!("program.service.arrivals.utilisation={utilisation}");
        let bound = ["--duration", "100ms", "--set", &set, "--fail-if", "p99>10s"];
        let compare = ["compare", "scenarios/null-rpc.toml", "--policy", "cts", "--seeds", "1"];
        let output = rearguard(&[&compare[..], &bound].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    let none = said("0.000001");
    assert!(none.contains("cts service has p99>10s: it had no requests"), "{none}");
    assert!(!said("0.5").contains("no requests"), "the control");
}

/// The commands that need the kernel's part say so in a build without it, whatever they are asked.
#[test]
#[cfg(not(feature = "bpf"))]
fn what_a_build_left_out_is_said() {
    for asked in [&["stages", "--port", "80", "x.trace"][..], &["stages"], &["stages", "--help"]] {
        let output = rearguard(asked);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains("without the kernel's part"), "{}", stderr(&output));
    }
    let unknown = rearguard(&["stagez"]);
    assert_eq!(unknown.status.code(), Some(2), "the control: {}", stderr(&unknown));
}

#[test]
fn an_ideal_is_the_same_bytes_each_time() {
    let words = "ideal --requests 100k --utilisation 0.5 --service-time 500us --json --seed";
    let printed = |seed: &str| {
        let words: Vec<&str> = words.split(' ').chain([seed]).collect();
        stdout(&rearguard(&words))
    };
    assert_eq!(printed("3"), printed("3"));
    assert!(printed("3").contains("\"rate_per_s\": 1000.0"), "{}", printed("3"));
    assert_ne!(printed("3"), printed("4"), "the control");
}

/// A file of stamps that is none may hold anything, and its lines may be of any length.
#[test]
fn a_line_that_is_no_request_is_shown_in_part_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.txt");
    let ideal = |text: &str| {
        std::fs::write(&path, text).unwrap();
        rearguard(&["ideal", "--trace", path.to_str().unwrap()])
    };
    let output = ideal(&format!("7 9\n\u{1b}[2J{}\n", "x".repeat(100_000)));
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("s.txt:2: found `?[2Jxx") && message.len() < 400, "{message}");
    let output = ideal("7\n18446744073709551615\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("s.txt:2: found"), "{}", stderr(&output));
    assert_eq!(ideal("7 9\n20 9\n").status.code(), Some(0), "control: two requests");
}

/// The option was passed over where a file had services, and 50 us were taken where neither said any.
#[test]
fn service_times_are_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.txt");
    let ideal = |text: &str, more: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let own = ["ideal", "--trace", path.to_str().unwrap()];
        let output = rearguard(&[&own[..], more].concat());
        (output.status.code(), stderr(&output))
    };
    let given = &["--service-time", "1ms"][..];
    for (text, more, why) in [
        ("7 9\n20 9\n", given, "s.txt: it has service times: leave --service-time out"),
        (
            "7\n20\n",
            &[],
            "s.txt: it does not say how long requests are served: expected --service-time",
        ),
        ("7 9\n# Bare.\n20\n", &[], "s.txt:3: no service time, and those before have one"),
        ("7\n20 9\n", given, "s.txt:2: a service time, and those before have none"),
    ] {
        let (code, said) = ideal(text, more);
        assert!(code == Some(2) && said.contains(why) && said.lines().count() == 1, "{said}");
    }
    assert_eq!(ideal("7 9\n20 9\n", &[]).0, Some(0), "control: the file says it");
    assert_eq!(ideal("7\n20\n", given).0, Some(0), "control: the option says it");
}

#[test]
fn every_shipped_scenario_checks() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios");
    let files = |folder: &str| std::fs::read_dir(folder).expect("scenarios").flatten();
    let all = files(folder).chain(files(&format!("{folder}/commands")));
    let is_scenario = |path: &PathBuf| path.extension().is_some_and(|one| one == "toml");
    let all: Vec<PathBuf> = all.map(|entry| entry.path()).filter(is_scenario).collect();
    assert!(all.iter().any(|path| path.ends_with("commands/hackbench.toml")), "{all:?}");
    for path in all {
        let output = rearguard(&["check", &path.display().to_string()]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

#[test]
fn a_command_is_for_kernels_and_the_simulator_says_so() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/commands");
    let path = format!("{folder}/hackbench.toml");
    let output = rearguard(&["compare", &path, "--policy", "eevdf"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("`hackbench` is a command") && stderr(&output).contains("--on vm")
    );
}

#[test]
fn a_report_is_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("report.html").display().to_string();
    let output = rearguard(&[&short(&["--report"])[..], &[&page]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let html = std::fs::read_to_string(&page).expect("the report");
    assert!(html.contains("null-rpc") && html.contains("<svg") && html.contains("--seeds 2"));
    assert!(stdout(&output).contains(&page), "the report's path is printed");
}

#[test]
fn a_new_policy_runs_at_once_and_its_mistakes_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scenarios/null-rpc.toml");
    let there = |args: &[&str], path: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
        command.envs(path.map(|path| ("PATH", path)));
        command.args(args).current_dir(folder.path()).output().expect("the built command runs")
    };
    let compare =
        |policy| ["compare", scenario, "--policy", policy, "--duration", "1s", "--seeds", "1"];
    assert!(there(&["new-policy", "mine"], None).status.success());
    for policy in ["./mine.c", "mine.c:slice=1ms"] {
        let run = there(&compare(policy), None);
        assert!(run.status.success() && stdout(&run).contains(policy), "{}", stderr(&run));
    }
    for name in ["mine", "cts", "a/b", ""] {
        assert_eq!(there(&["new-policy", name], None).status.code(), Some(2), "{name}");
    }
    let without = there(&compare("mine.c"), Some("/nowhere"));
    assert_eq!(without.status.code(), Some(3));
    assert!(stderr(&without).contains("apt-get install gcc"), "{}", stderr(&without));
    let file = folder.path().join("mine.c");
    let source = std::fs::read_to_string(&file).expect("the template");
    std::fs::write(&file, source.replace("return cpu;", "return cpus;")).expect("written");
    let wrong = there(&compare("mine.c"), None);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("mine.c:33:"), "{}", stderr(&wrong));
    let unwilling = source.replace("return rg_queue_create(QUEUE);", "return -22;");
    assert_ne!(unwilling, source);
    std::fs::write(&file, unwilling).expect("written");
    let refused = there(&compare("./mine.c"), None);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("./mine.c: the policy refused to start"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn tables_are_written_beside_what_is_printed_and_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let inside = |name: &str| folder.path().join(name).display().to_string();
    let write = || {
        let (parquet, arrow) = (inside("p"), inside("a"));
        let more = ["--seed", "1", "--parquet", &parquet, "--arrow", &arrow];
        let output = rearguard(&[&SHORT[..6], &more[..]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let tables = ["policies", "programs", "groups", "verdicts", "curves", "shares", "lags"];
        let bytes = |name: &&str| {
            let file = |folder: &str, end: &str| std::fs::read(format!("{folder}/{name}.{end}"));
            (file(&parquet, "parquet").unwrap(), file(&arrow, "arrow").unwrap())
        };
        tables.iter().map(bytes).collect::<Vec<_>>()
    };
    assert_eq!(write(), write());
    std::fs::write(inside("file"), "").unwrap();
    let output = rearguard(&["ideal", "--requests", "10", "--parquet", &inside("file")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("a folder is needed"), "{}", stderr(&output));
}

#[test]
fn bad_input_leaves_no_folder_behind() {
    let folder = tempfile::tempdir().unwrap();
    let new = |name: &str| folder.path().join(name).display().to_string();
    let compare = |scenario: &str, policies: &str, option: &str, path: &str| {
        let (path, own) = (new(path), ["compare", scenario, "--policy", policies]);
        let more = ["--seeds", "1", "--duration", "100ms", option, &path];
        let output = rearguard(&[&own[..], &more[..]].concat());
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        (output.status.code(), left)
    };
    let good = "scenarios/null-rpc.toml";
    assert_eq!(compare("Cargo.toml", "cfs", "--parquet", "p/nested"), (Some(2), 0));
    assert_eq!(compare("Cargo.toml", "cfs", "--csv-tables", "c"), (Some(2), 0));
    assert_eq!(compare(good, "cfs,cfs", "--trace", "t"), (Some(2), 0));
    // The control: good input makes them.
    assert_eq!(compare(good, "cfs", "--parquet", "p/nested"), (Some(0), 1));
    assert_eq!(compare(good, "cfs,cts", "--trace", "t"), (Some(0), 2));
    assert!(folder.path().join("p/nested/programs.parquet").exists());
}

#[test]
fn set_gives_a_key_another_value_and_says_which_keys_there_are() {
    let set =
        |edit: &str| rearguard(&[&SHORT[..6], &["--seed", "1", "--json", "--set", edit]].concat());
    let changed = |edit: &str| -> Value {
        let output = set(edit);
        assert!(output.status.success(), "{}", stderr(&output));
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let busy = |document: &Value| {
        document["results"][0]["programs"][0]["rate_per_s"].as_f64().expect("a rate")
    };
    let document = changed("program.service.arrivals.utilisation=0.4");
    assert!((700.0..900.0).contains(&busy(&document)), "800 a second, as drawn");
    assert!(busy(&changed("duration=2s")) > 1_400.0, "the file's own 1,600");
    assert!(document["scenario_text"].as_str().unwrap().contains("utilisation = 0.4"));
    let output = set("program.servise.arrivals.utilisation=0.4");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean `service`?"), "{}", stderr(&output));
}

#[test]
fn the_version_tells_the_build_and_the_manual_has_a_page_for_each_command() {
    let said = stdout(&rearguard(&["--version"]));
    assert!(said.contains("(commit ") && said.contains(" bpf"), "{said}");
    let folder = tempfile::tempdir().expect("a folder");
    let output = rearguard(&["manual", folder.path().to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{}", stderr(&output));
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let page = read("rearguard-compare.1");
    assert!(page.contains(".TH") && page.contains("\\-\\-policy"), "{page}");
    assert!(read("rearguard.bash").contains("--policy") && read("_rearguard").contains("#compdef"));
    assert!(!folder.path().join("rearguard-manual.1").exists(), "it is hidden");
}

#[test]
fn a_report_that_there_is_not_is_refused_before_anything_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    for (command, end) in [
        ("cluster no", "md"),
        ("fanout no", "md"),
        ("ideal --trace no", "md"),
        ("explain no", "svg"),
        ("what-if no", "svg"),
        ("diff no no", "svg"),
        ("watch show no 1", "svg"),
    ] {
        let said = |end: &str| {
            let report = folder.path().join("r").with_extension(end).display().to_string();
            let words: Vec<&str> = command.split(' ').chain(["--report", &report]).collect();
            stderr(&rearguard(&words))
        };
        assert!(said(end).contains("ask for a .html"), "{command}: {}", said(end));
        assert!(said("html").contains("no: "), "the control, {command}: {}", said("html"));
    }
}

/// Refused before anything is loaded, in the order of what a user can mend without the machine.
#[test]
fn prove_says_what_is_wrong_before_it_measures() {
    let refused = |args: &[&str], code: i32, why: &str| {
        let output = rearguard(&[&["prove"], args].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(why) && said.lines().count() == 1, "{args:?}: {said}");
    };
    refused(&["--report", "proof.svg"], 2, "ask for a .html");
    refused(&["--report", "/no/such/folder/proof.html"], 2, "not a file in an existing folder");
    refused(&["--policy", "default"], 2, "policy default is given twice");
    refused(&["--policy", "raerguard"], 2, "did you mean `rearguard`?");
    if !std::path::Path::new("/sys/kernel/sched_ext").exists() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("scx_rearguard"), "").expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
        let command = command.arg("prove").current_dir(folder.path()).env("PATH", folder.path());
        let output = command.output().expect("the built command runs");
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("no sched_ext: boot a newer one"), "{said}");
        assert!(!folder.path().join("proof.html").exists(), "nothing was measured");
    }
}
