//! A trace for Perfetto (ui.perfetto.dev, `trace_processor`), in its own binary format.
//!
//! Scheduling events become the kernel's own (`sched_switch`, `sched_waking`), so that Perfetto shows CPUs
//! and the states of threads as it does for Linux. Requests become slices: one for each from its intended
//! time to its response, its stages inside; and one on the thread that serves it.

mod machine;
pub mod proto;
mod requests;
mod sched;
mod usage;

use std::collections::BTreeMap;

use model::ThreadId;
use prost::Message;

use crate::Recorded;
use crate::names::Names;
use proto::{
    Annotation, Counter, EventKind, Packet, Process, ProcessTree, Thread, ThreadOfTrack, Track,
    TrackEvent,
};

/// Packets belong to one sequence, which has begun afresh (`SEQ_INCREMENTAL_STATE_CLEARED`).
const SEQUENCE: u32 = 1;
const CLEARED: u32 = 1;

/// The trace as a file for Perfetto.
pub fn encode(recorded: &Recorded) -> Vec<u8> {
    let mut out = Out::new(recorded);
    out.processes();
    sched::encode(&mut out);
    machine::encode(&mut out);
    requests::encode(&mut out);
    usage::encode(&mut out);
    out.bytes
}

/// A file in the making.
struct Out<'a> {
    recorded: &'a Recorded,
    names: Names,
    /// The first thread of each program: its id is the process's.
    leaders: Vec<i32>,
    last_uuid: u64,
    /// Tracks of threads.
    tracks: BTreeMap<ThreadId, u64>,
    bytes: Vec<u8>,
}

/// Thread ids from 1 on: 0 is the idle thread.
fn tid(thread: ThreadId) -> i32 {
    thread.0 as i32 + 1
}

impl<'a> Out<'a> {
    fn new(recorded: &'a Recorded) -> Out<'a> {
        let header = &recorded.header;
        let leader = |program| header.threads.iter().position(|of| *of == program);
        let programs = 0..header.programs.len();
        // A program without threads would share the id of none.
        let beyond = header.threads.len();
        let id = |program| leader(program).unwrap_or(beyond + program) as i32 + 1;
        Out {
            recorded,
            names: Names::new(header),
            leaders: programs.map(id).collect(),
            last_uuid: 0,
            tracks: BTreeMap::new(),
            bytes: Vec::new(),
        }
    }

    fn packet(&mut self, packet: &Packet) {
        // A file is one message whose only field is a repeated packet: each can be appended by itself.
        const KEY: u8 = 1 << 3 | 2;
        self.bytes.push(KEY);
        let packet = Packet { sequence: SEQUENCE, ..packet.clone() };
        self.bytes.extend(packet.encode_length_delimited_to_vec());
    }

    fn processes(&mut self) {
        let header = &self.recorded.header;
        let process = |(program, pid): (&crate::header::Program, &i32)| Process {
            pid: *pid,
            cmdline: vec![program.name.clone()],
        };
        let thread = |(index, program): (usize, &usize)| {
            let thread = ThreadId(index as u32);
            let name = self.names.of(thread).to_string();
            Thread { tid: tid(thread), name, tgid: self.leaders[*program] }
        };
        let tree = ProcessTree {
            processes: header.programs.iter().zip(&self.leaders).map(process).collect(),
            threads: header.threads.iter().enumerate().map(thread).collect(),
        };
        let first = Packet { sequence_flags: CLEARED, ..Packet::default() };
        self.packet(&Packet { timestamp: Some(0), process_tree: Some(tree), ..first });
    }

    fn track(&mut self, track: Track) -> u64 {
        self.last_uuid += 1;
        let track = Track { uuid: self.last_uuid, ..track };
        self.packet(&Packet { track: Some(track), ..Packet::default() });
        self.last_uuid
    }

    /// The track of a thread.
    fn thread_track(&mut self, thread: ThreadId) -> u64 {
        if let Some(uuid) = self.tracks.get(&thread) {
            return *uuid;
        }
        let pid = self.leaders[self.recorded.header.threads[thread.index()]];
        let name = self.names.of(thread).to_string();
        let of = ThreadOfTrack { pid, tid: tid(thread), name };
        let uuid = self.track(Track { thread: Some(of), ..Track::default() });
        self.tracks.insert(thread, uuid);
        uuid
    }

    fn counter(&mut self, name: &str, unit_name: &str) -> u64 {
        let counter = Some(Counter { unit_name: unit_name.to_string() });
        self.track(Track { name: name.to_string(), counter, ..Track::default() })
    }

    fn event(&mut self, at_ns: u64, event: TrackEvent) {
        self.packet(&Packet {
            timestamp: Some(at_ns),
            track_event: Some(event),
            ..Packet::default()
        });
    }

    fn begin(&mut self, track_uuid: u64, at_ns: u64, name: &str, facts: &[(&str, u64)]) {
        let fact =
            |(name, value): &(&str, u64)| Annotation { name: name.to_string(), uint: Some(*value) };
        self.event(
            at_ns,
            TrackEvent {
                kind: EventKind::Begin.into(),
                track_uuid,
                name: Some(name.to_string()),
                annotations: facts.iter().map(fact).collect(),
                ..TrackEvent::default()
            },
        );
    }

    fn instant(&mut self, track_uuid: u64, at_ns: u64, name: &str) {
        let kind = EventKind::Instant.into();
        let name = Some(name.to_string());
        self.event(at_ns, TrackEvent { kind, track_uuid, name, ..TrackEvent::default() });
    }

    fn end(&mut self, track_uuid: u64, at_ns: u64) {
        let kind = EventKind::End.into();
        self.event(at_ns, TrackEvent { kind, track_uuid, ..TrackEvent::default() });
    }

    fn value(&mut self, track_uuid: u64, at_ns: u64, value: i64) {
        let kind = EventKind::Counter.into();
        let value = Some(value);
        self.event(at_ns, TrackEvent { kind, track_uuid, value, ..TrackEvent::default() });
    }
}
