//! `rearguard stages --overhead`: what watching adds to a request, by runs with and without in turn.

use ::measure::{Cost, Kind, Placed, RoundTrips, Started, Target};
use model::{Failure, Nanos, Watch};
use report::document::Estimate;
use report::overhead::{OVERHEAD_SCHEMA, Overhead, OverheadRow};
use tracer::{Scheduling, Tracer, Wanted, observe};

use crate::output::signature;
use crate::terminal::Terminal;

/// Rounds: the second least and the second greatest of so many hold their median with 98.8%.
const ROUNDS: usize = 11;
/// Requests that are thrown away: a fresh run is slower, and would make tracing look free.
const WARM_UP: Nanos = Nanos::from_millis(200);
/// Requests that count.
const SPAN: Nanos = Nanos::from_millis(300);
/// What is watched; the first is what the others are compared with.
const WATCHED: [(&str, Option<Scheduling>); 3] = [
    ("nothing", None),
    ("stages", Some(Scheduling::Nowhere)),
    ("stages and holders of the CPUs", Some(Scheduling::Everywhere)),
];

/// Measures on one CPU, on which a client asks a null RPC server of our own for nothing, again and again.
pub fn measure() -> Result<Overhead, Failure> {
    let watch = Terminal::new("overhead");
    let cpu = host::cpus().last().map_or(0, |cpu| cpu.id);
    generator::thread::bind(&[cpu])
        .map_err(|error| Failure::Machine(format!("CPU {cpu} cannot be had: {error}")))?;
    let target = Target::parse(Kind::NullRpc.usual_target(), None)?;
    let placed = Placed { cpus: vec![cpu], connections: 1 };
    let server = Started::start(Kind::NullRpc, target, &placed, &watch)?;
    let mut costs: [Vec<Cost>; WATCHED.len()] = Default::default();
    for round in 0..ROUNDS {
        for turn in 0..WATCHED.len() {
            // Each comes first, second and third in its turn.
            let which = (turn + round) % WATCHED.len();
            costs[which].push(cost(&server.target, WATCHED[which].1.as_ref())?);
        }
        watch.progress((round + 1) as f64 / ROUNDS as f64);
        if watch.cancelled() {
            return Err(Failure::Interrupted);
        }
    }
    let (command, version) = signature();
    Ok(Overhead {
        schema: OVERHEAD_SCHEMA.to_string(),
        command,
        version,
        kernel: host::release(),
        rounds: ROUNDS as u32,
        rows: (0..WATCHED.len()).map(|which| row(which, &costs)).collect(),
    })
}

/// What a request costs while this is watched. A run that lacks anything is refused as one of a service is.
fn cost(target: &Target, scheduling: Option<&Scheduling>) -> Result<Cost, Failure> {
    let port = target.address.ip().map(|address| address.port());
    let wanted = |scheduling: &Scheduling| Wanted {
        ports: port.into_iter().collect(),
        scheduling: scheduling.clone(),
    };
    let tracer = scheduling.map(|scheduling| Tracer::start(wanted(scheduling))).transpose()?;
    let mut client = RoundTrips::connect(target)?;
    client.run(WARM_UP)?;
    let cost = client.run(SPAN)?;
    tracer.map_or(Ok(()), |tracer| observe(&tracer.stop()?).map(|_| ()))?;
    Ok(cost)
}

fn row(which: usize, costs: &[Vec<Cost>; WATCHED.len()]) -> OverheadRow {
    let of = |value: &dyn Fn(&Cost) -> f64| median(costs[which].iter().map(value).collect());
    let more = |value: &dyn Fn(&Cost) -> f64| {
        let pairs = costs[which].iter().zip(&costs[0]);
        median(pairs.map(|(with, without)| value(with) / value(without) - 1.0).collect())
    };
    let cpu = |cost: &Cost| cost.cpu_ns;
    let instructions = |cost: &Cost| cost.instructions.unwrap_or(f64::NAN);
    OverheadRow {
        watched: WATCHED[which].0.to_string(),
        cpu_ns: of(&cpu),
        instructions: of(&instructions),
        cpu_overhead: more(&cpu),
        instruction_overhead: more(&instructions),
    }
}

/// The median of the rounds, and the interval that holds it.
fn median(mut values: Vec<f64>) -> Estimate {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    Estimate::new(values[last / 2], values[1], values[last - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_told_by_round_and_what_is_not_counted_is_unknown() {
        let cost = |cpu_ns: usize, instructions| Cost { cpu_ns: cpu_ns as f64, instructions };
        // The machine is twice as slow in the last rounds; hooks add a tenth in all.
        let nothing = (0..ROUNDS).map(|round| cost(if round < 6 { 1_000 } else { 2_000 }, None));
        let nothing: Vec<Cost> = nothing.collect();
        let hooks = nothing.iter().map(|one| Cost { cpu_ns: 1.1 * one.cpu_ns, ..*one }).collect();
        let costs = [nothing, hooks, vec![cost(1, Some(7.0)); ROUNDS]];
        let added = row(1, &costs);
        assert!((added.cpu_overhead.value.expect("a median") - 0.1).abs() < 1e-9);
        assert!((added.cpu_overhead.high.expect("a bound") - 0.1).abs() < 1e-9, "no round's speed");
        assert_eq!((added.cpu_ns.low, added.cpu_ns.high), (Some(1_100.0), Some(2_200.0)));
        assert_eq!(added.instruction_overhead.value, None);
        assert_eq!(row(2, &costs).instructions.value, Some(7.0));
    }
}
