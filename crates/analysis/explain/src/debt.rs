//! How far a service is behind its ideal queue, by cause.

use std::collections::BTreeMap;

/// Unfinished work beyond the ideal's, in nanoseconds of a worker, by the key's number.
#[derive(Clone, Debug)]
pub(crate) struct Debt {
    /// By key, before the scale: of a trace's many causes few are owed anything at a time.
    raw: BTreeMap<usize, f64>,
    /// What repaying has left of everything.
    scale: f64,
    total: f64,
}

/// Below this scale the numbers are written anew.
const LEAST_SCALE: f64 = 1e-100;
/// What is less than this is nothing.
const NOTHING_NS: f64 = 0.5;

impl Default for Debt {
    fn default() -> Debt {
        Debt { raw: BTreeMap::new(), scale: 1.0, total: 0.0 }
    }
}

impl Debt {
    /// Something was lost for a cause.
    pub fn add(&mut self, key: usize, ns: f64) {
        *self.raw.entry(key).or_default() += ns / self.scale;
        self.total += ns;
    }

    /// The service caught up. All causes are repaid alike.
    pub fn repay(&mut self, ns: f64) {
        if self.total == 0.0 {
            return;
        }
        if ns >= self.total - NOTHING_NS {
            self.raw.clear();
            (self.scale, self.total) = (1.0, 0.0);
            return;
        }
        self.scale *= 1.0 - ns / self.total;
        self.total -= ns;
        if self.scale < LEAST_SCALE {
            self.raw.values_mut().for_each(|raw| *raw *= self.scale);
            self.scale = 1.0;
        }
    }

    /// How many causes it has.
    pub fn causes(&self) -> usize {
        self.raw.len()
    }

    /// What is owed, by cause.
    pub fn owed(&self) -> impl Iterator<Item = (usize, f64)> {
        let owed = self.raw.iter().map(|(key, raw)| (*key, raw * self.scale));
        owed.filter(|(_, ns)| self.total > 0.0 && *ns >= NOTHING_NS)
    }
}

/// Sums over all requests before one, of amounts that grow in time at whole rates (Fenwick 1994).
pub(crate) struct Served {
    /// For each node the rate, and what makes the sum right at a moment: sum = rate * now + offset.
    nodes: Vec<(i64, i128)>,
}

impl Served {
    pub fn new(requests: usize) -> Served {
        Served { nodes: vec![(0, 0); requests + 1] }
    }

    /// A request is being served by one more from a moment on, or by one fewer.
    pub fn change(&mut self, request: u32, rate: i64, now: u64) {
        let mut at = request as usize + 1;
        while at < self.nodes.len() {
            self.nodes[at].0 += rate;
            self.nodes[at].1 -= i128::from(rate) * i128::from(now);
            at += at & at.wrapping_neg();
        }
    }

    /// For how long requests before one have been served.
    pub fn before(&self, request: u32, now: u64) -> u64 {
        let (mut at, mut sum) = ((request as usize).min(self.nodes.len() - 1), 0i128);
        while at > 0 {
            let (rate, offset) = self.nodes[at];
            sum += i128::from(rate) * i128::from(now) + offset;
            at &= at - 1;
        }
        sum as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repaid_is_taken_from_all_causes_alike() {
        let mut debt = Debt::default();
        debt.add(0, 30.0);
        debt.add(2, 90.0);
        debt.repay(60.0);
        assert_eq!(debt.owed().collect::<Vec<_>>(), [(0, 15.0), (2, 45.0)]);
        debt.repay(1e9);
        assert_eq!(debt.owed().count(), 0);
    }

    #[test]
    fn served_time_is_summed_over_requests_before_one() {
        let mut served = Served::new(4);
        served.change(2, 1, 10);
        served.change(0, 1, 15);
        served.change(2, -1, 30);
        assert_eq!([0, 1, 2, 3, 4].map(|r| served.before(r, 40)), [0, 25, 25, 45, 45]);
    }
}
