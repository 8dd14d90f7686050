//! How the knobs stand.

use serde::Serialize;

use super::knobs::{ADVICE, KNOBS};
use crate::platform::Platform;

/// What [`Knobs::schema`] says.
const SCHEMA: &str = "rearguard.knobs/1";

/// All knobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knobs {
    /// The format.
    pub schema: &'static str,
    /// In the order of Table 1.
    pub knobs: Vec<Standing>,
}

/// One knob, or one source that no knob is against.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// Its name; `None`: there is no knob.
    pub knob: Option<&'static str>,
    /// What its value is; empty: it takes none.
    pub value: &'static str,
    /// The source of tail latency that it is against.
    pub source: &'static str,
    /// Its position now.
    pub present: Option<String>,
    /// Whether it can be turned here.
    pub can: bool,
    /// What to do about it, where it cannot.
    pub remedy: Option<String>,
    /// What to know before.
    pub note: Option<String>,
    /// What it should do to the tail.
    pub effect: &'static str,
    /// What it costs.
    pub trade_off: &'static str,
    /// Where that is from.
    pub reference: &'static str,
}

/// Looks at all of them.
pub fn list(on: &dyn Platform) -> Knobs {
    let standing = KNOBS.iter().map(|kind| {
        let state = (kind.state)(on);
        Standing {
            knob: Some(kind.name),
            value: kind.value,
            source: kind.source,
            present: Some(state.present),
            can: state.can.is_ok(),
            remedy: state.can.err(),
            note: state.note,
            effect: kind.effect,
            trade_off: kind.trade_off,
            reference: kind.reference,
        }
    });
    let advice = Standing {
        knob: None,
        value: "",
        source: ADVICE.source,
        present: None,
        can: false,
        remedy: Some(ADVICE.remedy.to_string()),
        note: None,
        effect: "requests find any idle worker: one queue instead of one a worker",
        trade_off: ADVICE.trade_off,
        reference: ADVICE.reference,
    };
    Knobs { schema: SCHEMA, knobs: standing.chain([advice]).collect() }
}
