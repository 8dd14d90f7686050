//! A difference as people read it.

use std::fmt::Write;

use model::Nanos;
use model::event::Event;
use model::trace::Request;

use super::{Difference, Parting, ProgramDifference, Side};
use crate::Recorded;
use crate::names::Names;
use crate::words::sentence;

/// What differs, in a few lines; `names` are those of the files.
pub fn text(difference: &Difference, a: &Recorded, b: &Recorded, names: [&str; 2]) -> String {
    if difference.is_none() {
        return format!("the same: {} and {}\n", names[0], names[1]);
    }
    let mut out = format!("A: {}\nB: {}\n", names[0], names[1]);
    for setting in &difference.settings {
        let long = setting.a.len().max(setting.b.len()) > 100;
        let (a, b) = if long { ("one", "another") } else { (&*setting.a, &*setting.b) };
        let _ = writeln!(out, "{}: {a} / {b}", setting.name);
    }
    out.push('\n');
    match &difference.parting {
        Parting::Never => out.push_str("Every decision is the same.\n"),
        Parting::Event(side) => events(&mut out, side, [a, b]),
        Parting::Request { program, at } => {
            requests(&mut out, &a.header.programs[*program].name, at)
        }
    }
    difference.programs.iter().for_each(|program| latencies(&mut out, program));
    if difference.totals {
        out.push_str("CPU times or totals differ.\n");
    }
    out
}

fn events(out: &mut String, side: &Side<Event>, of: [&Recorded; 2]) {
    let names = of.map(|recorded| Names::new(&recorded.header));
    let first = side.a.first().into_iter().chain(side.b.first()).map(|event| event.at).min();
    let at = first.map_or("the end".to_string(), exact);
    let _ = writeln!(out, "They part at {at}, after {} events that are the same:", side.index);
    for (who, events, names) in
        [(" ", &side.before, &names[0]), ("A", &side.a, &names[0]), ("B", &side.b, &names[1])]
    {
        for event in events {
            let _ =
                writeln!(out, "{who} {:>16}  {}", exact(event.at), sentence(&event.what, names));
        }
        if events.is_empty() && who != " " {
            let _ = writeln!(out, "{who} {:>16}", "ends here");
        }
    }
}

fn requests(out: &mut String, program: &str, side: &Side<Request>) {
    let _ = writeln!(out, "They part at request {} of {program}:", side.index);
    let _ =
        writeln!(out, "  {:>16} {:>16} {:>16} {:>16}", "intended", "sent", "started", "completed");
    for (who, some) in [("A", &side.a), ("B", &side.b)] {
        match some.first() {
            None => {
                let _ = writeln!(out, "{who} {:>16}", "ends here");
            }
            Some(r) => {
                let stamps = [r.intended, r.sent, r.started, r.completed].map(exact);
                let [intended, sent, started, completed] = stamps;
                let _ =
                    writeln!(out, "{who} {intended:>16} {sent:>16} {started:>16} {completed:>16}");
            }
        }
    }
}

fn latencies(out: &mut String, program: &ProgramDifference) {
    let ProgramDifference { name, requests: [a, b], paired, changed, first, .. } = program;
    let first = first.map_or(String::new(), |at| format!(", the first sent at {}", exact(at)));
    let count = if a == b { a.to_string() } else { format!("{a} / {b}") };
    let fate = match paired {
        0 => "none was sent at the same moment in both".to_string(),
        _ => format!("{changed} of them with another latency{first}"),
    };
    let _ = writeln!(out, "\n{name}: {count} requests, {fate}");
    let _ = writeln!(out, "  {:>8} {:>12} {:>12}", "", "A", "B");
    for (figure, [a, b]) in &program.latency {
        let _ = writeln!(out, "  {figure:>8} {a:>12} {b:>12}");
    }
}

/// A moment to the nanosecond: `12.504211 ms`.
fn exact(at: Nanos) -> String {
    if at == Nanos::NEVER {
        return "never".to_string();
    }
    format!("{}.{:06} ms", at.0 / 1_000_000, at.0 % 1_000_000)
}
