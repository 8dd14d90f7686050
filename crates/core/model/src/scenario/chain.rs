//! Services behind one another: what one is done with it sends on to the next.

use super::program::Programs;
use super::table::Table;
use super::value::name;
use super::{Kind, Program, Scenario, Service};

/// Services in the order in which a request goes through them: two or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain(pub Vec<usize>);

impl Chain {
    /// The service that clients send to.
    pub fn first(&self) -> usize {
        self.0[0]
    }
}

impl Scenario {
    /// All chains, in the order of their first services.
    pub fn chains(&self) -> Vec<Chain> {
        let mut chain_of = vec![usize::MAX; self.programs.len()];
        let mut all: Vec<Chain> = Vec::new();
        // The service before stands before.
        for (own, program) in self.programs.iter().enumerate() {
            let Some(before) = program.behind else { continue };
            if chain_of[before] == usize::MAX {
                chain_of[before] = all.len();
                all.push(Chain(vec![before]));
            }
            chain_of[own] = chain_of[before];
            all[chain_of[own]].0.push(own);
        }
        all.sort_by_key(Chain::first);
        all
    }

    /// Two services of which one is behind the other, by name, where there are such.
    pub fn behind(&self) -> Option<(&str, &str)> {
        let named = |program: &usize| &*self.programs[*program].name;
        self.programs.iter().find_map(|own| Some((&*own.name, named(own.behind.as_ref()?))))
    }
}

/// The service that one is behind, if it names one, and its place.
pub(super) fn behind<'a>(table: &Table, earlier: &'a Programs) -> Option<(usize, &'a Service)> {
    const KEY: &str = "behind";
    let wanted = table.optional(KEY, name)?;
    let programs = &earlier.list;
    let Some((place, before)) = earlier.names.place(&wanted).and_then(|at| service(programs, at))
    else {
        let hint = earlier.names.hint(&wanted, |at| service(programs, at).is_some());
        table.wrong(KEY, format!("no service `{wanted}` before this one; expected one{hint}"));
        return None;
    };
    if let Some(other) = programs.iter().find(|other| other.behind == Some(place)) {
        let other = &other.name;
        table.wrong(KEY, format!("`{other}` is behind `{wanted}` already; expected one service"));
    }
    if table.get("count").is_some() {
        table.wrong("count", "one service alone can be behind another: leave `count` out");
    }
    Some((place, before))
}

/// A program's place and what it serves, if it does.
fn service(programs: &[Program], place: usize) -> Option<(usize, &Service)> {
    match &programs[place].kind {
        Kind::Service(service) => Some((place, service)),
        _ => None,
    }
}
