//! Requests followed as they come, and the slow ones handed over to be explained.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use model::{Failure, Nanos};
use recorder::{Deliveries, Place, Store};
use tracer::{Bounds, Ended, Follower, Recording, Ring, Scheduling, Tracer, Wanted, now};

use super::Args;
use super::explainer::{Explainer, Fates};
use super::metrics::Metrics;
use super::samples::Whole;
use super::service::{Counts, Service};
use super::verdict::Slow;
use crate::terminal::interrupt_flag;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// What is older than this has been handed over by every CPU.
const HANDED_OVER: Nanos = Nanos::from_millis(120);
/// What a trace has before its request, for the mean of what the service does.
const BEFORE: Nanos = Nanos::from_millis(250);
/// What it has after it.
const AFTER: Nanos = Nanos::from_millis(5);
/// The most records of a trace.
const MOST_RECORDS: usize = 70_000;
/// Room in the kernel, whose pages the process has twice, and for what was captured since the last look.
const BOUNDS: Bounds = Bounds { ring_bytes: 4 << 20, records: 250_000 };
/// Records that may not be complete yet.
const MOST_FRESH: usize = 250_000;
const RING: u64 = 16 << 20;
/// So many looks are between two at the names of threads that are gone, and fewer where so many are known.
const NAMES: u64 = 200;
const NAMES_OF_MANY: u64 = 20;
const MANY_NAMES: usize = 8_192;
/// So many looks are between two at who listens.
const LISTENERS: u64 = 40;
/// So many requests are explained at the end, so that it is quick.
const AT_THE_END: usize = 2;

struct Daemon<'a> {
    args: &'a Args,
    services: Vec<Service>,
    explainer: Explainer,
    metrics: Option<Metrics>,
    tracer: Option<Tracer>,
    follower: Follower,
    ring: Ring,
    /// Records that are not surely complete yet.
    fresh: Recording,
    /// Records that found no room in the process.
    overflowed: u64,
    /// Losses until now, and the moment of the last one.
    lost: (u64, u64, Option<Nanos>),
}

/// Runs until it is stopped.
pub fn run(args: &Args) -> Result<(), Failure> {
    let ports = ports(args)?;
    let metrics = Metrics::open(args)?;
    let folder = args.keep.as_deref().expect("clap asks for it");
    let scheduling = Scheduling::Everywhere;
    // What is refused makes no folder.
    let tracer = Tracer::start_within(Wanted { ports: ports.clone(), scheduling }, BOUNDS)?;
    let store = Store::open(folder, args.keep_at_most << 20)?;
    let stop = interrupt_flag();
    let mut daemon = Daemon {
        args,
        services: ports.iter().map(|port| Service::new(*port, args.slower_than)).collect(),
        explainer: Explainer::start(store, &ports, args.worst as usize)?,
        metrics,
        tracer: Some(tracer),
        follower: Follower::default(),
        ring: Ring::new(RING),
        fresh: Recording::default(),
        overflowed: 0,
        lost: (0, 0, None),
    };
    daemon.greet(&folder.display().to_string());
    let until = args.duration.map(|span| now().map(|now| now.saturating_add(span))).transpose()?;
    let mut looks = 0_u64;
    while !stop.load(Ordering::Relaxed)
        && until.is_none_or(|until| now().is_ok_and(|now| now < until))
    {
        if looks.is_multiple_of(LISTENERS) {
            daemon.services.iter_mut().for_each(Service::look_for_listener);
        }
        thread::sleep(LOOK);
        daemon.look()?;
        looks += 1;
        daemon.forget_names(looks);
    }
    daemon.finish()
}

/// The ports that are asked for, each once.
fn ports(args: &Args) -> Result<Vec<u16>, Failure> {
    let mut ports = args.port.clone();
    if args.pid.is_some() {
        ports.push(measure::port_of(None, args.pid)?);
    }
    ports.sort_unstable();
    ports.dedup();
    match ports.len() <= usize::from(u8::MAX) {
        true => Ok(ports),
        false => {
            Err(Failure::Input(format!("--port: a recorder follows {} ports at most", u8::MAX)))
        }
    }
}

impl Daemon<'_> {
    fn greet(&self, folder: &str) {
        let learned = || "the p99.9 of the last minutes".to_string();
        let slow = self.args.slower_than.map_or_else(learned, |at| at.to_string());
        for service in &self.services {
            let port = service.port;
            anstream::eprintln!("port {port}: requests slower than {slow} are kept in {folder}");
        }
    }

    fn look(&mut self) -> Result<(), Failure> {
        let now = now()?;
        let ended = self.take_up(now, now.saturating_sub(HANDED_OVER), Follower::follow);
        self.sort_out(ended, now);
        self.hand_over();
        self.show();
        Ok(())
    }

    /// Takes up what was seen until a moment; the requests that have ended.
    fn take_up(
        &mut self,
        now: Nanos,
        until: Nanos,
        follow: fn(&mut Follower, &Recording, Nanos) -> Vec<Ended>,
    ) -> Vec<Ended> {
        let taken = self.tracer.as_ref().map(Tracer::take).unwrap_or_default();
        let (lost, missed) = (taken.lost, taken.missed);
        self.overflowed += self.fresh.append(taken, MOST_FRESH);
        let lost = lost + self.overflowed;
        if (lost, missed) != (self.lost.0, self.lost.1) {
            self.lost = (lost, missed, Some(now));
        }
        let records = self.fresh.split_before(until);
        let ended = follow(&mut self.follower, &records, until);
        self.ring.push(records);
        ended
    }

    fn sort_out(&mut self, ended: Vec<Ended>, now: Nanos) {
        let mut of_services = vec![Vec::new(); self.services.len()];
        for one in ended {
            of_services[usize::from(one.service)].push(one);
        }
        let both = self.services.iter_mut().zip(of_services);
        for (service, ended) in both {
            self.metrics.iter_mut().for_each(|metrics| metrics.count(service.port, &ended));
            service.take_up(ended, now);
        }
    }

    fn show(&mut self) {
        self.pass_on();
        if let Some(mut metrics) = self.metrics.take_if(|metrics| metrics.is_time()) {
            metrics.show(&self.services(), &self.whole());
            self.metrics = Some(metrics);
        }
    }

    /// Sends what was kept since the last time, where it goes somewhere.
    fn pass_on(&mut self) {
        for one in self.explainer.take_kept() {
            self.metrics.iter_mut().for_each(|metrics| metrics.keep(&one));
        }
    }

    fn services(&self) -> Vec<(&Service, Fates)> {
        self.services.iter().map(|one| (one, self.explainer.fates(one.port))).collect()
    }

    fn whole(&self) -> Whole {
        let Follower { unanswered, incomplete, .. } = self.follower;
        let (lost, skipped, _) = self.lost;
        Whole { lost, skipped, incomplete, unanswered, ring_bytes: self.ring.bytes() }
    }

    /// Hands the next slow request over where the last one is explained.
    fn hand_over(&mut self) {
        while self.explainer.is_idle() {
            // The one that has waited longest, so that no service waits for another one's.
            let waiting = self.services.iter().enumerate().filter_map(|(at, service)| {
                service.pending.front().map(|(one, _)| (one.stages.transmitted, at))
            });
            let Some((_, at)) = waiting.min() else { return };
            let Some((one, threshold)) = self.services[at].pending.pop_front() else { return };
            self.keep(at, one, threshold);
        }
    }

    fn keep(&mut self, at: usize, one: Ended, threshold: Nanos) {
        let Service { port, counts, .. } = &mut self.services[at];
        let place = self.explainer.place(*port, &one);
        match place {
            Place::SameEvent => counts.same_event += 1,
            Place::Full => counts.less_slow += 1,
            place => {
                let (port, lost_at) = (*port, self.lost.2);
                let (cut, is_given) = (self.cut(&one), self.args.slower_than.is_some());
                let slow = Slow { one, place, threshold, is_given, port, cut, lost_at };
                self.explainer.keep(Box::new(slow));
            }
        }
    }

    /// What was seen of a request's time, with the names of threads.
    fn cut(&self, one: &Ended) -> Recording {
        let from = one.stages.arrived.saturating_sub(BEFORE);
        let until = one.stages.transmitted.saturating_add(AFTER);
        let mut cut = self.ring.cut(from, until, MOST_RECORDS);
        cut.of_service(one.service);
        self.tracer.iter().for_each(|tracer| tracer.name(&mut cut));
        cut
    }

    /// Forgets the names of threads that are gone, where it is time.
    fn forget_names(&self, looks: u64) {
        let Some(tracer) = &self.tracer else { return };
        let are_many = tracer.names() > MANY_NAMES;
        if looks.is_multiple_of(if are_many { NAMES_OF_MANY } else { NAMES }) {
            tracer.forget_names(&self.ring, &self.fresh);
        }
    }

    /// Takes the hooks out, and keeps what is pending.
    fn finish(mut self) -> Result<(), Failure> {
        let now = now()?;
        let ended = self.take_up(now, now, Follower::finish);
        self.sort_out(ended, now);
        let mut pending: Vec<(usize, Ended, Nanos)> = Vec::new();
        for (at, service) in self.services.iter_mut().enumerate() {
            pending.extend(service.pending.drain(..).map(|(one, threshold)| (at, one, threshold)));
        }
        pending.sort_by_key(|(_, one, _)| std::cmp::Reverse(one.stages.latency()));
        let late = pending.split_off(pending.len().min(AT_THE_END));
        late.iter().for_each(|(at, ..)| self.services[*at].counts.late += 1);
        pending.into_iter().for_each(|(at, one, threshold)| self.keep(at, one, threshold));
        drop(self.tracer.take());
        self.explainer.finish();
        self.services.iter().try_for_each(|service| self.summary(service))?;
        let Whole { lost, skipped, incomplete, unanswered, ring_bytes } = self.whole();
        stdout::line(format_args!(
            "not seen whole: {incomplete} requests, {unanswered} unanswered, {lost} records lost, {skipped} calls of hooks skipped; ring {} MiB",
            ring_bytes >> 20
        ))?;
        self.send_the_rest()
    }

    fn send_the_rest(mut self) -> Result<(), Failure> {
        self.pass_on();
        let Some(metrics) = self.metrics.take() else { return Ok(()) };
        let all = metrics.finish(&self.services(), &self.whole());
        all.into_iter().try_for_each(|(signal, Deliveries { offered, sent, .. })| {
            let (signal, left) = (signal.name(), offered - sent);
            stdout::line(format_args!("otlp {signal}: {sent} messages sent, {left} not"))
        })
    }

    fn summary(&self, service: &Service) -> Result<(), Failure> {
        let Counts { requests, slow, same_event, less_slow, late } = service.counts;
        let port = service.port;
        let Fates { kept, replaced, unwritten, rotated } = self.explainer.fates(port);
        stdout::line(format_args!(
            "port {port}: {requests} requests, {slow} slow; {kept} kept, {same_event} of the same events, {less_slow} less slow than those of their minute, {replaced} replaced by slower ones, {late} not explained in time, {unwritten} not written, {rotated} rotated out"
        ))
    }
}
