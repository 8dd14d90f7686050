//! A trace comes back from a file as it was, and a broken file says where it is broken.

use crate::common::{all_shipped, bytes, recorded};
use model::trace::{Request, Stages};
use model::{Failure, Nanos};
use proptest::prelude::*;
use trace::{Recorded, read};

const SHORT: Nanos = Nanos::from_millis(100);

#[test]
fn every_scenario_survives_a_file_and_the_same_seed_gives_the_same_bytes() {
    for name in all_shipped() {
        for policy in ["eevdf", "rearguard"] {
            let first = recorded(&name, policy, 1, SHORT);
            let file = bytes(&first);
            assert!(read(&file, "x").unwrap() == first, "{name} under {policy}");
            assert!(file == bytes(&recorded(&name, policy, 1, SHORT)), "{name} under {policy}");
            assert!(file != bytes(&recorded(&name, policy, 2, SHORT)), "{name}: the seed counts");
        }
    }
}

#[test]
fn a_trace_without_events_and_with_lost_requests_survives_a_file() {
    let mut lossy = recorded("null-rpc", "eevdf", 1, SHORT);
    lossy.trace.events = None;
    lossy.header.events = false;
    let lost = &mut lossy.trace.programs[0].requests[3];
    (lost.started, lost.completed, lost.received) = (Nanos::NEVER, Nanos::NEVER, Nanos::NEVER);
    lossy.trace.counters.pulls = None;
    assert_eq!(read(&bytes(&lossy), "x").unwrap(), lossy);
}

#[test]
fn stages_survive_a_file_and_none_is_without_a_request() {
    let mut staged = recorded("null-rpc", "eevdf", 1, SHORT);
    let service = &mut staged.trace.programs[0];
    let seen = |request: &Request| Stages {
        arrived: request.intended,
        ready: request.sent,
        running: request.started,
        read: request.started,
        sends: request.completed,
        transmitted: Nanos::NEVER,
    };
    service.stages = service.requests.iter().map(seen).collect();
    assert_eq!(read(&bytes(&staged), "x").unwrap(), staged);
    staged.trace.programs[0].requests.pop();
    staged.trace.events = None;
    staged.header.events = false;
    assert!(fault(&bytes(&staged)).contains("stages without a request"));
}

/// The message about a file that cannot be read.
fn fault(file: &[u8]) -> String {
    match read(file, "x.trace") {
        Err(Failure::Input(message)) => message,
        other => panic!("expected a message, got {:?}", other.map(|_| ())),
    }
}

fn small() -> Recorded {
    recorded("service-and-batch", "rearguard", 1, Nanos::from_millis(20))
}

#[test]
fn broken_files_are_named_with_the_byte() {
    let file = bytes(&small());
    assert_eq!(
        fault(b"PNG"),
        "x.trace: at byte 0: this is not a trace of rearguard; `--trace FILE` writes one"
    );
    assert!(fault(b"").starts_with("x.trace: at byte 0: this is not"));
    let newer = [b"rearguard.trace/7", &file[17..]].concat();
    assert!(fault(&newer).starts_with("x.trace: at byte 16: a trace of version `7`, and"));
    assert!(fault(&file[..18]).starts_with("x.trace: at byte 18: the header is missing"));
    let cut = fault(&file[..file.len() - 1]);
    assert!(cut.contains("the file is cut short in this block"), "{cut}");
    let last_block = *blocks(&file).last().unwrap();
    let headless = fault(&file[..last_block]);
    assert_eq!(
        headless,
        format!("x.trace: at byte {last_block}: the file is cut short: its end is missing")
    );
    assert!(fault(&[&file[..], b"Z"].concat()).contains("cut short"));
    let mut flipped = file.clone();
    flipped[60] ^= 1;
    assert_eq!(fault(&flipped), "x.trace: at byte 18: the block does not have its checksum");
}

/// Where each block begins.
fn blocks(file: &[u8]) -> Vec<usize> {
    let length = |at: usize| u32::from_le_bytes(file[at + 1..at + 5].try_into().unwrap()) as usize;
    let next = |at: &usize| Some(at + 9 + length(*at)).filter(|at| *at < file.len());
    std::iter::successors(Some(18), next).collect()
}

#[test]
fn dangling_references_are_refused() {
    let whole = recorded("apache-like", "rearguard", 1, Nanos::from_millis(20));
    let refused = |change: &dyn Fn(&mut Recorded), why: &str| {
        let mut wrong = whole.clone();
        change(&mut wrong);
        let message = fault(&bytes(&wrong));
        assert!(message.contains(why), "{message}");
    };
    refused(&|t| t.header.threads[0] = 9, "a thread belongs to a program that there is not");
    refused(&|t| t.header.programs[0].group = Some(9), "a program is in a group");
    refused(
        &|t| t.header.cpus.cpus -= 1,
        "an event of a thread, CPU, request or name that there is not",
    );
    refused(&|t| t.header.threads.truncate(3), "CPU time of other threads");
    refused(&|t| t.header.events = false, "events that the header does not announce");
    refused(&|t| t.header.window_start_ns = 1 << 50, "the measured part ends before it starts");
    refused(&|t| t.header.window_start_ns = u64::MAX, "a measured part beyond");
    refused(
        &|t| t.trace.programs[0].requests.truncate(1),
        "an event of a thread, CPU, request or name",
    );
}

#[test]
fn names_of_a_trace_are_fit_for_a_terminal() {
    let mut hostile = small();
    hostile.header.programs[0].name = "a\u{1b}]0;title\u{7}\nb".to_string();
    hostile.header.kernel = Some("\u{9b}2J".to_string());
    let header = trace::read(&bytes(&hostile), "x.trace").unwrap().header;
    assert_eq!(header.programs[0].name, "a?]0;title??b");
    assert_eq!(header.kernel.as_deref(), Some("?2J"));
    assert_eq!(header.scenario_text, hostile.header.scenario_text, "control: text stays");
}

/// What a few bytes of a header can ask for: a machine of four billion CPUs, names beside each thread.
#[test]
fn a_header_stands_for_no_more_memory_than_it_needs() {
    let whole = small();
    let refused = |change: &dyn Fn(&mut trace::Header), why: &str| {
        let mut wrong = whole.clone();
        change(&mut wrong.header);
        let message = fault(&bytes(&wrong));
        assert!(message.contains(why), "{message}");
    };
    refused(&|header| header.cpus.cpus = u32::MAX, "a machine of");
    refused(&|header| header.cpus.cpus = 0, "a machine of");
    refused(&|header| header.cpus.llcs = 0, "a machine of");
    refused(
        &|header| header.programs[0].name = "x".repeat(4_097),
        "a name of more than 4096 bytes",
    );
    let many = |header: &mut trace::Header| {
        header.programs[0].name = "x".repeat(4_096);
        header.threads = vec![0; (256 << 20) / 4_096 + 1];
    };
    refused(&many, "bytes for its threads");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever is done to a file, reading it neither panics nor takes it for whole.
    #[test]
    fn mangled_files_are_refused(
        cut in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 0..4),
        grown in prop::collection::vec(any::<u8>(), 0..20),
        truncate in any::<bool>(),
    ) {
        let file = mangled_source();
        let mut mangled = file.clone();
        for (at, with) in &flips {
            let at = at.index(mangled.len());
            mangled[at] ^= with;
        }
        if truncate {
            mangled.truncate(cut.index(file.len()));
        }
        mangled.extend(&grown);
        if mangled != file {
            let message = fault(&mangled);
            prop_assert!(message.starts_with("x.trace: at byte "), "{}", message);
        }
    }

    /// The same behind a checksum that is right: blocks of any content.
    #[test]
    fn blocks_of_garbage_are_refused(kind in prop::sample::select(b"HRUEZ".to_vec()), content in prop::collection::vec(any::<u8>(), 0..200)) {
        let file = mangled_source();
        let mut mangled = file[..blocks(&file)[1]].to_vec();
        mangled.push(kind);
        mangled.extend((content.len() as u32).to_le_bytes());
        let mut summed = vec![kind];
        summed.extend(&content);
        mangled.extend(crc32fast::hash(&summed).to_le_bytes());
        mangled.extend(&content);
        let message = fault(&mangled);
        prop_assert!(message.starts_with("x.trace: at byte "), "{}", message);
    }
}

fn mangled_source() -> Vec<u8> {
    static FILE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    FILE.get_or_init(|| bytes(&small())).clone()
}
