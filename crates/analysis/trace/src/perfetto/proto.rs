//! The part of Perfetto's trace format that is written here (`protos/perfetto/trace/` of its sources): field
//! numbers are the format.
#![allow(missing_docs)]

/// What a packet holds.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Packet {
    #[prost(message, optional, tag = "1")]
    pub ftrace: Option<FtraceBundle>,
    #[prost(message, optional, tag = "2")]
    pub process_tree: Option<ProcessTree>,
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    pub sequence: u32,
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    #[prost(uint32, tag = "13")]
    pub sequence_flags: u32,
    #[prost(message, optional, tag = "60")]
    pub track: Option<Track>,
}

/// The whole file, to read it back.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub packets: Vec<Packet>,
}

/// The kernel's events of one CPU.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FtraceBundle {
    #[prost(uint32, optional, tag = "1")]
    pub cpu: Option<u32>,
    #[prost(message, repeated, tag = "2")]
    pub events: Vec<FtraceEvent>,
}

/// An event of the kernel.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FtraceEvent {
    #[prost(uint64, optional, tag = "1")]
    pub timestamp: Option<u64>,
    /// The thread in whose context it happened.
    #[prost(uint32, optional, tag = "2")]
    pub pid: Option<u32>,
    #[prost(message, optional, tag = "4")]
    pub switch: Option<SchedSwitch>,
    #[prost(message, optional, tag = "20")]
    pub waking: Option<SchedWaking>,
    #[prost(message, optional, tag = "491")]
    pub migrate: Option<SchedMigrate>,
}

/// A CPU took up another thread.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SchedSwitch {
    #[prost(string, tag = "1")]
    pub prev_comm: String,
    #[prost(int32, tag = "2")]
    pub prev_pid: i32,
    #[prost(int32, tag = "3")]
    pub prev_prio: i32,
    #[prost(int64, tag = "4")]
    pub prev_state: i64,
    #[prost(string, tag = "5")]
    pub next_comm: String,
    #[prost(int32, tag = "6")]
    pub next_pid: i32,
    #[prost(int32, tag = "7")]
    pub next_prio: i32,
}

/// A thread is woken up.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SchedWaking {
    #[prost(string, tag = "1")]
    pub comm: String,
    #[prost(int32, tag = "2")]
    pub pid: i32,
    #[prost(int32, tag = "3")]
    pub prio: i32,
    #[prost(int32, tag = "4")]
    pub success: i32,
    #[prost(int32, tag = "5")]
    pub target_cpu: i32,
}

/// A thread comes to another CPU.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SchedMigrate {
    #[prost(string, tag = "1")]
    pub comm: String,
    #[prost(int32, tag = "2")]
    pub pid: i32,
    #[prost(int32, tag = "3")]
    pub prio: i32,
    #[prost(int32, tag = "4")]
    pub orig_cpu: i32,
    #[prost(int32, tag = "5")]
    pub dest_cpu: i32,
}

/// All processes and threads.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessTree {
    #[prost(message, repeated, tag = "1")]
    pub processes: Vec<Process>,
    #[prost(message, repeated, tag = "2")]
    pub threads: Vec<Thread>,
}

/// A process.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Process {
    #[prost(int32, tag = "1")]
    pub pid: i32,
    #[prost(string, repeated, tag = "3")]
    pub cmdline: Vec<String>,
}

/// A thread.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Thread {
    #[prost(int32, tag = "1")]
    pub tid: i32,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int32, tag = "3")]
    pub tgid: i32,
}

/// A track: of a thread, a counter, or one that only has a name.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Track {
    #[prost(uint64, tag = "1")]
    pub uuid: u64,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadOfTrack>,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<Counter>,
}

/// The thread that a track is of.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ThreadOfTrack {
    #[prost(int32, tag = "1")]
    pub pid: i32,
    #[prost(int32, tag = "2")]
    pub tid: i32,
    #[prost(string, tag = "5")]
    pub name: String,
}

/// What a counter counts.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Counter {
    #[prost(string, tag = "6")]
    pub unit_name: String,
}

/// Something on a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub annotations: Vec<Annotation>,
    #[prost(enumeration = "EventKind", tag = "9")]
    pub kind: i32,
    #[prost(uint64, tag = "11")]
    pub track_uuid: u64,
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    pub value: Option<i64>,
    #[prost(double, optional, tag = "44")]
    pub double_value: Option<f64>,
}

/// What kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub enum EventKind {
    Unspecified = 0,
    Begin = 1,
    End = 2,
    Instant = 3,
    Counter = 4,
}

/// A fact beside an event.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Annotation {
    #[prost(uint64, optional, tag = "3")]
    pub uint: Option<u64>,
    #[prost(string, tag = "10")]
    pub name: String,
}
