//! The requests of a service, each with its excess split by source.

use model::Nanos;
use queue::ideal_latencies;

use crate::apportion::apportion;
use crate::source::{Blame, Culprit, Source};
use crate::sweep::{Scene, Subject, Tally, grow};
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
    /// The wait for siblings that came first, as far as the ideal has it too.
    pub inherent: u64,
    /// The parts of its excess.
    pub blames: Vec<Blame>,
    /// What no event accounts for: on its way, blocked, switches beyond the amortised ones. Below zero where
    /// serving took less than its service time.
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

    /// Its latency if a source were gone. Without inversions no request passes another, so what was saved by
    /// passing goes with them; without any source the ideal is left.
    pub fn without(&self, source: Source) -> Nanos {
        let back = if source == Source::Inversion { self.saved } else { 0 };
        Nanos((self.latency.0 + back).saturating_sub(self.of(source)))
    }
}

/// Splits every request of a program whose thread is known, in the order of intended moments.
pub(crate) fn split(scene: &Scene, program: usize) -> Vec<Explained> {
    let requests = &scene.trace.programs[program].requests;
    let ideals = ideal_latencies(scene.trace, program, scene.workers(program));
    let mut cursor = Cursor::new(&scene.timeline, scene.node_of.len());
    let mut explained: Vec<Explained> = Vec::with_capacity(requests.len());
    // Where in `explained` each request is.
    let mut place = vec![None; requests.len()];
    for (index, request) in requests.iter().enumerate() {
        let Some(served) = scene.serving.of(program, index).filter(|_| !request.is_lost()) else {
            continue;
        };
        let ideal_wait = ideals[index].saturating_sub(request.service);
        let ideal_start = request.intended.saturating_add(ideal_wait);
        let subject = Subject { program, request: index as u32, served, ideal_start };
        let tally = scene.sweep(subject, &mut cursor);
        let whole = Whole {
            program: program as u32,
            request: index as u32,
            latency: request.latency(),
            ideal: ideals[index],
            service: request.service,
        };
        let split = whole.split(&tally, |sibling| {
            place[sibling as usize].map_or(&[][..], |at: usize| &explained[at].blames[..])
        });
        place[index] = Some(explained.len());
        explained.push(split);
    }
    explained
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
    /// `blames` tells the blames of a sibling that came first.
    fn split<'a>(&self, tally: &Tally, blames: impl Fn(u32) -> &'a [Blame]) -> Explained {
        let (first, after, mut parts) = rounded(tally);
        let ideal_wait = self.ideal.saturating_sub(self.service).0;
        let inherent = first.min(ideal_wait);
        if !induce(&mut parts, first - inherent + after, tally, blames) && after > 0 {
            grow(&mut parts, (Source::Inversion, Culprit::Program(self.program)), after);
        }
        remote(&mut parts, tally, self.service);
        let blames: Vec<Blame> = parts
            .into_iter()
            .filter(|(_, ns)| *ns > 0)
            .map(|((source, culprit), ns)| Blame { source, culprit, ns })
            .collect();
        let accounted = inherent + blames.iter().map(|blame| blame.ns).sum::<u64>();
        Explained {
            request: self.request,
            latency: self.latency,
            ideal: self.ideal,
            service: self.service,
            inherent,
            other: self.latency.0 as i64 - self.service.0 as i64 - accounted as i64,
            saved: ideal_wait - inherent,
            blames,
        }
    }
}

type Parts = Vec<((Source, Culprit), u64)>;

/// Parts of a nanosecond as whole ones: siblings that came first, those that came after the ideal, and by
/// source and culprit.
fn rounded(tally: &Tally) -> (u64, u64, Parts) {
    let first: u64 = tally.first.iter().map(|(_, parts)| parts).sum();
    let weights: Vec<u128> = [first, tally.after]
        .into_iter()
        .chain(tally.blamed.iter().map(|(_, parts)| *parts))
        .map(u128::from)
        .collect();
    let Some(whole) = apportion(tally.divided, &weights) else { return (0, 0, Vec::new()) };
    let keys = tally.blamed.iter().map(|(key, _)| *key);
    (whole[0], whole[1], keys.zip(whole[2..].iter().copied()).collect())
}

/// A wait for siblings beyond the ideal's, and one for siblings that the ideal would not have met, come from
/// what held them or this request up: they are divided like their blames, each by how long it was waited for,
/// and like this request's own. A sibling's inversions are left out: a request that passes another does not
/// add to the work that is ahead of a third. Says whether there was a culprit.
fn induce<'a>(
    parts: &mut Parts,
    induced: u64,
    tally: &Tally,
    blames: impl Fn(u32) -> &'a [Blame],
) -> bool {
    let mut weights: Vec<((Source, Culprit), u128)> = Vec::new();
    let mut weigh = |key, weight: u128| match weights.iter_mut().find(|(known, _)| *known == key) {
        Some((_, sum)) => *sum += weight,
        None => weights.push((key, weight)),
    };
    let waited = tally.first.iter().map(|(_, parts)| parts).sum::<u64>().max(1);
    for (key, own) in &tally.blamed {
        weigh(*key, u128::from(*own) * u128::from(waited));
    }
    for (sibling, parts) in &tally.first {
        for blame in blames(*sibling).iter().filter(|b| b.source != Source::Inversion) {
            let key = (blame.source, blame.culprit);
            weigh(key, u128::from(*parts) * u128::from(tally.parts) * u128::from(blame.ns));
        }
    }
    let shares: Vec<u128> = weights.iter().map(|(_, weight)| *weight).collect();
    let Some(shares) = apportion(induced, &shares) else { return false };
    for ((key, _), share) in weights.into_iter().zip(shares) {
        grow(parts, key, share);
    }
    true
}

/// A service that took longer than its time did so for remote memory, as far as it ran away from it.
fn remote(parts: &mut Parts, tally: &Tally, service: Nanos) {
    let stretch = tally.own.saturating_sub(service.0).min(tally.remote);
    if stretch > 0 {
        grow(parts, (Source::Numa, Culprit::Remote), stretch);
    }
}
