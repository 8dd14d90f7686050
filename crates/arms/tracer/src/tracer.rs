//! Hooks in the kernel and the thread that empties their ring.

use std::cell::RefCell;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use libbpf_rs::btf::{Btf, types::Typedef};
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, Program, RingBufferBuilder};
use model::{Failure, Nanos};
use nix::time::ClockId;

use super::recording::{Recording, Seen};
use super::skeleton::{OpenStagesSkel, StagesLinks, StagesSkel, StagesSkelBuilder};

/// How often the ring is emptied: it holds two million records.
const LOOK: Duration = Duration::from_millis(10);

/// Since Linux 6.15. Without it the beginning of a write is not seen.
const WRITE: &str = "tcp_sendmsg_locked";
/// Tracepoints that a kernel may lack.
const OPTIONAL: [&str; 3] = ["local_timer_entry", "local_timer_exit", WRITE];

/// The inode of the first PID namespace, the same in all kernels (PROC_PID_INIT_INO).
const FIRST_NAMESPACE: u32 = 0xEFFF_FFFC;

/// What to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The port whose requests are to be stamped, if any.
    pub port: Option<u16>,
    /// Whether they are known to come over TCP: a kernel that does not see a write begin is refused then,
    /// since none of them would be complete.
    pub tcp: bool,
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
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = channel();
        let (stopped, captured) = (Arc::clone(&stop), Arc::<Mutex<Recording>>::default());
        let capturing = Arc::clone(&captured);
        let work = thread::Builder::new()
            .name("stages".to_string())
            .spawn(move || record(&wanted, &stopped, &capturing, &ready))
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
        recording.seen.sort_by_key(|one| one.at);
        Ok(recording)
    }

    /// What was captured since the last call. What is missing is said at the end alone.
    pub fn recent(&self) -> Recording {
        let captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        let from = self.shown.swap(captured.seen.len(), Ordering::Relaxed);
        let (mut seen, processes) = (captured.seen[from..].to_vec(), captured.processes.clone());
        drop(captured);
        seen.sort_by_key(|one| one.at);
        Recording { seen, processes, ..Recording::default() }
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
    stop: &AtomicBool,
    captured: &Mutex<Recording>,
    ready: &Sender<()>,
) -> Result<(), Failure> {
    bpf::privileged("tracing requests in the kernel")?;
    bpf::listen();
    let mut memory = MaybeUninit::uninit();
    let mut open = StagesSkelBuilder::default().open(&mut memory).map_err(refused)?;
    choose(&mut open, wanted)?;
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
    // Hooks come into force one by one. Of an interrupt under way the beginning may be seen and the end not,
    // and it would hold its CPU for ever.
    let complete_from = now()?;
    let _ = ready.send(());
    let gather = || {
        ring.consume().map_err(refused)?;
        fresh.borrow_mut().retain(|one| one.at >= complete_from);
        let mut captured = captured.lock().map_err(|_| broken_off())?;
        // Threads are looked up while they live.
        fresh.borrow().iter().for_each(|one| captured.processes.look_up(one.thread));
        captured.seen.append(&mut fresh.borrow_mut());
        Ok(())
    };
    while !stop.load(Ordering::Relaxed) {
        gather()?;
        thread::sleep(LOOK);
    }
    // What CPUs keep must not go on its way while it is read.
    skeleton.links = StagesLinks::default();
    fresh.borrow_mut().extend(kept(&skeleton)?);
    gather()?;
    let missed = missed(&skeleton)?;
    drop(ring);
    let lost = skeleton.maps.bss_data.as_ref().map_or(0, |bss| bss.lost);
    let mut captured = captured.lock().map_err(|_| broken_off())?;
    (captured.missed, captured.lost) = (missed, lost);
    Ok(())
}

/// Now, on the clock of records.
fn now() -> Result<Nanos, Failure> {
    let now = ClockId::CLOCK_MONOTONIC.now();
    let now = now.map_err(|error| Failure::Machine(format!("CLOCK_MONOTONIC: {error}")))?;
    Ok(Nanos(Duration::from(now).as_nanos() as u64))
}

/// Writes the constants and leaves out what is not wanted or not there.
fn choose(open: &mut OpenStagesSkel, wanted: &Wanted) -> Result<(), Failure> {
    let constants = open.maps.rodata_data.as_mut();
    let constants = constants
        .ok_or_else(|| Failure::Run("the BPF object lacks its constants: build it anew".into()))?;
    constants.server_port = wanted.port.unwrap_or(0);
    constants.pid_namespace = own_namespace()?;
    for (cpu, captured) in constants.traced_cpus.iter_mut().enumerate() {
        *captured = u8::from(wanted.scheduling.includes(cpu));
    }
    let kernel = Btf::from_vmlinux().map_err(|error| {
        Failure::Machine(format!(
            "stages need a kernel with BTF (/sys/kernel/btf/vmlinux): {error}"
        ))
    })?;
    for mut program in open.open_object_mut().progs_mut() {
        let section = program.section().to_string_lossy().into_owned();
        let hook = section.trim_start_matches("tp_btf/");
        let schedules = ["sched_", "softirq_", "irq_", "local_"];
        let is_scheduling = schedules.iter().any(|prefix| hook.starts_with(prefix));
        let is_there = kernel.type_by_name::<Typedef>(&format!("btf_trace_{hook}")).is_some();
        let is_wanted = match is_scheduling {
            true => wanted.scheduling != Scheduling::Nowhere,
            false => wanted.port.is_some(),
        };
        let may_lack = OPTIONAL.contains(&hook) && !(wanted.tcp && hook == WRITE);
        if is_wanted && !is_there && !may_lack {
            return Err(Failure::Machine(format!(
                "this kernel has no tracepoint {hook}: stages need Linux 6.12 or newer, over TCP 6.15"
            )));
        }
        program.set_autoload(is_there && is_wanted);
    }
    Ok(())
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

/// How often the kernel skipped a hook.
fn missed(skeleton: &StagesSkel) -> Result<u64, Failure> {
    let ids: Vec<u32> = skeleton
        .object()
        .progs()
        .filter_map(|program| Program::id_from_fd(program.as_fd()).ok())
        .collect();
    let ours = ProgInfoIter::default().filter(|info| ids.contains(&info.id));
    Ok(ours.map(|info| info.recursion_misses).sum())
}

/// What CPUs have not handed over yet.
fn kept(skeleton: &StagesSkel) -> Result<Vec<Seen>, Failure> {
    let own = skeleton.maps.kept.lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
    let own = own.map_err(refused)?.unwrap_or_default();
    Ok(own.iter().flat_map(|bytes| Seen::decode_kept(bytes)).collect())
}

fn refused(error: libbpf_rs::Error) -> Failure {
    let reason = bpf::reason().unwrap_or_else(|| error.to_string());
    Failure::Machine(format!(
        "the kernel refuses the hooks that stages need, which are in Linux 6.12 and newer: {reason}"
    ))
}
