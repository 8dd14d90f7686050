//! A small file does not take gigabytes, and one that tells of what cannot be is refused with its reason.

use model::event::{CpuSetId, Event, Interrupt, NameId, Process, Tables, What, Why};
use model::scenario::{Group, Machine};
use model::trace::{ProgramTrace, Request, ThreadTrace, Usage, Window};
use model::{CpuId, Failure, Nanos, ThreadId, Trace};
use trace::{Header, Program, Recorded, perfetto, read};

const LONGEST_NAME: usize = 4_096;
const THREAD: ThreadId = ThreadId(0);
const CPU: CpuId = CpuId(0);
const NAME: NameId = NameId(0);

/// A service of one thread with one request, on a machine of so many CPUs.
fn small(cpus: u32) -> Recorded {
    let tables = Tables {
        names: vec!["timer".to_string()],
        cpu_sets: vec![vec![CPU]],
        others: vec![Process {
            name: "other".to_string(),
            group: Some("cgroup".to_string()),
            owner: Some("unit a.service".to_string()),
            descends: true,
        }],
    };
    let header = Header {
        scenario: "x".to_string(),
        scenario_text: String::new(),
        arm: "sim".to_string(),
        machine: String::new(),
        cpus: Machine { cpus, smt: 1, llcs: 1, nodes: 1 },
        policy: "cfs".to_string(),
        kernel: None,
        seed: 1,
        replay: String::new(),
        version: String::new(),
        window_start_ns: 0,
        window_end_ns: 1_000,
        groups: vec![Group::new("work", None, 100)],
        programs: vec![Program {
            name: "web".to_string(),
            kind: "service".to_string(),
            group: Some(0),
            nice: 0,
            owner: None,
            descends: false,
        }],
        threads: vec![0],
        events: true,
        tables: tables.clone(),
    };
    let trace = Trace {
        window: Window { start: Nanos(0), end: Nanos(1_000) },
        programs: vec![ProgramTrace { requests: vec![request()], ..ProgramTrace::default() }],
        threads: vec![ThreadTrace { program: 0 }],
        events: Some(Vec::new()),
        tables,
        ..Trace::default()
    };
    Recorded { header, trace }
}

fn request() -> Request {
    let [intended, sent, started, completed, received] = [10, 11, 12, 20, 21].map(Nanos);
    Request { intended, sent, started, completed, received, service: Nanos(8) }
}

fn reread(recorded: &Recorded) -> Result<Recorded, Failure> {
    let mut bytes = Vec::new();
    trace::write(&recorded.header, &recorded.trace, &mut bytes).expect("memory");
    read(&bytes, "x.trace")
}

/// Refused with a sentence that has these words, which name the file.
fn assert_refused(recorded: &Recorded, words: &str) {
    match reread(recorded) {
        Err(Failure::Input(message)) => {
            assert!(message.contains(words) && message.starts_with("x.trace: "), "{message}");
        }
        other => panic!("{words}: expected a refusal, got {:?}", other.map(|_| ())),
    }
}

fn assert_read(recorded: &Recorded, what: &str) {
    reread(recorded).unwrap_or_else(|failure| panic!("{what}: {failure}"));
}

/// So many events, a nanosecond apart.
fn with_events(mut recorded: Recorded, count: usize, what: impl Fn(usize) -> What) -> Recorded {
    let event = |at| Event { at: Nanos(at as u64), what: what(at) };
    recorded.trace.events = Some((0..count).map(event).collect());
    recorded
}

#[test]
fn every_name_is_a_paths_at_most() {
    type Place = fn(&mut Header) -> &mut String;
    let places: [(&str, Place); 8] = [
        ("a program", |header| &mut header.programs[0].name),
        ("its kind", |header| &mut header.programs[0].kind),
        ("a group", |header| &mut header.groups[0].name),
        ("an interrupt", |header| &mut header.tables.names[0]),
        ("a process", |header| &mut header.tables.others[0].name),
        ("its group", |header| header.tables.others[0].group.as_mut().expect("set above")),
        ("its owner", |header| header.tables.others[0].owner.as_mut().expect("set above")),
        ("a program's owner", |header| header.programs[0].owner.get_or_insert_default()),
    ];
    for (what, place) in places {
        let mut recorded = small(1);
        *place(&mut recorded.header) = "n".repeat(LONGEST_NAME);
        assert_read(&recorded, what);
        place(&mut recorded.header).push('n');
        assert_refused(&recorded, "a name of more than 4096 bytes");
    }
}

#[test]
fn names_of_groups_and_kinds_count_for_each_thread() {
    let places: [fn(&mut Header) -> &mut String; 2] =
        [|header| &mut header.groups[0].name, |header| &mut header.programs[0].kind];
    for place in places {
        let mut recorded = small(1);
        recorded.header.threads = vec![0; 100_000];
        assert_read(&recorded, "usual names");
        *place(&mut recorded.header) = "n".repeat(LONGEST_NAME);
        assert_refused(&recorded, "bytes for its threads");
    }
}

#[test]
fn long_names_count_for_each_event_and_request() {
    let interrupt = |_| What::InterruptBegin { cpu: CPU, kind: Interrupt::Hard, name: NAME };
    let switch = |_| What::Switch { cpu: CPU, from: None, to: Some(THREAD), why: Why::Idle };
    let mut recorded = with_events(small(1), 100_000, interrupt);
    assert_read(&recorded, "a usual interrupt");
    assert!(perfetto::encode(&recorded).len() < 100 * 100_000);
    recorded.header.tables.names[0] = "n".repeat(LONGEST_NAME);
    assert_refused(&recorded, "bytes for its events and requests");
    let mut recorded = with_events(small(1), 100_000, switch);
    recorded.header.programs[0].name = "n".repeat(LONGEST_NAME);
    assert_refused(&recorded, "bytes for its events and requests");
    let mut recorded = small(1);
    recorded.trace.programs[0].requests = vec![request(); 100_000];
    assert_read(&recorded, "a usual service");
    recorded.header.programs[0].name = "n".repeat(LONGEST_NAME);
    assert_refused(&recorded, "bytes for its events and requests");
}

#[test]
fn sets_of_cpus_are_no_longer_than_the_machine_and_change_so_often() {
    let affinity = |_| What::Affinity { thread: THREAD, cpus: CpuSetId(0) };
    assert_read(&with_events(small(1), 10_000, affinity), "one CPU");
    assert_refused(&with_events(small(8_192), 10_000, affinity), "more than 8192 changes");
    let mut recorded = small(2);
    recorded.header.tables.cpu_sets = vec![vec![CPU; 2]];
    assert_read(&recorded, "as many as there are");
    recorded.header.tables.cpu_sets = vec![vec![CPU; 3]];
    assert_refused(&recorded, "a set of more CPUs than there are");
}

#[test]
fn readings_of_cpu_time_count_for_each_program() {
    let mut recorded = small(1);
    let reading = |at| Usage { at: Nanos(at), cpu_time: vec![Nanos(at)] };
    recorded.trace.usage = (0..2_000).map(reading).collect();
    assert_read(&recorded, "one program");
    recorded.header.programs = vec![recorded.header.programs[0].clone(); 10_000];
    recorded.trace.programs = vec![ProgramTrace::default(); 10_000];
    assert_refused(&recorded, "too many readings of CPU time");
}

#[test]
fn moments_beyond_all_runs_are_none() {
    let beyond = Nanos(1 << 63);
    let places: [fn(&mut Request) -> &mut Nanos; 6] = [
        |one| &mut one.intended,
        |one| &mut one.sent,
        |one| &mut one.started,
        |one| &mut one.completed,
        |one| &mut one.received,
        |one| &mut one.service,
    ];
    for place in places {
        let mut recorded = small(1);
        *place(&mut recorded.trace.programs[0].requests[0]) = beyond;
        assert_refused(&recorded, "a request beyond 3650 days");
        *place(&mut recorded.trace.programs[0].requests[0]) = Nanos::NEVER;
        assert_read(&recorded, "a stamp that is unknown");
    }
    let mut recorded = small(1);
    recorded.header.window_end_ns = beyond.0;
    assert_refused(&recorded, "a measured part beyond 3650 days");
    let exit =
        |took| with_events(small(1), 1, move |_| What::IdleExit { cpu: CPU, state: NAME, took });
    assert_read(&exit(Nanos(9)), "an exit");
    assert_refused(&exit(Nanos::NEVER), "an event beyond 3650 days");
}

#[test]
fn sums_over_cpus_and_requests_have_room() {
    let year = Nanos::from_secs(365 * 24 * 3_600);
    let ended = |cpus| {
        let mut recorded = small(cpus);
        recorded.trace.programs[0].requests[0].received = year;
        recorded
    };
    assert_read(&ended(64), "a year on 64 CPUs");
    assert_refused(&ended(8_192), "a request beyond 13 days");
    let with = |count: usize| {
        let mut recorded = ended(1);
        recorded.trace.programs[0].requests = vec![recorded.trace.programs[0].requests[0]; count];
        recorded
    };
    assert_read(&with(200), "two hundred years together");
    assert_refused(&with(400), "requests of more than 106751 days together");
}

#[test]
fn a_request_ends_once_and_after_its_beginning() {
    let [start, finish] = Event::of_request(THREAD, 0, Nanos(12), Nanos(20));
    let with = |events: &[Event]| {
        let mut recorded = small(1);
        recorded.trace.events = Some(events.to_vec());
        recorded
    };
    assert_read(&with(&[start, finish]), "one request");
    assert_refused(&with(&[start, finish, finish]), "a request that ends twice");
    let late = Event { at: Nanos(30), ..start };
    assert_refused(&with(&[start, finish, late]), "begins after its end");
    let mut recorded = small(1);
    recorded.trace.programs[0].requests[0].completed = Nanos(11);
    assert_refused(&recorded, "a request that ends before it begins");
}
