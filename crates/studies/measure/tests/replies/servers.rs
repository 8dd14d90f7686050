//! Measurements of servers that answer as dice fall: every request is answered or lost for a reason, and
//! counted once.

use std::collections::BTreeSet;
use std::sync::Arc;

use generator::{Limits, LiveCounters, Loss};
use measure::{Load, Measurement, Setup, measure};
use model::law::Law;
use model::{Nanos, Silent};

use crate::server::serve;
use crate::spoken::{ALL, Spoken};
use crate::{number, seed};

/// Replies of one server in the tests' own time.
const REPLIES: u64 = 300;
const CONNECTIONS: u32 = 32;
/// What is silent is given up soon, or every connection would be held before long.
const IMPATIENT: Nanos = Nanos::from_millis(30);
const PATIENT: Nanos = Nanos::from_secs(20);

fn measured(spoken: Spoken, seed: Option<u64>) -> (Measurement, Arc<LiveCounters>) {
    let target = spoken.at(serve(spoken, seed));
    let timeout = if seed.is_some() { IMPATIENT } else { PATIENT };
    let limits = Limits { timeout, requests_per_connection: None };
    let cpus = vec![host::cpus().first().map_or(0, |cpu| cpu.id)];
    let setup = Setup { connections: CONNECTIONS, cpus, limits, socket_timestamps: false };
    let replies = number("RG_REPLIES", 0).div_ceil(ALL.len() as u64).clamp(REPLIES, 5_000);
    let load = Load {
        rate_per_s: 600.0,
        law: Law::Exponential,
        stamps: None,
        warm_up: Nanos::ZERO,
        duration: Nanos::from_millis(1_000 * replies / 600),
        seed: 1,
        outlier_threshold: Nanos::from_millis(10),
    };
    let live = Arc::new(LiveCounters::default());
    let measured = measure(&target, &setup, &load, None, Some(Arc::clone(&live)), &Silent);
    (measured.expect("a measurement"), live)
}

/// The names of the losses, once all is counted.
fn accounted(spoken: Spoken, seed: Option<u64>) -> BTreeSet<&'static str> {
    let (measured, live) = measured(spoken, seed);
    let name = spoken.name();
    let due = measured.trace.programs[0].requests.len();
    assert_eq!(measured.records.len(), due, "{name}: no request is lost from sight");
    let answered = measured.records.iter().filter(|r| r.received != Nanos::NEVER).count();
    let is_either = |record: &generator::Record| {
        record.loss.is_some() == (record.received == Nanos::NEVER) && record.ready != Nanos::NEVER
    };
    assert!(measured.records.iter().all(is_either), "{name}: answered, or lost for a reason");
    let lost: u64 = measured.losses.values().sum();
    assert_eq!(answered as u64 + lost, due as u64, "{name}: counted once");
    let seen = live.total();
    let unsent = measured.losses.get(Loss::Unsent.word()).copied().unwrap_or(0);
    assert_eq!(seen.answered(), answered as u64, "{name}: while it ran");
    assert!(seen.lost <= lost && seen.sent + unsent <= due as u64, "{name}: {seen:?}");
    measured.losses.into_keys().collect()
}

#[test]
fn every_request_to_a_server_of_whims_is_counted_once() {
    let mut seen = BTreeSet::new();
    for spoken in ALL {
        seen.extend(accounted(spoken, Some(seed())));
        // The control: the same server without whims.
        assert_eq!(accounted(spoken, None), BTreeSet::new(), "{}", spoken.name());
    }
    let whims = ["closed", "garbage", "half", "reset", "silent"];
    assert!(whims.iter().all(|whim| seen.contains(whim)), "{seen:?}");
}
