//! Traces as a user sees them: written by `compare`, shown, exported, compared.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use model::Nanos;
use model::trace::{Stages, Window};
use recorder::{KEPT_SCHEMA, KeptRequest, trace_path};

/// Runs `rearguard` in a folder that has the scenarios.
fn rearguard(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.args(args).current_dir(folder).output().expect("the built command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    std::os::unix::fs::symlink(scenarios.canonicalize().unwrap(), folder.path().join("scenarios"))
        .unwrap();
    folder
}

/// A short comparison with traces at a path.
fn compare(folder: &Path, policies: &str, seed: &str, path: &str) -> Output {
    let args = ["compare", "scenarios/service-and-batch.toml", "--duration", "200ms", "--policy"];
    rearguard(folder, &[&args[..], &[policies, "--seed", seed, "--trace", path]].concat())
}

fn made(folder: &Path, policies: &str, seed: &str, path: &str) {
    let output = compare(folder, policies, seed, path);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn one_run_is_a_file_and_its_replay_makes_the_same_bytes() {
    let folder = folder();
    let folder = folder.path();
    made(folder, "rearguard", "7", "a.trace");
    let shown = text(&rearguard(folder, &["trace", "show", "a.trace"]).stdout);
    let again = shown.lines().find_map(|line| line.strip_prefix("again ")).expect("the command");
    let words: Vec<&str> = again.split_whitespace().skip(1).chain(["--trace", "b.trace"]).collect();
    let output = rearguard(folder, &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(fs::read(folder.join("a.trace")).unwrap() == fs::read(folder.join("b.trace")).unwrap());
    let same = rearguard(folder, &["diff", "a.trace", "b.trace"]);
    assert_eq!(
        (same.status.code(), text(&same.stdout)),
        (Some(0), "the same: a.trace and b.trace\n".into())
    );
}

#[test]
fn an_export_does_not_take_its_traces_place() {
    let folder = folder();
    let folder = folder.path();
    made(folder, "rearguard", "7", "a.trace");
    let before = fs::read(folder.join("a.trace")).unwrap();
    let export = |out| rearguard(folder, &["trace", "export", "--to", "perfetto", "a.trace", out]);
    assert_eq!(export("./a.trace").status.code(), Some(2));
    assert!(fs::read(folder.join("a.trace")).unwrap() == before);
    assert!(export("b.pftrace").status.success(), "the control");
}

#[test]
fn several_runs_are_a_folder_with_a_file_each() {
    let folder = folder();
    let folder = folder.path();
    made(folder, "eevdf,cts:queue=cpu", "1,2", "traces");
    let mut names: Vec<String> = fs::read_dir(folder.join("traces"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = ["cts:queue=cpu-seed-1", "cts:queue=cpu-seed-2", "eevdf-seed-1", "eevdf-seed-2"];
    assert_eq!(names, expected.map(|name| format!("{name}.trace")));
    let [a, b] = ["traces/eevdf-seed-1.trace", "traces/cts:queue=cpu-seed-1.trace"];
    let differ = rearguard(folder, &["diff", a, b, "--parquet", "p", "--arrow", "q"]);
    assert_eq!(differ.status.code(), Some(1));
    assert!(text(&differ.stdout).contains("They part at"), "{}", text(&differ.stdout));
    for (file, begins) in [("p/latencies.parquet", &b"PAR1"[..]), ("q/settings.arrow", b"ARROW1")] {
        assert!(fs::read(folder.join(file)).expect(file).starts_with(begins), "{file}");
    }
}

#[test]
fn traces_of_ones_own_policy_are_seen() {
    let folder = folder();
    let folder = folder.path();
    assert!(rearguard(folder, &["new-policy", "mine"]).status.success());
    made(folder, "./mine.c,cts", "1", "traces");
    for name in ["mine.c-seed-1.trace", "cts-seed-1.trace"] {
        assert!(folder.join("traces").join(name).is_file(), "{name}");
    }
}

#[test]
fn a_path_that_cannot_be_is_refused_before_anything_runs() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("taken"), "").unwrap();
    for (policies, path, words) in [
        ("cfs", "nowhere/a.trace", "nowhere/a.trace: not a file in an existing folder"),
        ("cfs,cts", "taken", "--trace taken: several runs need a folder"),
    ] {
        let output = compare(folder, policies, "1", path);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
}

#[test]
fn exports_are_written_and_bad_files_are_bad_input() {
    let folder = folder();
    let folder = folder.path();
    made(folder, "cfs", "1", "a.trace");
    let export =
        |to: &str, out: &str| rearguard(folder, &["trace", "export", "a.trace", "--to", to, out]);
    assert!(export("perfetto", "a.pftrace").status.success());
    assert!(fs::metadata(folder.join("a.pftrace")).unwrap().len() > 10_000);
    assert!(export("parquet", "tables").status.success());
    for table in ["events", "requests", "threads", "usage"] {
        assert!(folder.join(format!("tables/{table}.parquet")).is_file());
    }
    assert_eq!(export("perfetto", "nowhere/a").status.code(), Some(2));
    assert_eq!(export("parquet", "a.trace").status.code(), Some(2));

    let whole = fs::read(folder.join("a.trace")).unwrap();
    fs::write(folder.join("cut.trace"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.join("other.trace"), "PK").unwrap();
    for (file, words) in [
        ("cut.trace", "cut.trace: at byte "),
        ("other.trace", "other.trace: at byte 0: this is not a trace of rearguard"),
        ("none.trace", "none.trace: No such file"),
    ] {
        for args in [vec!["diff", "a.trace", file], vec!["trace", "show", file]] {
            let output = rearguard(folder, &args);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(words) && said.lines().count() == 1, "{said}");
        }
    }
}

#[test]
fn explain_names_the_source_of_slow_requests_and_says_what_a_trace_lacks() {
    let folder = folder();
    let folder = folder.path();
    made(folder, "eevdf,fifo", "1", "traces");
    let first = |policy: &str| -> (String, f64) {
        let mut files = fs::read_dir(folder.join("traces")).unwrap().flatten();
        let of_policy = |file: &fs::DirEntry| file.file_name().to_string_lossy().contains(policy);
        let file = files.find(of_policy).expect("a trace a policy").path();
        let output = rearguard(folder, &["explain", file.to_str().unwrap(), "--json"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["schema"], "rearguard.explain/1");
        let parts = &document["services"][0]["slow_ns"];
        let source = |name: &str| parts[name].as_f64().unwrap();
        let greatest = ["inversion", "background", "interrupt", "idle_elsewhere", "power", "numa"]
            .into_iter()
            .max_by(|a, b| source(a).total_cmp(&source(b)))
            .unwrap();
        (greatest.to_string(), source(greatest))
    };
    assert_eq!(first("eevdf").0, "background", "four threads spin beside the service");
    assert_eq!(first("fifo").1, 0.0, "the control: no thread holds a CPU before SCHED_FIFO");
    let args = ["compare", "scenarios/weights-nice-5.toml", "--duration", "200ms", "--policy"];
    let batch =
        rearguard(folder, &[&args[..], &["eevdf", "--seed", "1", "--trace", "b.trace"]].concat());
    assert!(batch.status.success(), "{}", text(&batch.stderr));
    let nothing = rearguard(folder, &["explain", "b.trace"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(
        text(&nothing.stderr).contains("a thread that its events name"),
        "{}",
        text(&nothing.stderr)
    );
}

const ID: &str = "20261126T030211-577Z";

/// Stages of 1 us each but the fourth, which has the rest.
fn stages(from: Nanos, to: Nanos) -> Stages {
    let [ready, running, read] = [1, 2, 3].map(|us| from + Nanos::from_micros(us));
    let sends = to.saturating_sub(Nanos::from_micros(1));
    Stages { arrived: from, ready, running, read, sends, transmitted: to }
}

/// Keeps the slowest request of a run as `watch` does, with its stages or without.
fn keep(folder: &Path, file: &str, has_stages: bool) {
    let mut recorded =
        trace::read(&fs::read(folder.join(file)).expect("a run"), file).expect("ours");
    let program = recorded.trace.programs.first_mut().expect("the service");
    let served = program.requests.iter().filter(|one| !one.is_lost());
    let slowest = served.max_by_key(|one| one.latency()).expect("requests").intended;
    let of = |one: &model::trace::Request| match one.is_lost() {
        true => Stages::UNSEEN,
        false => stages(one.intended, one.received),
    };
    program.stages = program.requests.iter().filter(|_| has_stages).map(of).collect();
    recorded.trace.window = Window { start: slowest, end: slowest + Nanos(1) };
    (recorded.header.window_start_ns, recorded.header.window_end_ns) = (slowest.0, slowest.0 + 1);
    let mut bytes = Vec::new();
    trace::write(&recorded.header, &recorded.trace, &mut bytes).expect("written");
    fs::write(trace_path(folder, ID), bytes).expect("written");
    let (id, schema) = (ID.to_string(), KEPT_SCHEMA.to_string());
    let ended = "2026-11-26 03:02:11.577 UTC".to_string();
    let kept = KeptRequest { id, schema, ended, ..KeptRequest::default() };
    let text = serde_json::to_vec(&kept).expect("JSON");
    fs::write(folder.join(format!("{ID}.json")), text).expect("written");
}

#[test]
fn a_kept_request_is_exported_as_its_file_is_named() {
    let folder = folder();
    let folder = folder.path();
    made(folder, "eevdf", "1", "a.trace");
    let export = |out: &str| rearguard(folder, &["watch", "export", ".", ID, out]);
    keep(folder, "a.trace", true);
    let exported = export("a.otlp.json");
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    let bytes = fs::read(folder.join("a.otlp.json")).expect("written");
    let document: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let spans = document["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans");
    assert_eq!(spans.len(), 6);
    let told = spans[0]["attributes"].to_string();
    assert!(told.contains("rearguard.background.culprits"), "threads spin beside it: {told}");
    assert!(export("a.pftrace").status.success());
    let other = fs::read(folder.join("a.pftrace")).expect("written");
    assert!(serde_json::from_slice::<serde_json::Value>(&other).is_err(), "that is Perfetto's");

    keep(folder, "a.trace", false);
    let refused = export("b.otlp.json");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("no stages"), "{}", text(&refused.stderr));
}
