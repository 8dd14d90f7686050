//! That a group is not kept from what its weight is worth.

use model::scenario::Kind;
use model::{Nanos, Scenario};

use super::PolicyOptions;
use super::fair::{Held, SURPLUS, turn};

/// The part of its due that a group receives at least. With the rest it may pay for what it has had in
/// advance: a second at its weight, beside threads with a long turn (`RG_LONGEST_TURN_NS`).
const LEAST: f64 = 0.5;

/// Requests that take longer than so many times the mean are too rare to meet.
const LONGEST_REQUEST: f64 = 4.0;

/// A group that waits receives a part of its due, but for what others have in advance and a round of their
/// turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Isolated {
    turn: Nanos,
}

impl Isolated {
    /// Promised where groups own what their threads owe.
    pub fn of(options: &PolicyOptions, scenario: &Scenario) -> Option<Isolated> {
        Held::of(options, scenario).map(|_| Isolated { turn: turn(options) })
    }

    /// How long a thread of a program runs at most while others wait, in seconds.
    pub fn turn_s(&self, kind: &Kind) -> f64 {
        let turn_s = self.turn.as_secs_f64();
        match kind {
            Kind::Service(service) => {
                turn_s.min(LONGEST_REQUEST * service.service_time.as_secs_f64())
            }
            _ => turn_s,
        }
    }

    /// What a group receives at least that is due so many CPUs.
    pub fn least(&self, due: f64) -> f64 {
        LEAST * due
    }

    /// How many CPU seconds of it may be missing while it waits for a round of others' turns.
    pub fn bound_s(&self, least: f64, round_s: f64) -> f64 {
        let turns_s = 3.0 * self.turn.as_secs_f64() + round_s;
        turns_s * least + 2.0 * SURPLUS.as_secs_f64()
    }
}
