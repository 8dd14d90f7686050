//! Requests followed as they come, and the slow ones kept.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, SystemTime};

use model::trace::Window;
use model::{Failure, Nanos};
use recorder::{KEPT_SCHEMA, KeptRequest, Place, Put, Selection, Store, Threshold, Told};
use report::stages::SERVER_STAGES;
use trace::Recorded;
use tracer::{Bounds, Ended, Follower, Recording, Ring, Scheduling, Tracer, Wanted, now, snapshot};

use super::Args;
use crate::stages::ran::Ran;
use crate::stages::recorded;
use crate::terminal::interrupt_flag;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// What is older than this has been handed over by every CPU.
const HANDED_OVER: Nanos = Nanos::from_millis(250);
/// What a trace has before its request, for the mean of what the service does.
const BEFORE: Nanos = Nanos::from_millis(250);
/// The least of it without which no verdict is given.
const LEAST_BEFORE: Nanos = Nanos::from_millis(50);
/// What it has after it.
const AFTER: Nanos = Nanos::from_millis(5);
/// The most records of a trace.
const MOST_RECORDS: usize = 200_000;
/// Room in the kernel and in the process.
const BOUNDS: Bounds = Bounds { ring_bytes: 16 << 20, records: 400_000 };
const RING: u64 = 32 << 20;
/// So many looks are between two at the names of threads that are gone.
const NAMES: u64 = 100;
/// Events that are explained at the end, so that it is quick.
const AT_THE_END: usize = 2;

/// The greatest nice value.
const NICEST: i32 = 19;

struct Daemon<'a> {
    port: u16,
    args: &'a Args,
    threshold: Threshold,
    selection: Selection,
    store: Store,
    tracer: Option<Tracer>,
    follower: Follower,
    ring: Ring,
    /// Records that are not surely complete yet.
    fresh: Recording,
    /// Losses until now, and the moment of the last one.
    lost: (u64, u64, Option<Nanos>),
    is_disk_full: bool,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    requests: u64,
    slow: u64,
    kept: u64,
    same_event: u64,
    less_slow: u64,
    unwritten: u64,
    rotated: u64,
}

/// Runs until it is stopped.
pub fn run(args: &Args) -> Result<(), Failure> {
    let port = measure::port_of(args.port, args.pid)?;
    measure::check_listening(port)?;
    let folder = args.keep.as_deref().expect("clap asks for it");
    let wanted = Wanted { port: Some(port), tcp: true, scheduling: Scheduling::Everywhere };
    // What is refused makes no folder.
    let tracer = Tracer::start_within(wanted, BOUNDS)?;
    let store = Store::open(folder, args.keep_at_most << 20)?;
    let stop = interrupt_flag();
    let mut daemon = Daemon {
        port,
        args,
        threshold: args.slower_than.map_or_else(Threshold::learned, Threshold::Fixed),
        selection: Selection::new(args.worst as usize),
        store,
        tracer: Some(tracer),
        follower: Follower::default(),
        ring: Ring::new(RING),
        fresh: Recording::default(),
        lost: (0, 0, None),
        is_disk_full: false,
        counts: Counts::default(),
    };
    // Explaining must not be what makes requests slow: this thread alone steps back, not the tracer's.
    let _ = rustix::process::nice(NICEST);
    let slow =
        args.slower_than.map_or("the p99.9 of the last minutes".to_string(), |at| at.to_string());
    anstream::eprintln!(
        "port {port}: requests slower than {slow} are kept in {}",
        folder.display()
    );
    let until = args.duration.map(|span| now().map(|now| now.saturating_add(span))).transpose()?;
    let mut looks = 0_u64;
    while !stop.load(Ordering::Relaxed)
        && until.is_none_or(|until| now().is_ok_and(|now| now < until))
    {
        thread::sleep(LOOK);
        daemon.look()?;
        looks += 1;
        if looks.is_multiple_of(NAMES) {
            daemon
                .tracer
                .iter()
                .for_each(|tracer| tracer.forget_names(&daemon.ring, &daemon.fresh));
        }
    }
    daemon.finish()
}

impl Daemon<'_> {
    fn look(&mut self) -> Result<(), Failure> {
        let now = now()?;
        let until = now.saturating_sub(HANDED_OVER);
        let ended = self.take_up(now, until, Follower::follow);
        self.consider(ended, now, usize::MAX)
    }

    /// Takes up what was seen until a moment; the requests that have ended.
    fn take_up(
        &mut self,
        now: Nanos,
        until: Nanos,
        follow: fn(&mut Follower, &Recording, Nanos) -> Vec<Ended>,
    ) -> Vec<Ended> {
        let taken = self.tracer.as_ref().map(Tracer::take).unwrap_or_default();
        self.count_losses(&taken, now);
        self.fresh.append(taken);
        let records = self.fresh.split_before(until);
        let ended = follow(&mut self.follower, &records, until);
        self.ring.push(records);
        ended
    }

    fn count_losses(&mut self, taken: &Recording, now: Nanos) {
        if (taken.lost, taken.missed) != (self.lost.0, self.lost.1) {
            self.lost = (taken.lost, taken.missed, Some(now));
        }
    }

    fn consider(&mut self, ended: Vec<Ended>, now: Nanos, most: usize) -> Result<(), Failure> {
        self.counts.requests += ended.len() as u64;
        let threshold = self.threshold.now();
        self.threshold.learn(now, ended.iter().map(|one| one.stages.latency()));
        let Some(threshold) = threshold else { return Ok(()) };
        let mut slow: Vec<Ended> =
            ended.into_iter().filter(|one| one.stages.latency() > threshold).collect();
        self.counts.slow += slow.len() as u64;
        slow.sort_by_key(|one| one.stages.arrived);
        let mut explained = 0;
        for one in worst_of_events(slow, &mut self.counts.same_event) {
            let place = self.selection.place(one.stages.arrived, one.stages.transmitted);
            match place {
                Place::SameEvent => self.counts.same_event += 1,
                Place::Full => self.counts.less_slow += 1,
                _ if explained == most => self.counts.less_slow += 1,
                place => {
                    explained += 1;
                    self.keep(&one, threshold, &place)?;
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, one: &Ended, threshold: Nanos, place: &Place) -> Result<(), Failure> {
        let Some((kept, trace)) = self.explain(one, threshold)? else {
            self.counts.unwritten += 1;
            return Ok(());
        };
        let latency = Nanos(kept.latency_ns);
        // Only its name is the wall clock's, which is read with the other one: explaining took a while.
        let ago = now()?.saturating_sub(one.stages.transmitted);
        let at = SystemTime::now() - Duration::from_nanos(ago.0);
        match self.store.put(at, kept.clone(), &trace) {
            Ok(Put::Kept(id, gone)) => {
                if let Place::Of(other) = place {
                    self.store.remove(other);
                    self.counts.kept -= 1;
                }
                (self.is_disk_full, self.counts.rotated) = (false, self.counts.rotated + gone);
                self.counts.kept += 1;
                anstream::eprintln!("{}", super::line(&KeptRequest { id: id.clone(), ..kept }));
                self.selection.keep(latency, place, id);
            }
            Ok(Put::TooLarge) => self.counts.unwritten += 1,
            Err(error) => {
                self.counts.unwritten += 1;
                if !std::mem::replace(&mut self.is_disk_full, true) {
                    anstream::eprintln!("rearguard: requests cannot be kept: {error}; it goes on");
                }
            }
        }
        Ok(())
    }

    /// What there is to keep of a request; `None` where the ring no longer has it.
    fn explain(
        &self,
        one: &Ended,
        threshold: Nanos,
    ) -> Result<Option<(KeptRequest, Vec<u8>)>, Failure> {
        let stages = one.stages;
        let from = stages.arrived.saturating_sub(BEFORE);
        let mut cut = self.ring.cut(from, stages.transmitted.saturating_add(AFTER), MOST_RECORDS);
        self.tracer.iter().for_each(|tracer| tracer.name(&mut cut));
        let begin = cut.begin().unwrap_or(Nanos::NEVER);
        let Some(mut observed) = snapshot(&cut) else { return Ok(None) };
        let arrived = stages.arrived.saturating_sub(begin);
        observed.trace.window = Window { start: arrived, end: arrived + Nanos(1) };
        let recorded = recorded(self.port, &observed);
        let mut trace = Vec::new();
        trace::write(&recorded.header, &recorded.trace, &mut trace)
            .map_err(|error| Failure::Run(error.to_string()))?;
        let moments = stages.moments();
        let spans = moments.windows(2).map(|pair| pair[1] - pair[0]).zip(SERVER_STAGES);
        let longest = spans.max_by_key(|(span, _)| *span);
        let is_whole = begin.saturating_add(LEAST_BEFORE) <= stages.arrived;
        let told = match self.lost.2.filter(|at| *at >= begin) {
            Some(_) => Told::cannot("records of this time are missing"),
            None if !is_whole => Told::cannot("the ring does not hold all that was before it"),
            None => told(&recorded, stages.latency()),
        };
        let kept = KeptRequest {
            schema: KEPT_SCHEMA.to_string(),
            service: observed.programs[0].name.clone(),
            port: self.port,
            latency_ns: stages.latency().0,
            threshold_ns: threshold.0,
            threshold: if self.args.slower_than.is_some() { "given" } else { "learned" }
                .to_string(),
            stage: longest.map_or(String::new(), |(_, names)| names.0.to_string()),
            stage_ns: longest.map_or(0, |(span, _)| span.0),
            told,
            ..KeptRequest::default()
        };
        Ok(Some((kept, trace)))
    }

    /// Takes the hooks out, and keeps what is pending.
    fn finish(mut self) -> Result<(), Failure> {
        let now = now()?;
        let ended = self.take_up(now, now, Follower::finish);
        self.consider(ended, now, AT_THE_END)?;
        drop(self.tracer.take());
        let Counts { requests, slow, kept, same_event, less_slow, unwritten, rotated } =
            self.counts;
        let Follower { unanswered, incomplete, .. } = self.follower;
        let (lost, skipped, _) = self.lost;
        stdout::line(format_args!(
            "{requests} requests, {slow} slow; {kept} kept, {same_event} of the same events, {less_slow} less slow than those of their minute, {unwritten} not written, {rotated} rotated out"
        ))?;
        stdout::line(format_args!(
            "not seen whole: {incomplete} requests, {unanswered} unanswered, {lost} records lost, {skipped} calls of hooks skipped; ring {} MiB",
            self.ring.bytes() >> 20
        ))
    }
}

/// The slowest of those that overlap, of requests in the order of their begin.
fn worst_of_events(slow: Vec<Ended>, same_event: &mut u64) -> Vec<Ended> {
    let mut worst: Vec<Ended> = Vec::new();
    let mut until = Nanos::ZERO;
    for one in slow {
        match worst.last_mut().filter(|_| one.stages.arrived < until) {
            Some(last) => {
                *same_event += 1;
                if one.stages.latency() > last.stages.latency() {
                    *last = one;
                }
            }
            None => worst.push(one),
        }
        until = until.max(one.stages.transmitted);
    }
    worst
}

/// The verdict on the one request of a trace's window with this latency.
fn told(recorded: &Recorded, latency: Nanos) -> Told {
    let Ok(document) = crate::explain::document(recorded) else {
        return Told::cannot("no event names the thread that served it");
    };
    let service = document.services.first().filter(|one| one.slow_ns.latency == latency.0 as f64);
    let slow = service.and_then(|service| Some((service, service.slow.first()?)));
    let Some((service, slow)) = slow else {
        return Told::cannot("its moments are not to be found again");
    };
    let trace = &recorded.trace;
    let ran = Ran::new(trace.threads.len(), trace.events.as_deref().unwrap_or_default());
    let thread = trace.events.iter().flatten().find_map(|event| match event.what {
        model::event::What::Start { thread, request }
            if u64::from(request) == slow.request && trace.threads[thread.index()].program == 0 =>
        {
            Some(thread)
        }
        _ => None,
    });
    let span =
        thread.map(|thread| ran.between(thread, Nanos(slow.started_ns), Nanos(slow.completed_ns)));
    Told::of(service, span.unwrap_or_default())
}
