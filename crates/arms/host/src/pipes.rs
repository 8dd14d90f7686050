//! What a switch costs: round trips of a byte through two pipes, on one CPU and beside so many threads that
//! want it, too.

use std::thread;
use std::time::Duration;

use model::{Failure, Nanos, PolicySpec, Scenario, Watch};

use crate::check::{Ready, allow_open_files, check};
use crate::children::Program;
use crate::clock;
use crate::exclusive::Exclusive;
use crate::machine::Placement;
use crate::privilege::Class;
use crate::role::order::{Go, Order, Work};
use generator::thread::bind;

/// From the last pair's start to the first byte. They are many, and on one CPU.
const LEAD: Nanos = Nanos::from_millis(300);
/// From there until all of them are under way.
const SETTLING: Nanos = Nanos::from_millis(200);
/// How long round trips of one number of pairs are counted.
pub const WINDOW: Nanos = Nanos::from_millis(1_000);
/// How often to look whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(20);
/// Files open in this process for each pair, and beside them.
const FILES: (u64, u64) = (2, 64);

/// One CPU.
const SCENE: &str = "# Pairs of threads.\nduration = '1s'\nseeds = [1]\n[machine]\ncpus = 1\n\
                     [[program]]\nname = 'pair'\nkind = 'batch'\nthreads = 2\n";

/// Loads a policy and says, for each number of pairs, how many nanoseconds a round trip takes while so many
/// pairs make them, each a process of its own: at any time as many threads want the CPU.
pub fn round_trips_ns(
    policy: &PolicySpec,
    pairs: &[u32],
    watch: &dyn Watch,
) -> Result<Vec<f64>, Failure> {
    let most = pairs.iter().copied().max().unwrap_or(0);
    allow_open_files(FILES.0 * u64::from(most) + FILES.1)?;
    let Ready { scheduler, placement, .. } = check(&Scenario::read(SCENE, "pipes")?, policy, &[])?;
    let _alone = Exclusive::acquire(watch)?;
    let mut scheduler = scheduler.enter()?;
    let taken = pairs.iter().map(|pairs| measured(*pairs, &placement, watch)).collect();
    scheduler.check().and(taken)
}

/// In a thread of its own, as a scenario's run.
fn measured(pairs: u32, placement: &Placement, watch: &dyn Watch) -> Result<f64, Failure> {
    thread::scope(|scope| {
        let measuring = scope.spawn(|| measure(pairs, placement, watch));
        measuring.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn measure(pairs: u32, placement: &Placement, watch: &dyn Watch) -> Result<f64, Failure> {
    bind(&[placement.generator]).map_err(|error| Failure::Run(format!("pipes: {error}")))?;
    let order = Order {
        parent: std::process::id() as i32,
        cpus: placement.scenario.clone(),
        door: None,
        class: Class::Normal { nice: 0 },
        work: vec![Work::PingPong],
    };
    let mut programs = Pairs(Vec::new());
    for _ in 0..pairs {
        go_on(watch)?;
        programs.0.push(Program::start("pair", vec![0], &order)?);
    }
    let start = clock::now() + LEAD;
    let window_start = start + SETTLING;
    let go = Go { start, window_start, window_end: window_start + WINDOW };
    programs.0.iter_mut().try_for_each(|program| program.go(&go))?;
    while clock::now() < go.window_end {
        go_on(watch)?;
        thread::sleep(LOOK);
    }
    let rounds = programs.0.drain(..).map(|program| Ok(program.finish()?.iter().sum::<u64>()));
    let rounds = rounds.sum::<Result<u64, Failure>>()?;
    Ok(WINDOW.0 as f64 / rounds as f64)
}

fn go_on(watch: &dyn Watch) -> Result<(), Failure> {
    if watch.cancelled() { Err(Failure::Interrupted) } else { Ok(()) }
}

/// Processes that end at once: one by one, each would wait for its turn beside all that still run.
struct Pairs(Vec<Program>);

impl Drop for Pairs {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(Program::kill);
    }
}
