//! What is counted over the measured time.

/// Counts of a run; those of the measured time are a difference.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// When they were read.
    pub at: u64,
    pub events: u64,
    /// Copies that were given to a server or to a central queue.
    pub decisions: u64,
    pub requests: u64,
    /// Requests that their deadline cut off.
    pub lost: u64,
    /// Sub-requests that were sent out.
    pub tasks: u64,
    /// Copies that were sent.
    pub copies: u64,
    /// Time that leaves' workers served.
    pub busy_ns: u128,
    /// Of that, for copies whose answer was not needed.
    pub wasted_ns: u128,
    /// Sub-requests answered by the time their request was, over all sub-requests: summed over requests.
    pub quality: f64,
    /// Requests that had all answers.
    pub complete: u64,
}

impl Totals {
    /// What was counted since an earlier reading.
    pub fn since(&self, start: &Totals) -> Totals {
        Totals {
            at: self.at - start.at,
            events: self.events - start.events,
            decisions: self.decisions - start.decisions,
            requests: self.requests - start.requests,
            lost: self.lost - start.lost,
            tasks: self.tasks - start.tasks,
            copies: self.copies - start.copies,
            busy_ns: self.busy_ns - start.busy_ns,
            wasted_ns: self.wasted_ns - start.wasted_ns,
            quality: self.quality - start.quality,
            complete: self.complete - start.complete,
        }
    }
}
