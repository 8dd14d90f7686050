//! A failing schedule as a time line of who did what.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::engine::{Decision, Engine, Outcome};
use crate::explore::Replay;
use crate::rules;
use crate::world::{Note, What, World};

/// `enum rg_access`.
const KINDS: [&str; 3] = ["reads", "writes", "changes"];

/// Runs a schedule once more and says what happens.
pub fn time_line(engine: &mut Engine, decisions: &[Decision]) -> String {
    let outcome = engine.run(&mut Replay::new(decisions), true);
    render(&engine.world, &outcome)
}

/// Of accesses, only those at which another coroutine went on are shown, and how many there were before.
fn render(world: &World, outcome: &Outcome) -> String {
    let mut out = String::new();
    let places = places(world, &outcome.log);
    let mut silent = 0;
    for (at, note) in outcome.log.iter().enumerate() {
        let who = rules::name(world, note.agent);
        let switches = outcome.log.get(at + 1).is_some_and(|next| next.agent != note.agent);
        match &note.what {
            What::Access(..) if !switches => silent += 1,
            What::Access(from, address, kind) => {
                let (silent, accesses) = (std::mem::take(&mut silent), KINDS[*kind as usize]);
                let place = places.get(from).map_or("?", String::as_str);
                let row = row(world, *address);
                writeln!(
                    out,
                    "{:>7}  {who:<9} after {silent} accesses is stopped before it {accesses} {row} at {place}",
                    note.step
                )
                .expect("a string");
            }
            What::Said(what) => {
                silent = 0;
                writeln!(out, "{:>7}  {who:<9} {what}", note.step).expect("a string");
            }
        }
    }
    if let Some(failure) = &outcome.failure {
        writeln!(out, "         so       {failure}").expect("a string");
    }
    out
}

fn row(world: &World, address: usize) -> String {
    match world.memory.borrow().place(address) {
        Some((kind, row, within)) => format!("{kind:?} {row}, byte {within}").to_lowercase(),
        None => "?".to_string(),
    }
}

/// Lines of the source where coroutines were stopped.
fn places(world: &World, log: &[Note]) -> BTreeMap<usize, String> {
    let mut places: Vec<usize> = log
        .windows(2)
        .filter(|pair| pair[0].agent != pair[1].agent)
        .filter_map(|pair| match pair[0].what {
            What::Access(from, ..) => Some(from),
            What::Said(_) => None,
        })
        .collect();
    places.sort_unstable();
    places.dedup();
    world.code.object.lines(&places)
}
