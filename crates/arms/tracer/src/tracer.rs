//! Hooks in the kernel and the thread that empties their ring.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bpf::now;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, RingBufferBuilder};
use model::{Failure, Nanos};

use super::programs;
use super::quiet::QuietCpus;
use super::recording::{Recording, Seen};
use super::ring::Ring;
use super::skeleton::{OpenStagesSkel, StagesLinks, StagesSkel, StagesSkelBuilder};

/// How often the ring is emptied: it holds two million records.
const LOOK: Duration = Duration::from_millis(10);
/// So many looks are between two at what CPUs keep.
const KEPT_LOOKS: u32 = 3;
/// So many looks are between two counts of skipped calls.
const MISSED_LOOKS: u32 = 100;

/// The inode of the first PID namespace, the same in all kernels (PROC_PID_INIT_INO).
const FIRST_NAMESPACE: u32 = 0xEFFF_FFFC;

/// What to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The ports whose requests are to be stamped, if any: services by their places.
    pub ports: Vec<u16>,
    /// The CPUs whose holders to record.
    pub scheduling: Scheduling,
}

/// The CPUs whose holders to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Of none.
    Nowhere,
    /// Of all.
    Everywhere,
    /// Of these, as the kernel numbers them.
    On(Vec<usize>),
}

impl Scheduling {
    fn includes(&self, cpu: usize) -> bool {
        match self {
            Scheduling::Nowhere => false,
            Scheduling::Everywhere => true,
            Scheduling::On(cpus) => cpus.contains(&cpu),
        }
    }
}

/// The room of a tracer that goes on for days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of the ring in the kernel, a power of two.
    pub ring_bytes: u32,
    /// Records that wait to be fetched.
    pub records: usize,
}

/// Hooks that are in force until [`Tracer::stop`] or until it is dropped.
pub struct Tracer {
    stop: Arc<AtomicBool>,
    work: Option<JoinHandle<Result<(), Failure>>>,
    captured: Arc<Mutex<Recording>>,
    /// How much of it was asked for already.
    shown: AtomicUsize,
}

impl Tracer {
    /// Puts the hooks in force. Start it before the connections, so that it knows their first bytes.
    pub fn start(wanted: Wanted) -> Result<Tracer, Failure> {
        Tracer::begin(wanted, None)
    }

    /// The same for days: records that are not fetched in time are lost, and counted.
    pub fn start_within(wanted: Wanted, bounds: Bounds) -> Result<Tracer, Failure> {
        Tracer::begin(wanted, Some(bounds))
    }

    fn begin(wanted: Wanted, bounds: Option<Bounds>) -> Result<Tracer, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = channel();
        let (stopped, captured) = (Arc::clone(&stop), Arc::<Mutex<Recording>>::default());
        let capturing = Arc::clone(&captured);
        let work = thread::Builder::new()
            .name("stages".to_string())
            .spawn(move || record(&wanted, bounds, &stopped, &capturing, &ready))
            .map_err(|error| Failure::Run(format!("no thread for the tracer: {error}")))?;
        let tracer = Tracer { stop, work: Some(work), captured, shown: AtomicUsize::new(0) };
        // It hangs up without a word where it fails.
        match is_ready.recv() {
            Ok(()) => Ok(tracer),
            Err(_) => Err(tracer.stop().err().unwrap_or(Failure::Interrupted)),
        }
    }

    /// Takes the hooks out again and tells what they saw.
    pub fn stop(mut self) -> Result<Recording, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        let work = self.work.take().expect("only this takes it");
        work.join().map_err(|_| broken_off())??;
        let mut recording = std::mem::take(&mut *self.captured.lock().map_err(|_| broken_off())?);
        recording.finish();
        Ok(recording)
    }

    /// Takes what was captured since the last call, and tells how much was lost or skipped in all.
    pub fn take(&self) -> Recording {
        let mut captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = std::mem::take(&mut captured.seen);
        let (lost, missed) = (captured.lost, captured.missed);
        Recording { seen, lost, missed, ..Recording::default() }
    }

    /// Names the threads of records that were taken, as they are now; those that ended as they were.
    pub fn name(&self, records: &mut Recording) {
        let mut captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        let threads: BTreeSet<u32> = records.seen.iter().map(|one| one.thread).collect();
        threads.iter().for_each(|thread| captured.processes.look_up(*thread));
        let lives = captured.processes.lives.iter().filter(|(id, _)| threads.contains(id));
        records.processes.lives = lives.map(|(id, lives)| (*id, lives.clone())).collect();
        records.processes.ancestors = captured.processes.ancestors.clone();
        records.finish();
    }

    /// How many threads are known by name.
    pub fn names(&self) -> usize {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner).processes.lives.len()
    }

    /// Forgets the names of threads that are neither in a ring nor on their way there.
    pub fn forget_names(&self, ring: &Ring, fresh: &Recording) {
        let mut captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        let mut threads = ring.threads();
        threads.extend(fresh.seen.iter().chain(&captured.seen).map(|one| one.thread));
        let lives = &mut captured.processes.lives;
        lives.retain(|id, _| threads.contains(id));
        // A number may be another process's by now.
        captured.processes.ancestors.clear();
        let lives = &mut captured.processes.lives;
        let oldest = ring.begin().unwrap_or_default();
        lives.values_mut().for_each(|one| one.forget(oldest));
    }

    /// What was captured since the last call. What is missing is said at the end alone.
    pub fn recent(&self) -> Recording {
        let captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        let from = self.shown.swap(captured.seen.len(), Ordering::Relaxed);
        let (seen, processes) = (captured.seen[from..].to_vec(), captured.processes.clone());
        drop(captured);
        let mut recording = Recording { seen, processes, ..Recording::default() };
        recording.finish();
        recording
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.work.take().map(JoinHandle::join);
    }
}

fn broken_off() -> Failure {
    Failure::Run("the tracer broke off".to_string())
}

fn record(
    wanted: &Wanted,
    bounds: Option<Bounds>,
    stop: &AtomicBool,
    captured: &Mutex<Recording>,
    ready: &Sender<()>,
) -> Result<(), Failure> {
    bpf::privileged("tracing requests in the kernel")?;
    bpf::listen();
    let mut memory = MaybeUninit::uninit();
    let mut open = StagesSkelBuilder::default().open(&mut memory).map_err(refused)?;
    configure(&mut open, wanted)?;
    if let Some(Bounds { ring_bytes, .. }) = bounds {
        open.maps.ring.set_max_entries(ring_bytes).map_err(refused)?;
    }
    let mut skeleton = open.load().map_err(refused)?;
    let fresh = RefCell::new(Vec::<Seen>::new());
    let mut ring = RingBufferBuilder::new();
    let keep = |bytes: &[u8]| {
        fresh.borrow_mut().extend(Seen::decode_all(bytes));
        0
    };
    let map = &skeleton.maps.ring;
    ring.add(map, keep).map_err(refused)?;
    let ring = ring.build().map_err(refused)?;
    skeleton.attach().map_err(refused)?;
    // Hooks come into force one by one, and go so. Of an interrupt under way the beginning may be seen and
    // the end not, and it would hold its CPU for ever.
    let complete_from = now()?;
    let _ = ready.send(());
    let most = bounds.map_or(usize::MAX, |bounds| bounds.records);
    let mut quiet = QuietCpus::default();
    let mut overflowed = 0;
    let mut gather = |skeleton: &StagesSkel, kept: Option<Vec<Vec<Seen>>>, until: Option<Nanos>| {
        ring.consume().map_err(refused)?;
        quiet.filter(&mut fresh.borrow_mut());
        let look = |kept| if until.is_some() { quiet.finish(kept) } else { quiet.look(kept) };
        fresh.borrow_mut().extend(kept.map(look).unwrap_or_default());
        let is_before_end = |one: &Seen| until.is_none_or(|until| one.at < until);
        fresh.borrow_mut().retain(|one| one.at >= complete_from && is_before_end(one));
        let mut captured = captured.lock().map_err(|_| broken_off())?;
        // Threads are looked up while they live.
        fresh.borrow().iter().for_each(|one| captured.processes.note(one));
        captured.processes.look_again();
        let room = most.saturating_sub(captured.seen.len());
        overflowed += fresh.borrow().len().saturating_sub(room) as u64;
        fresh.borrow_mut().truncate(room);
        captured.seen.append(&mut fresh.borrow_mut());
        let lost = skeleton.maps.bss_data.as_ref().map_or(0, |bss| bss.lost);
        captured.lost = lost + overflowed;
        Ok::<(), Failure>(())
    };
    let mut looks = 0_u32;
    while !stop.load(Ordering::Relaxed) {
        let is_kept_due = looks.is_multiple_of(KEPT_LOOKS);
        gather(&skeleton, is_kept_due.then(|| kept(&skeleton)).transpose()?, None)?;
        if bounds.is_some() && looks.is_multiple_of(MISSED_LOOKS) {
            captured.lock().map_err(|_| broken_off())?.missed = missed(&skeleton)?;
        }
        looks = looks.wrapping_add(1);
        thread::sleep(LOOK);
    }
    // What CPUs keep must not go on its way while it is read.
    let until = now()?;
    skeleton.links = StagesLinks::default();
    gather(&skeleton, Some(kept(&skeleton)?), Some(until))?;
    captured.lock().map_err(|_| broken_off())?.missed = missed(&skeleton)?;
    Ok(())
}

/// Writes the constants and leaves out what is not wanted or not there.
fn configure(open: &mut OpenStagesSkel, wanted: &Wanted) -> Result<(), Failure> {
    let constants = open.maps.rodata_data.as_mut();
    let constants = constants
        .ok_or_else(|| Failure::Run("the BPF object lacks its constants: build it anew".into()))?;
    // As many as have numbers, so that none is taken for another.
    for (service, port) in (1..=u8::MAX).zip(&wanted.ports) {
        constants.services[usize::from(*port)] = service;
    }
    constants.pid_namespace = own_namespace()?;
    for (cpu, captured) in constants.traced_cpus.iter_mut().enumerate() {
        *captured = u8::from(wanted.scheduling.includes(cpu));
    }
    programs::choose(open, wanted)
}

/// The namespace whose numbers of threads this process knows (that of a container, say) by its inode; 0: the
/// kernel's own.
fn own_namespace() -> Result<u32, Failure> {
    let path = "/proc/self/ns/pid";
    let namespace = fs::metadata(path).map_err(|error| {
        Failure::Machine(format!("{path}: {error}: stages need /proc to know threads"))
    })?;
    Ok(u32::try_from(namespace.ino()).ok().filter(|inode| *inode != FIRST_NAMESPACE).unwrap_or(0))
}

/// How often the kernel skipped a hook, as it says of the programs that are loaded: to list all programs
/// would take CAP_SYS_ADMIN.
fn missed(skeleton: &StagesSkel) -> Result<u64, Failure> {
    let of = |program: libbpf_rs::Program<'_>| {
        let path = format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd());
        let text = fs::read_to_string(&path).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("recursion_misses:"));
        count.and_then(|count| count.trim().parse::<u64>().ok())
    };
    let all: Vec<u64> = skeleton.object().progs().filter_map(of).collect();
    match all.is_empty() {
        true => Err(Failure::Machine("/proc/self/fdinfo: no count of skipped hooks".to_string())),
        false => Ok(all.iter().sum()),
    }
}

/// What CPUs have not handed over yet, by CPU.
fn kept(skeleton: &StagesSkel) -> Result<Vec<Vec<Seen>>, Failure> {
    let own = skeleton.maps.kept.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
    let own = own.map_err(refused)?.unwrap_or_default();
    Ok(own.iter().map(|bytes| Seen::decode_kept(bytes).collect()).collect())
}

fn refused(error: libbpf_rs::Error) -> Failure {
    let reason = bpf::reason().unwrap_or_else(|| error.to_string());
    Failure::Machine(format!(
        "the kernel refuses the hooks that stages need, which are in Linux 6.1 and newer: {reason}"
    ))
}
