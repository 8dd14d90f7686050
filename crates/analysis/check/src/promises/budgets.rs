//! What groups with promises may take.

use model::{Nanos, Scenario};

use super::PolicyOptions;
use super::fair::{EXCESS, SURPLUS, are_promised, is_limited, own_debts, turn};

/// A group with a promise takes its budget or its due, and what it saved; a group without keeps its part of
/// the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budgets {
    /// How long a thread runs at most while others of its weight wait.
    turn: Nanos,
}

/// What a budget saves, at its own share of the machine (`policy/promise.h`).
const SAVED: Nanos = Nanos::from_millis(100);

impl Budgets {
    /// Promised where groups own what their threads owe, and no quota leaves others more than their due.
    pub fn of(options: &PolicyOptions, scenario: &Scenario) -> Option<Budgets> {
        let promised = are_promised(options, scenario) && own_debts(options);
        (promised && !is_limited(scenario)).then(|| Budgets { turn: turn(options) })
    }

    /// Of so much a group with a promise may receive, in CPU seconds.
    pub fn most_s(&self, scenario: &Scenario, due_s: f64) -> f64 {
        EXCESS * due_s + self.margin_s(scenario)
    }

    /// Of so much a group without is left.
    pub fn least_s(&self, scenario: &Scenario, due_s: f64) -> f64 {
        due_s / EXCESS - self.margin_s(scenario)
    }

    fn margin_s(&self, scenario: &Scenario) -> f64 {
        let each = self.turn.as_secs_f64() * 2.0 + SAVED.as_secs_f64();
        each * f64::from(scenario.machine.cpus) + 2.0 * SURPLUS.as_secs_f64()
    }
}
