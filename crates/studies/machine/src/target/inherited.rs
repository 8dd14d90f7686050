//! Threads that inherited a class: started after the change by threads that it changed, and in no list that
//! was made then.

use std::io;

use super::class::parse;
use crate::class::Class;
use crate::platform::Platform;
use crate::proc::{Task, families, threads};

/// Whether there are any: `yes` or `no`.
pub fn read(on: &dyn Platform, process: i32, class: &str) -> io::Result<String> {
    let none = of_class(on, process, parse(class)?)?.is_empty();
    Ok(String::from(if none { "no" } else { "yes" }))
}

/// Gives them the class that they would have.
pub fn reset(on: &dyn Platform, process: i32, class: &str, instead: &str) -> io::Result<()> {
    let instead = parse(instead)?;
    // One that was starting during the first look is there at the second.
    for _ in 0..100 {
        let inherited = of_class(on, process, parse(class)?)?;
        if inherited.is_empty() {
            return Ok(());
        }
        for thread in inherited {
            match on.set_class(thread, instead) {
                // It has ended by itself.
                Err(error) if error.raw_os_error() == Some(3) => {}
                set => set?,
            }
        }
    }
    Err(io::Error::other("threads start faster than their class can be changed"))
}

fn of_class(on: &dyn Platform, process: i32, class: Class) -> io::Result<Vec<i32>> {
    let all = families(on, &[process])?;
    let pairs = all.iter().flat_map(|p| threads(on, *p).into_iter().map(|t| (*p, t)));
    let same = |(process, thread): &(i32, i32)| {
        let own = Task::of_thread(on, *process, *thread).and_then(|task| task.class);
        own.is_some_and(|own| (own.policy, own.priority) == (class.policy, class.priority))
    };
    Ok(pairs.filter(same).map(|(_, thread)| thread).collect())
}
