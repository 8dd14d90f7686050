//! The requests of a service, each with its excess split by source.

use model::{Failure, Nanos};
use queue::ideal_latencies;

use crate::amounts::Amounts;
use crate::apportion::apportion;
use crate::queueing::{Met, Queued, follow, stretches};
use crate::room::Room;
use crate::source::{Blame, Culprit, Source};
use crate::sweep::{Key, Scene, Subject, Tally};
use crate::timeline::Cursor;

/// A request that was answered, and where its time went.
///
/// `inherent` + all blames + `other` = latency - service, and latency - ideal = all blames + `other` -
/// `saved`, to the nanosecond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Index into the program's requests.
    pub request: u32,
    /// From the intended moment to the response.
    pub latency: Nanos,
    /// What the ideal queue would have made of it.
    pub ideal: Nanos,
    /// Its service time.
    pub service: Nanos,
    /// For how long its thread was at work for it; its service time at most.
    pub ran: u64,
    /// The wait for siblings that came first, as far as the ideal has it too.
    pub inherent: u64,
    /// The parts of its excess.
    pub blames: Vec<Blame>,
    /// What no event accounts for: on its way, switches beyond the amortised ones. Below zero where serving
    /// took less than its service time.
    pub other: i64,
    /// What it waited less for siblings than in the ideal: it passed some of them, or others waited in its
    /// stead.
    pub saved: u64,
}

impl Explained {
    /// What a source took.
    pub fn of(&self, source: Source) -> u64 {
        self.blames.iter().filter(|blame| blame.source == source).map(|blame| blame.ns).sum()
    }

    /// What all sources took.
    pub fn excess(&self) -> u64 {
        self.blames.iter().map(|blame| blame.ns).sum()
    }

    /// What the load took of it as it was seen, whatever its service time is said to be.
    pub fn load(&self) -> u64 {
        (self.ran + self.inherent).min(self.latency.0.saturating_sub(self.excess()))
    }

    /// Its latency if a source were gone. Without inversions no request passes another, so what was saved by
    /// passing goes with them; and without any source the ideal is left, which nothing undercuts that was
    /// above it.
    pub fn without(&self, source: Source) -> Nanos {
        let back = if source == Source::Inversion { self.saved } else { 0 };
        let left = Nanos((self.latency.0 + back).saturating_sub(self.of(source)));
        left.max(self.ideal.min(self.latency))
    }
}

/// Splits every request of a program whose thread is known, in the order of intended moments.
pub(crate) fn split(
    scene: &Scene,
    program: usize,
    room: &mut Room,
) -> Result<Vec<Explained>, Failure> {
    let slots = scene.slots(program);
    let ideals = ideal_latencies(scene.trace, program, slots.count() as u32);
    let queued = queued(scene, program, &ideals, room)?;
    let met = follow(scene, program, &slots, &queued, room)?;
    let requests = &scene.trace.programs[program].requests;
    let whole = |one: &Queued| {
        let request = &requests[one.subject.request as usize];
        let ideal = ideals[one.subject.request as usize];
        Whole {
            program: program as u32,
            request: one.subject.request,
            latency: request.latency(),
            ideal,
            service: request.service,
        }
    };
    Ok(queued.iter().zip(&met).map(|(one, met)| whole(one).split(&one.own, met)).collect())
}

/// The requests whose threads are known, with what those did with them.
fn queued(
    scene: &Scene,
    program: usize,
    ideals: &[Nanos],
    room: &mut Room,
) -> Result<Vec<Queued>, Failure> {
    let requests = &scene.trace.programs[program].requests;
    let subject = |(index, request): (usize, &model::trace::Request)| {
        let served = scene.serving.of(program, index).filter(|_| !request.is_lost())?;
        let ideal_wait = ideals[index].saturating_sub(request.service);
        let ideal_start = request.intended.saturating_add(ideal_wait);
        Some(Subject { program, request: index as u32, served, ideal_start })
    };
    let subjects: Vec<Subject> = requests.iter().enumerate().filter_map(subject).collect();
    // A cursor goes forward only.
    let head = |at: &usize| subjects[*at].head(&requests[subjects[*at].request as usize]);
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    order.sort_by_key(head);
    let mut cursor = Cursor::new(&scene.timeline, scene.node_of.len());
    let mut own = vec![Tally::default(); subjects.len()];
    for at in order {
        own[at] = scene.sweep(subjects[at], &mut cursor, room)?;
        room.take(own[at].words())?;
    }
    let ideal_end = |subject: &Subject| {
        subject.ideal_start.saturating_add(requests[subject.request as usize].service)
    };
    let queued = subjects.into_iter().zip(own);
    let queued =
        queued.map(|(subject, own)| Queued { ideal_end: ideal_end(&subject), subject, own });
    Ok(queued.collect())
}

/// What is to be divided.
struct Whole {
    program: u32,
    request: u32,
    latency: Nanos,
    ideal: Nanos,
    service: Nanos,
}

impl Whole {
    fn split(&self, own: &Tally, met: &Met) -> Explained {
        let (mut first, mut after, mut parts) = rounded(own);
        (first, after) = (first + met.first, after + met.after);
        met.blamed.iter().for_each(|(key, ns)| parts.add(*key, *ns));
        let ideal_wait = self.ideal.saturating_sub(self.service).0;
        let inherent = first.min(ideal_wait);
        if !induce(&mut parts, [first - inherent, after], met) && after > 0 {
            parts.add((Source::Inversion, Culprit::Program(self.program)), after);
        }
        for (key, ns) in stretches(own, self.service) {
            parts.add(key, ns);
        }
        let blames: Vec<Blame> = parts
            .into_list()
            .into_iter()
            .filter(|((source, _), ns)| *ns > 0 && *source != Source::Other)
            .map(|((source, culprit), ns)| Blame { source, culprit, ns })
            .collect();
        let accounted = inherent + blames.iter().map(|blame| blame.ns).sum::<u64>();
        Explained {
            request: self.request,
            latency: self.latency,
            ideal: self.ideal,
            service: self.service,
            ran: own.own.min(self.service.0),
            inherent,
            other: self.latency.0 as i64 - self.service.0 as i64 - accounted as i64,
            saved: ideal_wait - inherent,
            blames,
        }
    }
}

type Parts = Amounts<Key, u64>;

/// Parts of a nanosecond that weights are told by.
const PRECISION: f64 = 1024.0;

/// Parts of a nanosecond as whole ones: siblings that came first, those that came after the ideal, and by
/// source and culprit.
fn rounded(tally: &Tally) -> (u64, u64, Parts) {
    let weights: Vec<u128> = [tally.first, tally.after]
        .into_iter()
        .chain(tally.blamed.iter().map(|(_, parts)| *parts))
        .map(u128::from)
        .collect();
    let Some(whole) = apportion(tally.divided, &weights) else { return (0, 0, Parts::default()) };
    let keys = tally.blamed.iter().map(|(key, _)| *key);
    let parts: Vec<(Key, u64)> = keys.zip(whole[2..].iter().copied()).collect();
    (whole[0], whole[1], parts.into())
}

/// A wait for siblings beyond the ideal's comes from what had put the service behind its ideal when the
/// request came, and from work beyond service times since; if those come to less, from what held the request
/// itself up; of what is left is unknown. One for siblings that the ideal would not have met comes from all
/// of them. Says whether there was a culprit.
fn induce(parts: &mut Parts, [surplus, after]: [u64; 2], met: &Met) -> bool {
    let own: Vec<(Key, f64)> = parts.iter().map(|(key, ns)| (*key, *ns as f64)).collect();
    let all: Vec<(Key, f64)> = met.owed.iter().chain(&own).copied().collect();
    let sum = |of: &[(Key, f64)]| of.iter().map(|(_, ns)| ns).sum::<f64>().round() as u64;
    let owed = surplus.min(sum(&met.owed));
    let held = (surplus - owed).min(sum(&own));
    hand_out(parts, owed, &met.owed);
    hand_out(parts, held, &own);
    hand_out(parts, after, &all)
}

/// Divides nanoseconds like weights; false where there are none.
fn hand_out(parts: &mut Parts, ns: u64, weights: &[(Key, f64)]) -> bool {
    let shares: Vec<u128> = weights.iter().map(|(_, ns)| (ns * PRECISION) as u128).collect();
    let Some(shares) = apportion(ns, &shares) else { return false };
    weights.iter().zip(shares).for_each(|((key, _), share)| parts.add(*key, share));
    true
}
