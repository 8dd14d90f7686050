//! From a trace to the text of a scenario.

use std::collections::{BTreeMap, BTreeSet};

use model::edit::{Edit, edited};
use model::event::{Event, What};
use model::{Failure, Nanos, Scenario, ThreadId};
use toml_edit::Value;
use trace::Recorded;

use crate::activity::{Activity, activities};
use crate::architecture::architecture;
use crate::others::{group_path, group_tables, named, others, pinned, plain};
use crate::service::Requests;

/// A scenario that a trace is taken for.
#[derive(Debug)]
pub struct Found {
    /// The scenario.
    pub text: String,
    /// Its services, by their place in the trace.
    pub services: Vec<(usize, String)>,
    /// What it rests on, a sentence each.
    pub assumptions: Vec<String>,
    /// Its programs by the CPU time that they had, the busiest first.
    pub busiest: Vec<String>,
}

/// The scenario of a trace with events; `own` is what the simulator adds to each request.
///
/// [`Failure::Input`] for a trace without events or requests.
pub fn scenario(recorded: &Recorded, own: Nanos) -> Result<Found, Failure> {
    let Recorded { header, trace } = recorded;
    let lack = |what: &str| Failure::Input(format!("this trace of `{}` {what}", header.scenario));
    let events = trace.events.as_deref().ok_or_else(|| {
        lack("has no scheduling events, so nothing says what ran beside its requests")
    })?;
    let serves = |program: &usize| !trace.programs[*program].requests.is_empty();
    let services: Vec<usize> = (0..trace.programs.len()).filter(serves).collect();
    if services.is_empty() {
        return Err(lack("has no requests"));
    }
    let activities = activities(trace, events);
    let base = base(recorded, &services).map_err(|what| lack(&what))?;
    let known = base.iter().flat_map(|known| &known.groups);
    let mut groups: BTreeSet<String> = known.map(|group| group.name.clone()).collect();
    let mut assumptions = Vec::new();
    let skeleton = match &base {
        Some(_) => header.scenario_text.clone(),
        None => skeleton(recorded, events, &activities, &services, &mut groups, &mut assumptions),
    };
    let name = |program: usize| match &base {
        Some(known) => known.programs[program].name.clone(),
        None => plain(&header.programs[program].name),
    };
    let services: Vec<(usize, String)> =
        services.into_iter().map(|program| (program, name(program))).collect();
    // What a request costs in a trace holds the kernel's part of it.
    let mut edits = times(trace.window.start, trace.window.span())?;
    edits.push(Edit::new("machine.request_cost", Value::from("0ns"))?);
    let early = header.kernel.as_deref().and_then(release).filter(|own| *own < PRECISE_SINCE);
    if let Some((major, minor)) = early {
        edits.push(Edit::new("machine.hrtick", Value::from(false))?);
        assumptions.push(format!("turns end at ticks, every 4 ms, as on {major}.{minor}"));
    }
    for (program, name) in &services {
        let requests = Requests::of(trace, *program, own)?;
        edits.push(Edit::new(&format!("program.\"{name}\".arrivals"), requests.arrivals())?);
        edits
            .push(Edit::new(&format!("program.\"{name}\".service_time"), requests.service_time())?);
        assumptions.extend((requests.shorter > 0).then(|| {
            format!(
                "{} of {} requests of {name} cost less than a switch of the simulator ({own}) and are simulated as \
                 longer ones",
                requests.shorter,
                requests.len()
            )
        }));
    }
    let helped: BTreeMap<usize, String> = services.iter().cloned().collect();
    let known = base.as_ref().map_or(0, |known| known.programs.len());
    let helped = if base.is_some() { BTreeMap::new() } else { helped };
    let beside = others(header, trace, &activities, (known, &helped), &mut groups);
    if beside.left_out.0 > 0 {
        let (threads, time) = beside.left_out;
        assumptions
            .push(format!("{threads} threads that had {time} of CPU time together are left out"));
    }
    if beside.threads > 0 {
        assumptions.push(format!(
            "{} threads of other programs sleep and run as they were seen to, whatever the service does; groups \
             that the scenario does not know have weight 100",
            beside.threads
        ));
    }
    assumptions.extend(interrupts(events, trace.window.end, header.cpus.cpus));
    let text = edited(&skeleton, &header.scenario, &edits)? + &beside.text;
    let busiest = busiest(recorded, &activities, base.as_ref());
    Ok(Found { text, services, assumptions, busiest })
}

/// Programs by the CPU time of all their threads, which a scenario may have in tables of their own.
fn busiest(
    Recorded { header, trace }: &Recorded,
    activities: &[Activity],
    base: Option<&Scenario>,
) -> Vec<String> {
    let hosts = base.map_or(Vec::new(), Scenario::processes);
    let mut ran = vec![Nanos::ZERO; header.programs.len()];
    for (thread, one) in trace.threads.iter().zip(activities) {
        let host = hosts.get(thread.program).copied().unwrap_or(thread.program);
        ran[host] = ran[host].saturating_add(one.ran);
    }
    let mut all: Vec<usize> = (0..ran.len()).collect();
    all.sort_by_key(|program| std::cmp::Reverse(ran[*program]));
    let known = |program: usize| Some(base?.programs.get(program)?.name.clone());
    let name =
        |program| known(program).unwrap_or_else(|| named(&header.programs[program].name, program));
    all.into_iter().map(name).collect()
}

/// The scenario that a trace was recorded of, if one was. They stand in the same file, and need not be of
/// each other.
fn base(
    Recorded { header, .. }: &Recorded,
    services: &[usize],
) -> Result<Option<Scenario>, String> {
    let base = Scenario::read(&header.scenario_text, &header.scenario).ok();
    let Some(count) = base.as_ref().map(|known| known.programs.len()) else { return Ok(None) };
    if let Some((own, before)) = base.as_ref().and_then(Scenario::behind) {
        return Err(format!(
            "has requests that go from `{before}` on to `{own}`, and foretold are those that one service answers"
        ));
    }
    let own = header.programs.len();
    if count <= own && services.iter().all(|program| *program < count) {
        return Ok(base);
    }
    Err(format!(
        "has {own} programs, and its scenario {count}: they are not of one run: record it again with --trace"
    ))
}

/// The first kernel whose EEVDF is known to end turns at their moment (`HRTICK`).
const PRECISE_SINCE: (u32, u32) = (7, 2);

/// A kernel's major and minor number.
pub fn release(kernel: &str) -> Option<(u32, u32)> {
    let mut numbers = kernel.split(['.', '-', ' ']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

fn times(warm_up: Nanos, duration: Nanos) -> Result<Vec<Edit>, Failure> {
    let span = |span: Nanos| Value::from(format!("{}ns", span.0));
    Ok(vec![Edit::new("warm_up", span(warm_up))?, Edit::new("duration", span(duration))?])
}

/// Of a service that no scenario describes: the machine and the service, its laws to be filled in.
fn skeleton(
    Recorded { header, trace }: &Recorded,
    events: &[Event],
    activities: &[Activity],
    services: &[usize],
    groups: &mut BTreeSet<String>,
    assumptions: &mut Vec<String>,
) -> String {
    let machine = header.cpus;
    let mut text = format!(
        "# A trace of {}, as it was seen.\nduration = \"1s\"\n\n[machine]\ncpus = {}\nsmt = {}\nllcs = {}\nnodes = {}\n",
        header.scenario, machine.cpus, machine.smt, machine.llcs, machine.nodes
    );
    for program in services {
        let own = &header.programs[*program];
        let path = own.group.map_or(String::new(), |group| group_path(&header.groups[group].name));
        text += &group_tables(&path, groups);
        let of_program = |thread: &usize| header.threads[*thread] == *program;
        let serve = (0..activities.len()).filter(of_program).filter(|at| activities[*at].serves);
        let workers: BTreeSet<ThreadId> = serve.map(|at| ThreadId(at as u32)).collect();
        let architecture = architecture(&trace.programs[*program].requests, events, &workers);
        let (count, word) = (workers.len().max(1), architecture.word());
        assumptions.push(format!(
            "{} is taken for a service of {count} {}, {word}, by how its threads took up requests",
            own.name,
            if count == 1 { "thread" } else { "threads" }
        ));
        let name = plain(&own.name);
        text +=
            &format!("\n[[program]]\nname = \"{name}\"\nkind = \"service\"\nnice = {}\n", own.nice);
        text += &if path.is_empty() { path } else { format!("group = \"{path}\"\n") };
        text += &format!(
            "architecture = \"{word}\"\n{}service_time = \"1us\"\narrivals = {{ rate = \"1/s\" }}\n",
            architecture.counts(count)
        );
        let serving = (0..activities.len()).filter(of_program).map(|at| &activities[at]);
        text += &pinned(&name, serving.filter(|one| one.serves), machine.cpus);
    }
    text
}

/// What interrupts took, where that counts: they are not simulated.
fn interrupts(events: &[Event], until: Nanos, cpus: u32) -> Option<String> {
    let mut since: BTreeMap<u32, (u32, Nanos)> = BTreeMap::new();
    let mut took = Nanos::ZERO;
    for event in events {
        match event.what {
            What::InterruptBegin { cpu, .. } => {
                let (depth, begun) = since.entry(cpu.0).or_insert((0, event.at));
                *begun = if *depth == 0 { event.at } else { *begun };
                *depth += 1;
            }
            What::InterruptEnd { cpu, .. } => {
                let (depth, begun) = since.entry(cpu.0).or_insert((0, event.at));
                *depth = depth.saturating_sub(1);
                let since = event.at.saturating_sub(*begun);
                took = if *depth == 0 { took.saturating_add(since) } else { took };
            }
            _ => {}
        }
    }
    let share = took.0 as f64 / (until.0.max(1) as f64 * f64::from(cpus));
    let percent = 100.0 * share;
    (share >= 0.01)
        .then(|| format!("interrupts took {percent:.1}% of the CPUs and are not simulated"))
}
