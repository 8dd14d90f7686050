//! A server that is frozen for 200 ms: does the reported tail say so?

use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use host::HostArm;
use libtest_mimic::{Failed, Trial};
use model::scenario::Architecture;
use model::trace::{Request, Trace};
use model::{Arm, Events, Failure, Nanos, PolicySpec, Silent};
use nix::sys::signal::Signal::{SIGCONT, SIGSTOP};

use crate::fixtures::{calmest_policy, patiently, scenario, service, trial};
use crate::ideal;
use crate::processes::{signal, wait_for_programs};

const FREEZE: Duration = Duration::from_millis(200);

/// So few connections that those which are under way during the freeze are less than 1% of all: a client that
/// counts from the moment of sending sees nothing at p99.
const CONNECTIONS: u32 = 16;

pub fn trials() -> Vec<Trial> {
    vec![trial("a_frozen_server_shows_at_p99_as_the_intended_times_say", frozen_server)]
}

fn frozen_server() -> Result<(), Failed> {
    let run = patiently(|seed| run_with_freeze(&calmest_policy(), seed));
    let (trace, frozen) = run.map_err(|failure| failure.to_string())?;
    let requests = &trace.programs[0].requests;
    let gap = longest_silence(requests);
    let silent = Duration::from_nanos((gap.1 - gap.0).0);
    assert!(silent > frozen * 3 / 4, "frozen for {frozen:?}, silent for {silent:?}");

    let caught: Vec<_> =
        requests.iter().filter(|r| gap.0 <= r.intended && r.intended < gap.1).collect();
    assert!(caught.len() > 50, "{} requests met the freeze", caught.len());
    for request in caught {
        let remaining = gap.1 - request.intended;
        assert!(request.latency() >= remaining, "{request:?} was answered during the freeze");
    }

    let measured = p99(&trace, requests.iter().map(Request::latency));
    let expected = p99(&trace, ideal::latencies(requests, gap));
    let ratio = measured / expected;
    assert!((0.85..1.25).contains(&ratio), "p99 {measured} s, by intended times {expected} s");

    // The control: the same requests, counted from the moment of sending, as a closed loop does.
    let from_sending = p99(&trace, requests.iter().map(|r| r.received.saturating_sub(r.sent)));
    assert!(from_sending < measured / 3.0, "p99 {measured} s, {from_sending} s from sending");
    Ok(())
}

/// The trace of a run in whose middle the server was stopped, and for how long at least.
fn run_with_freeze(policy: &PolicySpec, seed: u64) -> Result<(Trace, Duration), Failure> {
    let programs = vec![service(Architecture::ThreadPerConnection, CONNECTIONS, 0.3)];
    let scenario = scenario(programs, Nanos::from_secs(4));
    thread::scope(|scope| {
        let running = scope
            .spawn(|| HostArm::default().run(&scenario, policy, seed, Events::Omitted, &Silent));
        let server = wait_for_programs(std::process::id(), 1)[0];
        sleep(Duration::from_secs(2));
        // Stamped within the freeze: what this thread itself waits for a CPU must not count.
        signal(server, SIGSTOP);
        let start = Instant::now();
        sleep(FREEZE);
        let frozen = start.elapsed();
        signal(server, SIGCONT);
        Ok((running.join().expect("no panic")?, frozen))
    })
}

/// The longest time in which the server neither began nor ended anything.
fn longest_silence(requests: &[Request]) -> (Nanos, Nanos) {
    let mut signs: Vec<Nanos> = requests.iter().flat_map(|r| [r.started, r.completed]).collect();
    signs.sort_unstable();
    let silences = signs.windows(2).map(|pair| (pair[0], pair[1]));
    silences.max_by_key(|(from, to)| *to - *from).expect("several requests")
}

/// p99 in seconds over the requests of the window.
fn p99(trace: &Trace, latencies: impl IntoIterator<Item = Nanos>) -> f64 {
    let requests = trace.programs[0].requests.iter();
    let inside = requests.zip(latencies).filter(|(r, _)| trace.window.contains(r.intended));
    ideal::quantile(inside.map(|(_, latency)| latency), 0.99).as_secs_f64()
}
