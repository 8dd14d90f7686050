//! Events of the machine: interrupts, exits from idle states, changes. They come back from a file, are
//! compared by name and are exported.

use std::fs::File;

use crate::common::{bytes, recorded};
use model::event::{CpuSetId, Event, Interrupt, NameId, Tables, What};
use model::{CpuId, Nanos, ThreadId};
use parquet::file::reader::{FileReader, SerializedFileReader};
use prost::Message;
use trace::Recorded;
use trace::diff::{Parting, diff, text};
use trace::perfetto::proto::{EventKind, Trace};

const CPU: CpuId = CpuId(2);
const THREAD: ThreadId = ThreadId(3);

/// One of each, a microsecond apart.
fn machine(tables: &mut Tables) -> Vec<Event> {
    let (device, softirq) = (tables.name("device 3"), tables.name("net_rx"));
    let state = tables.name("C6");
    let cpus = tables.cpu_set(&[CpuId(0), CpuId(1), CpuId(3)]);
    let (hard, soft) = (Interrupt::Hard, Interrupt::Soft);
    let all = [
        What::IdleExit { cpu: CPU, state, took: Nanos(133_000) },
        What::InterruptBegin { cpu: CPU, kind: hard, name: device },
        What::InterruptEnd { cpu: CPU, kind: hard, name: device },
        What::InterruptBegin { cpu: CPU, kind: soft, name: softirq },
        What::InterruptEnd { cpu: CPU, kind: soft, name: softirq },
        What::Affinity { thread: THREAD, cpus },
        What::Nice { thread: THREAD, nice: -5 },
        What::Weight { group: 0, weight: 300 },
        What::Offline { cpu: CPU },
        What::Online { cpu: CPU },
    ];
    let since = Nanos::from_secs(1_000);
    (0..).zip(all).map(|(us, what)| Event { at: since + Nanos::from_micros(us), what }).collect()
}

/// A run with them at its end; their names stand in the tables behind others.
fn run(before: &[&str]) -> Recorded {
    let mut run = recorded("gvts-fig9", "rearguard", 1, Nanos::from_millis(20));
    let mut tables = Tables::default();
    for name in before {
        tables.name(name);
        tables.cpu_set(&[CPU]);
    }
    run.trace.events.as_mut().unwrap().extend(machine(&mut tables));
    (run.trace.tables, run.header.tables) = (tables.clone(), tables);
    run
}

#[test]
fn stages_survive_a_file() {
    let run = run(&[]);
    assert_eq!(trace::read(&bytes(&run), "x").unwrap(), run);
}

#[test]
fn names_groups_and_cpus_that_there_are_not_are_refused() {
    let refused = |what: What| {
        let mut wrong = run(&[]);
        wrong.trace.events.as_mut().unwrap().last_mut().unwrap().what = what;
        let message = trace::read(&bytes(&wrong), "x").unwrap_err().to_string();
        assert!(message.contains("name that there is not"), "{message}");
    };
    refused(What::InterruptBegin { cpu: CPU, kind: Interrupt::Hard, name: NameId(3) });
    refused(What::InterruptEnd { cpu: CpuId(99), kind: Interrupt::Soft, name: NameId(0) });
    refused(What::IdleExit { cpu: CPU, state: NameId(9), took: Nanos(1) });
    refused(What::Affinity { thread: THREAD, cpus: CpuSetId(1) });
    refused(What::Nice { thread: ThreadId(9_999), nice: 0 });
    refused(What::Weight { group: 9, weight: 1 });
    refused(What::Offline { cpu: CpuId(99) });
    let mut wrong = run(&[]);
    wrong.header.tables.cpu_sets[0][0] = CpuId(99);
    let message = trace::read(&bytes(&wrong), "x").unwrap_err().to_string();
    assert!(message.contains("a thread may run on a CPU that there is not"), "{message}");
}

#[test]
fn a_file_of_the_version_before_says_what_to_do() {
    let old = [b"rearguard.trace/1", &bytes(&run(&[]))[17..]].concat();
    let message = trace::read(&old, "x").unwrap_err().to_string();
    assert!(message.contains("version `1`, and this rearguard reads version 2"), "{message}");
}

#[test]
fn runs_are_compared_by_names_and_not_by_numbers() {
    let (a, b) = (run(&[]), run(&["timer", "C1"]));
    assert_ne!(a.trace.events, b.trace.events);
    assert!(diff(&a, &b).is_none());
    let mut other = b.clone();
    other.header.tables.names[4] = "C3".to_string();
    let difference = diff(&a, &other);
    assert!(matches!(difference.parting, Parting::Event(_)));
    let said = text(&difference, &a, &other, ["a", "b"]);
    for line in [
        "A 1000000.000000 ms  CPU 2     leaves C6, which takes 133 us",
        "B 1000000.000000 ms  CPU 2     leaves C3, which takes 133 us",
        "A 1000000.001000 ms  CPU 2     interrupt device 3 begins",
        "A 1000000.003000 ms  CPU 2     softirq net_rx begins",
    ] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
}

#[test]
fn changes_read_as_sentences() {
    let (a, mut b) = (run(&[]), run(&[]));
    let events = b.trace.events.as_mut().unwrap();
    events.truncate(events.len() - 5);
    let said = text(&diff(&a, &b), &a, &b, ["a", "b"]);
    for line in [
        "gvts/3 may run on CPUs 0-1,3 only",
        "gvts/3 has nice -5",
        "has weight 300",
        "goes offline",
    ] {
        let line = line.replace("gvts", &a.header.programs[0].name);
        assert!(said.contains(&line), "{line} in\n{said}");
    }
}

#[test]
fn tables_have_a_row_for_each() {
    let run = run(&[]);
    let folder = tempfile::tempdir().unwrap();
    trace::tables::export(&run, columnar::Format::Parquet, folder.path()).unwrap();
    let file = File::open(folder.path().join("events.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().into_columns());
    let cells = rows.map(|row| {
        let cell =
            |name: &str| row.iter().find(|(column, _)| column == name).unwrap().1.to_string();
        ["event", "cpu", "name", "took_ns", "value"].map(cell).join(" ").replace('"', "")
    });
    let all: Vec<String> = cells.collect();
    let expected = [
        "idle_exit 2 C6 133000 null",
        "interrupt_begin 2 device 3 null null",
        "interrupt_end 2 device 3 null null",
        "softirq_begin 2 net_rx null null",
        "softirq_end 2 net_rx null null",
        "affinity null null null 0-1,3",
        "nice null null null -5",
    ];
    let tail = &all[all.len() - 10..];
    assert_eq!(tail[..7], expected);
    assert!(tail[7].starts_with("weight null ") && tail[7].ends_with("null 300"), "{}", tail[7]);
    assert_eq!(tail[8..], ["offline 2 null null null", "online 2 null null null"]);
}

#[test]
fn perfetto_gets_slices_and_instants() {
    let mut run = run(&[]);
    // An interrupt that began before the trace, and one that outlives it.
    let events = run.trace.events.as_mut().unwrap();
    let torn = |at: Nanos, what| Event { at, what };
    let (kind, name) = (Interrupt::Hard, NameId(0));
    events.insert(0, torn(Nanos::ZERO, What::InterruptEnd { cpu: CpuId(1), kind, name }));
    let last = events.last().unwrap().at;
    events.push(torn(last, What::InterruptBegin { cpu: CpuId(1), kind, name }));
    let trace = Trace::decode(&trace::perfetto::encode(&run)[..]).unwrap();
    let tracks = trace.packets.iter().filter_map(|packet| packet.track.as_ref());
    let track = |name: &str| tracks.clone().find(|track| track.name == name).unwrap().uuid;
    let on = |name: &str| {
        let uuid = track(name);
        let all = trace.packets.iter().filter_map(|packet| packet.track_event.as_ref());
        let own = all.filter(move |event| event.track_uuid == uuid);
        own.map(|event| (EventKind::try_from(event.kind).unwrap(), event.name.clone()))
            .collect::<Vec<_>>()
    };
    let begin = |name: &str| (EventKind::Begin, Some(name.to_string()));
    let end = (EventKind::End, None);
    let both = [begin("interrupt device 3"), end.clone(), begin("softirq net_rx"), end.clone()];
    assert_eq!(on("CPU 2 interrupts"), both);
    assert_eq!(on("CPU 1 interrupts"), [begin("interrupt device 3"), end.clone()]);
    assert_eq!(on("CPU 2 awakes"), [begin("leaves C6"), end]);
    assert_eq!(on("changes").len(), 5);
}
