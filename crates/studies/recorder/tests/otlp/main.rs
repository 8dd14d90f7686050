//! What a receiver of OTLP gets, read by OpenTelemetry's own messages, and what becomes of it where the
//! receiver is absent, slow, or says no.

mod content;
mod prometheus;
mod receiver;
mod secure;
mod troubles;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use recorder::{Endpoint, Pace, Sender, Signal};

/// Tests do not wait for seconds.
const QUICK: Pace = Pace {
    timeout: Duration::from_millis(500),
    first: Duration::from_millis(20),
    longest: Duration::from_millis(80),
    patience: Duration::from_secs(30),
};

/// What a sender says, a line each.
pub type Said = Arc<Mutex<Vec<String>>>;

/// A sender to a URL, and what it says.
fn sender(url: &str, signal: Signal, pace: Pace) -> (Sender, Said) {
    let said = Said::default();
    let own = Arc::clone(&said);
    let say = Box::new(move |line: &str| own.lock().expect("no panic").push(line.to_string()));
    let to = Endpoint::parse(url).expect("a URL");
    (Sender::start(&to, signal, pace, say).expect("a thread"), said)
}

fn lines(said: &Said) -> Vec<String> {
    said.lock().expect("no panic").clone()
}
