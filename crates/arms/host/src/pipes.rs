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

/// From the word to begin to the first byte: a time, and one more for each pair. They are told on one CPU.
const LEAD: Nanos = Nanos::from_millis(50);
const LEAD_OF_A_PAIR: Nanos = Nanos::from_micros(250);
/// From there until all of them are under way.
const SETTLING: Nanos = Nanos::from_millis(200);
/// How long round trips of one number of pairs are counted.
pub const WINDOW: Nanos = Nanos::from_millis(500);
/// How many processes start at once: so few that each answers in time on a busy machine.
const AT_ONCE: usize = 32;
/// How often to look whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(20);
/// Files open in this process for each pair, and beside them.
const FILES: (u64, u64) = (2, 64);

/// One CPU.
const SCENE: &str = "# Pairs of threads.\nduration = '1s'\nseeds = [1]\n[machine]\ncpus = 1\n\
                     [[program]]\nname = 'pair'\nkind = 'batch'\nthreads = 2\n";

/// Loads each policy in turn and says, for each number of pairs, how many nanoseconds a round trip takes
/// while so many pairs make them: at any time as many threads want the CPU. Figures are by policy, then by
/// number.
///
/// Each pair is a process of its own. All are started before the first policy is loaded, because to start a
/// thousand takes seconds. Pairs beyond the number sleep.
pub fn round_trips_ns(
    policies: &[&PolicySpec],
    pairs: &[u32],
    watch: &dyn Watch,
) -> Result<Vec<Vec<f64>>, Failure> {
    let most = pairs.iter().copied().max().unwrap_or(0);
    allow_open_files(FILES.0 * u64::from(most) + FILES.1)?;
    let scene = Scenario::read(SCENE, "pipes")?;
    let ready = policies.iter().map(|policy| check(&scene, policy, &[]));
    let ready: Vec<Ready> = ready.collect::<Result<_, Failure>>()?;
    let Some(Ready { placement, .. }) = ready.first() else { return Ok(Vec::new()) };
    let _alone = Exclusive::acquire(watch)?;
    let mut started = Pairs::start(most, &placement.scenario, watch)?;
    let of_policy = |Ready { scheduler, placement, .. }| {
        let mut scheduler = scheduler.enter()?;
        let taken = pairs.iter().map(|pairs| started.measured(*pairs, &placement, watch)).collect();
        scheduler.check().and(taken)
    };
    ready.into_iter().map(of_policy).collect()
}

/// Processes that wait for a window, or are in one.
struct Pairs(Vec<Program>);

impl Pairs {
    /// Starts them, some without waiting for each other: one gets ready on its CPU while the next is begun.
    fn start(count: u32, cpus: &[usize], watch: &dyn Watch) -> Result<Pairs, Failure> {
        let order = Order {
            parent: std::process::id() as i32,
            cpus: cpus.to_vec(),
            door: None,
            class: Class::Normal { nice: 0 },
            work: vec![Work::PingPong],
        };
        let mut pairs = Pairs(Vec::new());
        for begun in (0..count).step_by(AT_ONCE) {
            for _ in begun..count.min(begun + AT_ONCE as u32) {
                go_on(watch)?;
                pairs.0.push(Program::begin("pair", vec![0], &order)?);
            }
            pairs.0[begun as usize..].iter_mut().try_for_each(Program::await_ready)?;
        }
        Ok(pairs)
    }

    /// The first so many, from a thread of its own, as a scenario's run.
    fn measured(
        &mut self,
        count: u32,
        placement: &Placement,
        watch: &dyn Watch,
    ) -> Result<f64, Failure> {
        let pairs = &mut self.0[..count as usize];
        thread::scope(|scope| {
            let measuring = scope.spawn(|| measure(pairs, placement, watch));
            measuring.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// They end at once: one by one, each would wait for its turn beside all that still run.
impl Drop for Pairs {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(Program::kill);
    }
}

fn measure(
    pairs: &mut [Program],
    placement: &Placement,
    watch: &dyn Watch,
) -> Result<f64, Failure> {
    bind(&[placement.generator]).map_err(|error| Failure::Run(format!("pipes: {error}")))?;
    let start = clock::now() + LEAD + Nanos(LEAD_OF_A_PAIR.0 * pairs.len() as u64);
    let window_start = start + SETTLING;
    let go = Go { start, window_start, window_end: window_start + WINDOW };
    pairs.iter_mut().try_for_each(|pair| pair.go(&go))?;
    while clock::now() < go.window_end {
        go_on(watch)?;
        thread::sleep(LOOK);
    }
    pairs.iter_mut().try_for_each(Program::end_window)?;
    let rounds = pairs.iter_mut().map(|pair| Ok(pair.done()?.rounds.iter().sum::<u64>()));
    let rounds = rounds.sum::<Result<u64, Failure>>()?;
    pairs.iter_mut().try_for_each(Program::await_ready)?;
    // Where none was made, one takes the window at least.
    Ok(WINDOW.0 as f64 / rounds.max(1) as f64)
}

fn go_on(watch: &dyn Watch) -> Result<(), Failure> {
    if watch.cancelled() { Err(Failure::Interrupted) } else { Ok(()) }
}
