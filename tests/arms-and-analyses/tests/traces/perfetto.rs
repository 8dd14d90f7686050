//! What Perfetto is given: read back field by field, and read by Perfetto's own trace processor.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::recorded;
use model::Nanos;
use model::event::{What, Why};
use prost::Message;
use serde_json::{Value, json};
use trace::Recorded;
use trace::perfetto::encode;
use trace::perfetto::proto::{EventKind, Trace, Track, TrackEvent};

fn example() -> Recorded {
    recorded("four-cpus-and-batch", "rearguard", 1, Nanos::from_millis(300))
}

fn decoded(recorded: &Recorded) -> Trace {
    Trace::decode(&encode(recorded)[..]).unwrap()
}

fn events(of: &Recorded) -> impl Iterator<Item = &What> {
    of.trace.events.iter().flatten().map(|event| &event.what)
}

fn requests(of: &Recorded) -> usize {
    of.trace.programs.iter().map(|program| program.requests.len()).sum()
}

#[test]
fn every_switch_and_wake_up_is_one_of_the_kernels() {
    let recorded = example();
    let trace = decoded(&recorded);
    let kernel = trace.packets.iter().filter_map(|packet| packet.ftrace.as_ref());
    let of_cpu: Vec<(u32, _)> = kernel
        .flat_map(|bundle| bundle.events.iter().map(|event| (bundle.cpu.unwrap(), event)))
        .collect();
    let mut switches = of_cpu.iter().filter_map(|(cpu, event)| Some((cpu, event.switch.as_ref()?)));
    assert!(switches.clone().map(|(cpu, _)| *cpu).max() == Some(3), "each CPU has its events");
    let blocked = |what: &What| matches!(what, What::Switch { why: Why::Blocked, .. });
    let ours = events(&recorded).filter(|what| matches!(what, What::Switch { .. })).count();
    assert_eq!(switches.clone().count(), ours);
    let asleep = switches.clone().filter(|(_, switch)| switch.prev_state == 1).count();
    assert_eq!(asleep, events(&recorded).filter(|what| blocked(what)).count());
    let wakes = of_cpu.iter().filter(|(_, event)| event.waking.is_some()).count();
    assert_eq!(wakes, events(&recorded).filter(|what| matches!(what, What::Wake { .. })).count());
    assert!(switches.any(|(_, switch)| switch.next_comm == "batch/0" && switch.next_prio == 120));
}

#[test]
fn slices_of_a_track_are_closed_and_those_of_requests_never_overlap() {
    let recorded = example();
    let trace = decoded(&recorded);
    let mut tracks: BTreeMap<u64, &Track> = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut begun: BTreeMap<&str, usize> = BTreeMap::new();
    for packet in &trace.packets {
        if let Some(track) = &packet.track {
            assert!(tracks.insert(track.uuid, track).is_none(), "each track is its own");
        }
        let Some(TrackEvent { kind, track_uuid, name, .. }) = &packet.track_event else { continue };
        let stack = open.entry(*track_uuid).or_default();
        let at = packet.timestamp.unwrap();
        assert!(tracks.contains_key(track_uuid), "a track is described before it is used");
        match EventKind::try_from(*kind).unwrap() {
            EventKind::Begin => {
                let name = name.as_deref().unwrap();
                *begun.entry(name).or_default() += 1;
                assert!(name != "request" || stack.is_empty(), "requests overlap at {at}");
                stack.push(at);
            }
            EventKind::End => assert!(stack.pop().unwrap() <= at),
            EventKind::Counter => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "every slice has its end");
    assert_eq!(begun["request"], requests(&recorded));
    assert_eq!(begun["serves"], requests(&recorded));
    let names: Vec<&str> = tracks.values().map(|track| track.name.as_str()).collect();
    for name in [
        "requests of service",
        "requests of service that wait",
        "threads waiting for a CPU",
        "CPUs in use by batch",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
}

#[test]
fn a_trace_without_events_has_requests_and_cpu_use() {
    let mut bare = example();
    bare.trace.events = None;
    bare.header.events = false;
    let trace = decoded(&bare);
    assert!(trace.packets.iter().all(|packet| packet.ftrace.is_none()));
    let names = trace.packets.iter().filter_map(|packet| packet.track_event.as_ref()?.name.clone());
    assert_eq!(names.filter(|name| name == "request").count(), requests(&bare));
}

/// The folder of the trace processor, where there is one.
fn trace_processor() -> Option<PathBuf> {
    let folder = std::env::var_os("RG_PERFETTO").filter(|folder| !folder.is_empty());
    if folder.is_none() {
        eprintln!("skipped: RG_PERFETTO does not name the folder that tools/perfetto/fetch prints");
    }
    folder.map(PathBuf::from)
}

/// What the trace processor answers to some queries.
fn ask(folder: &Path, trace: &[u8], queries: &[&str]) -> Vec<Value> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), trace).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/perfetto/query.js");
    let mut node = Command::new("node")
        .args([&script, folder, file.path()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("node, which RG_PERFETTO asks for");
    node.stdin.take().unwrap().write_all(queries.join("\n").as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers = String::from_utf8(output.stdout).unwrap();
    answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const FAULTS: &str =
    "select name, value from stats where value > 0 and severity in ('error', 'data_loss')";

#[test]
fn perfettos_own_trace_processor_finds_what_is_in_the_trace() {
    let Some(folder) = trace_processor() else { return };
    let recorded = example();
    let answers = ask(
        &folder,
        &encode(&recorded),
        &[
            FAULTS,
            "select count(distinct cpu) as cpus from sched",
            "select count(*) as n from sched where end_state = 'S'",
            "select sum(dur) as ns from slice where name = 'request'",
            "select count(*) as n from thread_state where state = 'Running' and utid in (select utid from thread where tid > 0)",
            "select p.name as name, count(*) as threads from thread join process p using (upid) where p.pid > 0 group by p.upid order by p.pid",
            "select count(*) as n from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid) where t.name = 'service/3'",
            "select max(value) as most from counter c join counter_track t on c.track_id = t.id where t.name = 'CPUs in use by service'",
        ],
    );
    assert_eq!(answers[0], json!([]), "no errors, no loss");
    assert_eq!(answers[1], json!([{ "cpus": 4 }]));
    let count = |is: &dyn Fn(&What) -> bool| events(&recorded).filter(|what| is(what)).count();
    let blocked = count(&|what| matches!(what, What::Switch { why: Why::Blocked, .. }));
    assert_eq!(answers[2], json!([{ "n": blocked }]));
    let spans = recorded.trace.programs.iter().flat_map(|program| &program.requests);
    let spans: u64 = spans.map(|request| (request.received - request.intended).0).sum();
    assert_eq!(answers[3], json!([{ "ns": spans }]));
    let ran = count(&|what| matches!(what, What::Switch { to: Some(_), .. }));
    assert_eq!(answers[4], json!([{ "n": ran }]));
    let programs =
        [json!({ "name": "service", "threads": 64 }), json!({ "name": "batch", "threads": 8 })];
    assert_eq!(answers[5], json!(programs));
    let third = count(&|what| matches!(what, What::Start { thread, .. } if thread.0 == 3));
    assert_eq!(answers[6], json!([{ "n": third }]));
    let most = answers[7][0]["most"].as_f64().unwrap();
    assert!(most > 1.0 && most <= 4.0, "{most}");
}

#[test]
fn the_trace_processor_notices_events_without_a_cpu() {
    let Some(folder) = trace_processor() else { return };
    let mut wrong = decoded(&example());
    let bundle = wrong.packets.iter_mut().find_map(|packet| packet.ftrace.as_mut());
    bundle.unwrap().cpu = None;
    let answers = ask(&folder, &wrong.encode_to_vec(), &[FAULTS]);
    assert_eq!(answers[0], json!([{ "name": "ftrace_bundle_tokenizer_errors", "value": 1 }]));
}
