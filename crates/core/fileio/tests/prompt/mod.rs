//! What must not hang.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// What comes of an act, if it is over before long.
pub fn prompt<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(act()));
    told.recv_timeout(Duration::from_secs(20)).expect("it hangs")
}
