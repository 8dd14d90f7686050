//! One request an event, at most so many a minute, the worst first.

use model::Nanos;

const MINUTE: Nanos = Nanos::from_secs(60);
/// A longer event counts as several: an overload must not hide what comes after.
const LONGEST_EVENT: Nanos = Nanos::from_secs(10);
/// A request takes the place of the one that stands for its event where it is slower by this part: it costs
/// an explanation, and a queue that grows would cost one a request.
const SLOWER: f64 = 1.25;

/// Where a slow request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is kept.
    Free,
    /// It is kept in the place of another, which goes.
    Of(String),
    /// Another one stands for its event.
    SameEvent,
    /// As many slower ones are kept of this minute as may be.
    Full,
}

/// What is kept of this minute.
pub struct Selection {
    most: usize,
    begin: Nanos,
    kept: Vec<One>,
    event: Option<Event>,
}

struct One {
    latency: Nanos,
    id: String,
}

/// Requests that overlap.
struct Event {
    begin: Nanos,
    end: Nanos,
    /// The one that stands for it, if it is kept.
    kept: Option<String>,
    latency: Nanos,
}

impl Selection {
    /// At most so many a minute.
    pub fn new(most: usize) -> Selection {
        Selection { most, begin: Nanos::ZERO, kept: Vec::new(), event: None }
    }

    /// Where a slow request goes. Requests come in the order of their begin.
    pub fn place(&mut self, begin: Nanos, end: Nanos) -> Place {
        if begin >= self.begin.saturating_add(MINUTE) {
            (self.begin, self.kept) = (begin, Vec::new());
        }
        let latency = end.saturating_sub(begin);
        let of_event = self.event.as_ref().and_then(|event| event.kept.clone());
        if self.joins_event(begin, end) {
            let event = self.event.as_ref().expect("it has joined one");
            if (latency.0 as f64) < SLOWER * event.latency.0 as f64 {
                return Place::SameEvent;
            }
            if let Some(id) = of_event {
                return Place::Of(id);
            }
        } else {
            self.event = Some(Event { begin, end, kept: None, latency: Nanos::ZERO });
        }
        if self.kept.len() < self.most {
            return Place::Free;
        }
        let least = self.kept.iter().min_by_key(|one| one.latency);
        match least.filter(|one| one.latency < latency) {
            Some(least) => Place::Of(least.id.clone()),
            None => Place::Full,
        }
    }

    fn joins_event(&mut self, begin: Nanos, end: Nanos) -> bool {
        let Some(event) = &mut self.event else { return false };
        let joins = begin < event.end && begin < event.begin.saturating_add(LONGEST_EVENT);
        if joins {
            event.end = event.end.max(end);
        }
        joins
    }

    /// A request was kept where [`Selection::place`] said.
    pub fn keep(&mut self, latency: Nanos, place: &Place, id: String) {
        if let Place::Of(other) = place {
            self.kept.retain(|one| one.id != *other);
        }
        if let Some(event) = &mut self.event {
            (event.kept, event.latency) = (Some(id.clone()), latency);
        }
        self.kept.push(One { latency, id });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Nanos {
        Nanos::from_millis(at)
    }

    /// Offers requests of (begin, latency); tells the latencies that are left.
    fn left(most: usize, requests: &[(u64, u64)]) -> (Vec<u64>, usize) {
        let mut selection = Selection::new(most);
        let (mut left, mut written) = (Vec::new(), 0);
        for (begin, latency) in requests {
            let place = selection.place(ms(*begin), ms(begin + latency));
            match &place {
                Place::Free => {}
                Place::Of(other) => left.retain(|id| id != other),
                Place::SameEvent | Place::Full => continue,
            }
            written += 1;
            let id = format!("{latency}");
            left.push(id.clone());
            selection.keep(ms(*latency), &place, id);
        }
        (left.iter().map(|id| id.parse().expect("a number")).collect(), written)
    }

    #[test]
    fn the_worst_of_a_minute_are_kept() {
        let apart: Vec<(u64, u64)> =
            [5, 9, 7, 30, 6, 8, 40].iter().zip(0..).map(|(l, n)| (1_000 * n, *l)).collect();
        assert_eq!(left(3, &apart).0, [9, 30, 40]);
        assert_eq!(left(9, &apart).0.len(), 7, "the control: there is room for all");
        let next = [&apart[..], &[(61_000, 1), (62_000, 2)]].concat();
        assert_eq!(left(3, &next).0, [9, 30, 40, 1, 2], "the next minute has places of its own");
    }

    #[test]
    fn one_request_stands_for_those_that_overlap() {
        let together: Vec<(u64, u64)> = (0..50).map(|n| (n, 100 - n)).collect();
        assert_eq!(left(9, &together), (vec![100], 1));
        let apart: Vec<(u64, u64)> = (0..5).map(|n| (1_000 * n, 100 - n)).collect();
        assert_eq!(left(9, &apart).0.len(), 5, "the control: they do not overlap");
    }

    /// Every request of a queue that grows is slower than the one before.
    #[test]
    fn a_growing_queue_costs_few_explanations_and_its_end_is_within_a_quarter() {
        let growing: Vec<(u64, u64)> = (0..1_000).map(|n| (n, 10 + 5 * n)).collect();
        let (left, written) = left(9, &growing);
        assert_eq!(left.len(), 1);
        assert!(f64::from(left[0] as u32) * SLOWER > 5_005.0, "{left:?}");
        assert!(written < 40, "{written}");
    }

    #[test]
    fn an_event_without_end_is_several() {
        let endless: Vec<(u64, u64)> = (0..400).map(|n| (100 * n, 200)).collect();
        assert_eq!(left(9, &endless).0.len(), 4);
    }
}
