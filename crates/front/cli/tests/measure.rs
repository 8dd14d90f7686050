//! `rearguard measure` as a user sees it, against its own null RPC server and servers that misbehave. Counts
//! are asserted, never times.

#[path = "support/child_guard.rs"]
mod child_guard;
#[path = "support/loopback.rs"]
mod loopback;

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use child_guard::ChildGuard;
use loopback::serve;
use serde_json::Value;

/// Held by a test for as long as it measures: of two runs at a time the second is refused at last, and the
/// hog of one test would take the CPU of another's generator.
fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn built() -> Command {
    Command::new(env!("CARGO_BIN_EXE_rearguard"))
}

fn rearguard(args: &[&str]) -> Output {
    built().arg("measure").args(args).output().expect("the built command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

const LIGHT: [&str; 6] = ["--rate", "200/s", "--duration", "1s", "--warm-up", "100ms"];

/// A light run. On a machine whose own noise delays the generator the run fails, as it must: then it says so,
/// and there is nothing to look at.
fn measured(args: &[&str]) -> Option<Output> {
    measured_by(built(), args)
}

fn measured_by(mut command: Command, args: &[&str]) -> Option<Output> {
    let output = command.arg("measure").args(args).args(LIGHT).output().expect("it runs");
    let words = text(&output.stderr);
    let troubles =
        ["could not keep its schedule", "what is missing may be what matters", "setpriv:"];
    let is_trouble = troubles.iter().any(|trouble| words.contains(trouble));
    if !output.status.success() && is_trouble {
        eprintln!("skipped, as this machine cannot: {words}");
        return None;
    }
    let code = i32::from(words.contains("no request was answered"));
    assert_eq!(output.status.code(), Some(code), "{words}");
    Some(output)
}

const NULL_RPC: [&str; 4] =
    ["--start", "null-rpc", "--target", "null-rpc://127.0.0.1:0?service=2ms"];

#[test]
fn the_document_has_the_keys_of_a_service_and_the_files_are_written() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (hdr, trace, page, metrics) =
        (file("log.hdr"), file("run.trace"), file("page.html"), file("metrics"));
    let tables = file("tables");
    let files = ["--hdr", &hdr, "--trace", &trace, "--report", &page];
    let more = ["--json", "--live", "--metrics", &metrics];
    let tables_too = ["--parquet", &tables, "--cell", "web"];
    let asked = [&NULL_RPC[..], &files, &more, &tables_too].concat();
    let Some(output) = measured(&asked) else { return };
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["schema"], "rearguard.measure/1");
    let requests = document["requests"].as_u64().expect("requests");
    assert!((130..280).contains(&requests), "{requests}");
    assert_eq!(document["lost"], 0);
    assert_eq!(document["connections_opened"], 64);
    let value = |key: &str| document[key]["p50"]["value"].as_f64().expect("a median");
    assert!(value("latency_ns") >= 2e6 && value("ideal_ns") >= 2e6, "no answer before its service");
    assert_eq!(document["service_time"]["source"], "cpu time");
    assert!(document["self_check"]["achieved_rate_per_s"].as_f64() > Some(0.0));
    assert!(text(&output.stderr).contains("answered"), "a live line a second");
    let shown = std::fs::read_to_string(&metrics).expect("metrics");
    for metric in ["answered_requests", "outlier_proportion"] {
        assert!(shown.contains(&format!("rearguard_measure_{metric}{{cell=\"web\"}} ")), "{shown}");
    }
    let log = std::fs::read_to_string(&hdr).expect("a log");
    assert!(log.contains("requests lost: 0") && log.contains("HISTFAA"), "{log}");
    assert!(std::fs::read_to_string(&page).expect("a page").contains("<svg"));
    for table in
        ["measurements", "self_checks", "capacities", "steps", "troubles", "stages", "curves"]
    {
        let file = std::fs::read(format!("{tables}/{table}.parquet")).expect("a table");
        assert!(file.starts_with(b"PAR1"), "{table}");
    }
    let summary =
        Command::new(env!("CARGO_BIN_EXE_rearguard")).args(["trace", "show", &trace]).output();
    assert!(summary.expect("it runs").status.success(), "others read the trace");
}

#[test]
fn losses_are_named() {
    let _alone = alone();
    let Some(output) = measured(&[
        "--target",
        &closing_server(),
        "--request",
        "x",
        "--response",
        "length:4",
        "--json",
    ]) else {
        return;
    };
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["losses"]["closed"], document["requests"], "every answer is the end");
    assert_eq!(output.status.code(), Some(1), "nothing was measured of the server");
    let said = text(&output.stderr);
    assert!(said.contains("a first request was not answered (closed)"), "{said}");
    assert!(said.contains("no request was answered"), "{said}");
    assert_eq!(document["lost"], document["requests"]);
    assert!(document["latency_ns"]["p50"]["value"].is_null(), "lost requests are infinitely slow");
    assert!(document["connections_opened"].as_u64() > Some(64));
}

/// A server that answers each request so; with nothing it keeps silent.
fn answering_server(answer: &'static [u8]) -> String {
    let address = serve(move |mut stream| {
        while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {
            let _ = stream.write_all(answer);
        }
    });
    address.to_string()
}

#[test]
fn a_secret_header_is_sent_and_in_no_result() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (trace, page, lines) = (file("run.trace"), file("page.html"), file("headers"));
    std::fs::write(&lines, "X-Token: from-a-file\n").expect("a file");
    let answer = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
    let target = format!("http://{}/", answering_server(answer));
    let (from_file, auth) = (format!("@{lines}"), "Authorization: Bearer top-secret");
    let mut asked = vec!["--target", &target, "--header", auth, "--header", &from_file];
    asked.extend(["--body", "a=b", "--expect-status", "201", "--json"]);
    asked.extend(["--trace", &trace, "--report", &page]);
    let Some(output) = measured(&asked) else { return };
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["complaints"], serde_json::json!({}));
    let shown = built().args(["trace", "show", &trace]).output().expect("it runs");
    let page = std::fs::read_to_string(&page).expect("a page");
    let all = [text(&output.stdout), text(&output.stderr), text(&shown.stdout), page];
    for said in &all {
        assert!(!said.contains("top-secret") && !said.contains("from-a-file"), "{said}");
    }
    // The control: the command is there.
    assert!(
        all[0].contains("Authorization: ***") && all[2].contains("Authorization"),
        "{}",
        all[2]
    );
}

#[test]
fn a_password_is_in_no_result_and_in_no_message() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (trace, page) = (file("run.trace"), file("page.html"));
    let target = format!("redis://me:top-secret@{}", answering_server(b"+OK\r\n"));
    let files = ["--no-fill", "--json", "--trace", &trace, "--report", &page];
    let Some(output) = measured(&[&["--target", &target], &files[..]].concat()) else { return };
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["complaints"], serde_json::json!({}));
    assert_eq!(document["target"].as_str(), Some(&*target.replace(":top-secret", "")));
    let shown = built().args(["trace", "show", &trace]).output().expect("it runs");
    let page = std::fs::read_to_string(&page).expect("a page");
    // The server's own words have it, too.
    let refusing = answering_server(b"-WRONGPASS top-secret is wrong\r\n");
    let mut asked = built();
    asked.args(["measure", "--rate", "1/s", "--target", &format!("redis://me@{refusing}")]);
    let refused = asked.env("REARGUARD_PASSWORD", "top-secret").output().expect("it runs");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("WRONGPASS *** is wrong"), "{}", text(&refused.stderr));
    for said in [output.stdout, output.stderr, shown.stdout, page.into_bytes(), refused.stderr] {
        assert!(!text(&said).contains("top-secret"), "{}", text(&said));
    }
}

/// A run of a minute ends at once because the server does not answer as wanted. A machine that has other work
/// for the generator's CPU may not receive the answer in time, so it is asked a few times.
fn assert_refused(target: &str, why: &str) {
    let mut said = String::new();
    for _ in 0..5 {
        let begin = std::time::Instant::now();
        let output = rearguard(&["--target", target, "--rate", "50/s", "--duration", "60s"]);
        said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        // Two seconds on an idle machine; a busy one does not take a minute for it.
        assert!(begin.elapsed() < Duration::from_secs(45), "{said}");
        if said.contains(why) {
            return;
        }
    }
    panic!("{why}: {said}");
}

#[test]
fn a_wrong_protocol_is_said_at_once() {
    let _alone = alone();
    let speaks = answering_server(b"-ERR unknown command\r\n");
    let garbage = |scheme: &str| {
        let why = format!("(garbage): does the server speak {scheme}?");
        assert_refused(&format!("{scheme}://{speaks}"), &why);
    };
    garbage("memcached");
    garbage("http");
    let silent = answering_server(b"");
    assert_refused(&format!("redis://{silent}"), "(silent): does the server speak redis?");
    // The control: the same server, asked as it answers.
    let asked = ["--request", "PING\\r\\n", "--response", "until:\\n", "--target"];
    let Some(output) = measured(&[&asked[..], &[&format!("tcp://{speaks}")]].concat()) else {
        return;
    };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// Shares the generator's CPU and its real-time priority: whenever the generator sleeps it waits for the end
/// of a slice. `None` without privileges.
fn hog() -> Option<ChildGuard> {
    let status = std::fs::read_to_string("/proc/self/status").expect("of every process");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let first = allowed.trim().split(['-', ',']).next()?;
    let words = ["-r", "20", "taskset", "-c", first, "yes"];
    let mut hog = ChildGuard(Command::new("chrt").args(words).stdout(Stdio::null()).spawn().ok()?);
    std::thread::sleep(Duration::from_millis(100));
    hog.0.try_wait().expect("a child").is_none().then_some(hog)
}

#[test]
fn a_generator_that_does_not_get_its_cpu_says_between_what_the_latency_lies() {
    let _alone = alone();
    let Some(_hog) = hog() else {
        eprintln!("skipped: a hog of real-time priority takes privileges and chrt");
        return;
    };
    let output = rearguard(&[&NULL_RPC[..], &LIGHT, &["--json"]].concat());
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let late = document["disturbance"]["late_by_ns"].as_f64().expect("it was late");
    let p99 = |key: &Value| key["p99"]["value"].as_f64().expect("a p99");
    let (most, least) =
        (p99(&document["latency_ns"]), p99(&document["disturbance"]["at_least_ns"]));
    assert!(least >= 2e6 && least < most, "a service of 2 ms: {least} to {most}");
    assert!(late > 0.0);
    assert!(document["shared_cpus"]["others_share"].as_f64() > Some(0.1), "{document}");
    let programs = document["shared_cpus"]["programs"].as_array().expect("programs");
    assert!(programs.iter().any(|one| one[0] == "yes"), "{programs:?}");
    // As a table it comes first.
    let shown = text(&rearguard(&[&NULL_RPC[..], &LIGHT].concat()).stdout);
    assert!(shown.contains("p99.9 between") || shown.contains("p99.9 at least"), "{shown}");
    let output = rearguard(&[&NULL_RPC[..], &LIGHT, &["--json", "--strict"]].concat());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("could not keep its schedule, so nothing is reported"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_pilot_that_is_too_short_for_a_plan_is_reported_without() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html").display().to_string();
    let more = ["--plan", "p99.9", "--json", "--report", &page];
    let Some(output) = measured(&[&NULL_RPC[..], &more].concat()) else { return };
    assert!(text(&output.stderr).contains("no --plan can be told: a pilot of"), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(document["plan"].is_null() && Path::new(&page).is_file(), "{document}");
}

/// A server that hangs up on every request.
fn closing_server() -> String {
    let address = serve(|mut stream| {
        let _ = stream.read(&mut [0; 1]);
        let _ = stream.flush();
    });
    format!("tcp://{address}")
}

/// What `fanout` makes of a file at a threshold: the source's name and the outliers of one server.
fn outliers(file: &str, threshold: &str) -> (String, f64) {
    let words = ["fanout", file, "--threshold", threshold, "--servers", "10", "--json"];
    let output = Command::new(env!("CARGO_BIN_EXE_rearguard")).args(words).output();
    let output = output.expect("the built command runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let row = serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["rows"][0].clone();
    (
        row["source"].as_str().unwrap_or_default().to_string(),
        row["proportion"]["value"].as_f64().expect("a share"),
    )
}

#[test]
fn fan_out_starts_from_the_document_and_from_the_log() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (hdr, json) = (file("log.hdr"), file("run.json"));
    let closing = closing_server();
    let lossy = ["--target", &closing, "--request", "x", "--response", "length:4"];
    for (target, far) in [(&NULL_RPC[..], 0.0), (&lossy[..], 1.0)] {
        let Some(output) = measured(&[target, &["--json", "--hdr", &hdr]].concat()) else { return };
        std::fs::write(&json, &output.stdout).expect("a written file");
        // Nothing takes an hour, but what is lost is slower than that.
        assert_eq!(outliers(&hdr, "3600s").1, far);
        let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        if far > 0.0 {
            continue;
        }
        let (source, half) =
            outliers(&json, &format!("{}ns", document["latency_ns"]["p50"]["value"]));
        assert!(source.starts_with("null-rpc://") && (half - 0.5).abs() < 0.05, "{source} {half}");
        assert_eq!(outliers(&json, "3600s").1, 0.0);
        assert_eq!(outliers(&hdr, "1ms").1, 1.0, "no answer before its service of 2 ms");
    }
}

#[test]
fn mistakes_end_with_one_message_and_its_remedy() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address");
    let nobody = format!("null-rpc://{free}");
    let unix = "redis+unix:///no/such.sock";
    let cases: [(&[&str], i32, &str); 23] = [
        (&["--target", "tcp://127.0.0.1:1", "--connections", "0"], 2, "expected 1 to 1M"),
        (&[], 2, "--target memcached://"),
        (&["--target", "memcached://127.0.0.1:1"], 2, "how much load?"),
        (&["--target", "memcached://127.0.0.1:1", "--utilisation", "0.8"], 2, "--saturate"),
        (&["--target", "gopher://127.0.0.1:1", "--rate", "1/s"], 2, "unknown protocol"),
        (&["--target", "tcp://127.0.0.1:1", "--rate", "1/s"], 2, "--request"),
        (&["--start", "memcahed", "--rate", "1/s"], 2, "did you mean `memcached`?"),
        (
            &["--start", "nginx", "--target", "redis://127.0.0.1:0", "--rate", "1/s"],
            2,
            "does not speak",
        ),
        (&["--target", &nobody, "--rate", "1/s", "--cpus", "999"], 2, "choose of 0"),
        (&["--target", &nobody, "--rate", "1/s"], 1, "is the server there"),
        (&["--target", &nobody, "--rate", "1/s", "--report", "x.pdf"], 2, ".html"),
        (&["--target", unix, "--rate", "1/s", "--stages"], 2, "leave --stages out"),
        (&["--target", unix, "--rate", "1/s"], 1, "No such file"),
        (&["--target", unix, "--rate", "1/s", "--body", "x"], 2, "for http://"),
        (&["--target", "http://127.0.0.1:1", "--body", "@/no/such"], 2, "@/no/such: No such file"),
        (&["--target", "http://127.0.0.1:1", "--header", "x"], 2, "'Name: value'"),
        (&["--start", "redis", "--target", unix, "--rate", "1/s"], 2, "started on 127.0.0.1"),
        (&["--target", "redis://me@127.0.0.1:1", "--rate", "1/s"], 2, "REARGUARD_PASSWORD"),
        (&["--target", unix, "--password-file", "/no/such"], 2, "/no/such: No such file"),
        (
            &["--target", "http://127.0.0.1:1", "--requests", "/no/such"],
            2,
            "/no/such: No such file",
        ),
        (
            &["--target", unix, "--requests", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")],
            2,
            "line 1: a weight",
        ),
        (&["--target", "tcp://127.0.0.1:1", "--response", "close"], 2, "of which request?"),
        (&["--target", &nobody, "--password-file", "/no/such"], 2, "takes no password"),
    ];
    for (args, code, words) in cases {
        let output = rearguard(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn a_server_that_is_not_installed_has_a_remedy() {
    let here = std::path::Path::new("/usr/bin/memcached");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.args(["measure", "--start", "redis", "--rate", "1/s"]).env("PATH", "/nowhere");
    if here.exists() {
        // It is looked for in PATH, and in the system's own folders.
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("apt-get install redis-server"));
    }
}

/// A machine with much else to do may leave a server without a CPU for longer than a request is waited for.
fn is_starved(document: &Value) -> bool {
    let starved = document["lost"] != 0;
    if starved {
        eprintln!("skipped, as the server got no CPU: {}", document["losses"]);
    }
    starved
}

#[cfg(feature = "bpf")]
#[test]
fn stages_are_in_the_result_and_their_trace_is_explained() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("run.trace").display().to_string();
    let more = ["--json", "--stages", "--trace", &trace];
    let Some(output) = measured(&[&NULL_RPC[..], &more].concat()) else { return };
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    if is_starved(&document) {
        return;
    }
    if !document["stages_note"].is_null() {
        return eprintln!("skipped: {}", document["stages_note"]);
    }
    let stages = document["stages"].as_array().expect("stages");
    let mean = |stage: &Value| {
        stage["span_ns"]["mean"]["value"].as_f64().unwrap_or_else(|| panic!("a mean: {document}"))
    };
    let means: BTreeMap<&str, f64> =
        stages.iter().map(|one| (one["stage"].as_str().expect("a key"), mean(one))).collect();
    let sum = |keys: &[&str]| keys.iter().map(|key| means[key]).sum::<f64>();
    let is_same = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-6;
    let server = ["t1_t2", "t2_t3", "t3_t4", "t4_t5_on", "t4_t5_off", "t5_t6"];
    let all = [&["intended_sent", "sent_t1"], &server[..], &["t6_received"]].concat();
    assert!(is_same(sum(&server), means["t1_t6"]), "{means:?}");
    assert!(is_same(sum(&all), means["intended_received"]), "{means:?}");
    let latency = document["latency_ns"]["mean"]["value"].as_f64().expect("a mean");
    assert!((means["intended_received"] / latency - 1.0).abs() < 0.01, "{means:?}: {latency}");
    // The work is measured by another clock than the stage.
    assert!(means["t4_t5_on"] >= 1.9e6, "a request works for 2 ms: {means:?}");
    let mut explain = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    let explained = explain.args(["explain", &trace, "--json"]).output().expect("it runs");
    assert!(explained.status.success(), "{}", text(&explained.stderr));
    let explained: Value = serde_json::from_slice(&explained.stdout).expect("JSON");
    assert_eq!(explained["services"][0]["unknown"], 0, "every request's thread is known");
    // The control: no trace.
    let Some(output) = measured(&[&NULL_RPC[..], &["--json"]].concat()) else { return };
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(document["stages"].is_null());
}

/// The command for a user without privileges: for root, as `nobody`, who may have real-time priority and
/// nothing else, or the generator would share its CPU.
fn unprivileged(folder: &Path) -> Command {
    if std::fs::metadata("/proc/self").expect("it is there").uid() != 0 {
        return built();
    }
    let copy = folder.join("rearguard");
    std::fs::copy(env!("CARGO_BIN_EXE_rearguard"), &copy).expect("a copy");
    let readable = || Permissions::from_mode(0o755);
    std::fs::set_permissions(folder, readable()).expect("its folder");
    std::fs::set_permissions(&copy, readable()).expect("its file");
    let mut command = Command::new("setpriv");
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let nice = ["--inh-caps=+sys_nice", "--ambient-caps=+sys_nice"];
    command.args(nobody).args(nice).arg(copy).current_dir("/");
    command
}

#[test]
fn without_privileges_the_clients_sockets_give_their_stages() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let command = unprivileged(folder.path());
    let more = ["--json", "--stages", "--live"];
    let Some(output) = measured_by(command, &[&NULL_RPC[..], &more].concat()) else { return };
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    if is_starved(&document) {
        return;
    }
    let live = text(&output.stderr);
    assert!(live.contains("T1-T6") && live.contains("BACK-READ"), "while it runs, too: {live}");
    assert!(!live.contains("T2-T3") && !live.contains("slow by"), "not known: {live}");
    let mean = |name: &str| {
        let mut stages = document["stages"].as_array().expect("stages").iter();
        stages.find(|stage| stage["stage"] == name).expect(name)["span_ns"]["mean"]["value"]
            .as_f64()
    };
    let [taken, waits, whole, back, all] =
        ["sent_queued", "queued_left", "t1_t6", "back_read", "sent_read"]
            .map(|name| mean(name).unwrap_or_else(|| panic!("{name}: {document}")));
    assert!(whole >= 2e6, "the service of 2 ms is the server's: {document}");
    assert!(((taken + waits + whole + back) / all - 1.0).abs() < 1e-6, "parts sum to the whole");
    for unknown in ["t1_t2", "t2_t3", "t3_t4", "t4_t5", "t5_t6"] {
        assert_eq!(mean(unknown), None, "{unknown} is not known");
    }
    let note = document["stages_note"].as_str().expect("why");
    assert!(note.contains("sudo") || note.contains("default features"), "{note}");
}
