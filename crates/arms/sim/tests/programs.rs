//! Programs whose outcome on the modelled kernel has a closed form.

mod common;

use common::{run_realtime, scenario, service, setup};
use model::event::{Event, What, Why};
use model::scenario::{Architecture, Kind, Scenario, Service, Wait};
use model::{Nanos, Trace};
use sim::class::rt::{self, Rt};
use sim::costs::Costs;
use sim::events::Tournament;
use sim::{Observer, Setup, simulate_observed, simulate_with};

fn run_alone(scenario: &Scenario) -> Trace {
    let setup = Setup { costs: Costs::EXACT, ..setup(scenario) };
    sim::simulate(&setup, Rt::new(rt::Kind::RoundRobin, &scenario.machine)).expect("it succeeds")
}

fn daemon(run_us: u64, sleep_us: u64) -> Kind {
    Kind::Daemon {
        threads: 1,
        run: Nanos::from_micros(run_us),
        sleep: Nanos::from_micros(sleep_us),
    }
}

#[test]
fn a_daemons_cycle_is_its_run_its_sleep_and_one_switch() {
    let alone = scenario(1, vec![("daemon", daemon(2_000, 3_000))]);
    let trace = run_alone(&alone);
    let cycle_ns = 5_000_000 + Costs::EXACT.switch.0;
    let ends_before = |at: Nanos| (at.0 - 1 + 3_000_000) / cycle_ns;
    let expected = ends_before(trace.window.end) - ends_before(trace.window.start);
    assert_eq!(trace.programs[0].rounds, expected);
    // Behind a hog with slices of 100 ms a cycle cannot be shorter than one.
    let programs = vec![("daemon", daemon(2_000, 3_000)), ("hog", Kind::Batch { threads: 1 })];
    assert!(run_alone(&scenario(1, programs)).programs[0].rounds <= 101);
}

/// The moments at which timers woke threads.
#[derive(Default)]
struct WakeUps(Vec<Nanos>);

impl Observer for &mut WakeUps {
    fn on(&mut self, event: &Event) {
        if matches!(event.what, What::Wake { by: Some(_), .. }) {
            self.0.push(event.at);
        }
    }
}

#[test]
fn periodic_threads_wake_up_at_once_however_long_they_took() {
    let (run, period) = (Nanos::from_micros(500), Nanos::from_millis(10));
    let moments = |kind| {
        let scenario = scenario(2, vec![("storm", kind)]);
        let mut wake_ups = WakeUps::default();
        let class = Rt::new(rt::Kind::RoundRobin, &scenario.machine);
        simulate_observed::<_, Tournament, _>(&setup(&scenario), class, &mut wake_ups)
            .expect("it succeeds");
        wake_ups.0
    };
    // Eight threads of 500 us take two CPUs 2 ms of ten.
    let storm = moments(Kind::Periodic { threads: 8, run, period });
    assert!(storm.iter().all(|at| at.0 % period.0 == 0));
    assert!(storm.chunk_by(|a, b| a == b).all(|at_once| at_once.len() == 8));
    let drifting = moments(Kind::Daemon { threads: 8, run, sleep: period });
    assert!(drifting.iter().any(|at| at.0 % period.0 != 0), "the control");
}

#[test]
fn a_round_lasts_as_long_as_its_slowest_thread() {
    let work = Nanos::from_millis(1);
    let fork_join = || vec![("fork-join", Kind::ForkJoin { threads: 4, work, wait: Wait::Block })];
    let rounds = |cpus| run_alone(&scenario(cpus, fork_join())).programs[0].rounds as i64;
    let round_ns = work.0 + Costs::EXACT.switch.0;
    let expected = (10_000_000_000 / round_ns) as i64;
    assert!((rounds(4) - expected).abs() <= 1, "{} against {expected}", rounds(4));
    // On one CPU the threads compute in turn, one of them without a switch.
    let serial_ns = 4 * work.0 + 3 * Costs::EXACT.switch.0;
    let expected = (10_000_000_000 / serial_ns) as i64;
    assert!((rounds(1) - expected).abs() <= 1, "{} against {expected}", rounds(1));
}

#[test]
fn requests_without_an_idle_connection_wait_in_the_client() {
    for turnaround in [Nanos::ZERO, Nanos::from_micros(20)] {
        let service = Service { connections: 1, ..service(500, 0.2) };
        let trace = run_realtime(
            &scenario(4, vec![("s", Kind::Service(service))]),
            rt::Kind::Fifo,
            Costs { turnaround, ..Costs::NONE },
        );
        let mut free = Nanos::ZERO;
        let mut held = 0;
        for request in &trace.programs[0].requests {
            let waits = request.intended < free;
            let sent = if waits { free + turnaround } else { request.intended };
            assert_eq!(request.sent, sent);
            assert_eq!(request.received, request.sent + request.service);
            held += u32::from(waits);
            free = request.received;
        }
        assert!(held > 1_000, "80% of one connection holds many requests: {held}");
    }
}

#[test]
fn a_worker_whose_next_request_waits_in_the_client_queues_again() {
    let service = Service { connections: 2, ..service(500, 0.9) };
    let costs = Costs { turnaround: Nanos::from_micros(20), ..Costs::NONE };
    let trace =
        run_realtime(&scenario(1, vec![("s", Kind::Service(service))]), rt::Kind::Fifo, costs);
    let mut requests = trace.programs[0].requests.clone();
    requests.sort_by_key(|request| request.started);
    let in_turn = requests.windows(2).filter(|pair| pair[0].sent <= pair[1].sent).count();
    assert_eq!(in_turn, requests.len() - 1);
    // That says something only where the other connection has a request.
    let both = requests.windows(2).filter(|pair| pair[1].sent < pair[0].completed).count();
    assert!(both > 100, "{both}");
}

#[test]
fn the_kernels_part_of_a_request_is_drawn_and_in_its_service() {
    let with = |request| {
        let scenario = scenario(1, vec![("s", Kind::Service(service(500, 0.5)))]);
        run_realtime(&scenario, rt::Kind::Fifo, Costs { request, ..Costs::NONE })
    };
    let parts = |trace: &Trace| -> Vec<u64> {
        let requests = trace.programs[0].requests.iter();
        requests
            .map(|r| {
                assert_eq!(r.completed - r.started, r.service);
                r.service.0 - 500_000
            })
            .collect()
    };
    assert!(parts(&with(Nanos::ZERO)).iter().all(|&part| part == 0));
    let drawn = parts(&with(Nanos::from_micros(14)));
    let count = drawn.len() as f64;
    let mean = drawn.iter().sum::<u64>() as f64 / count;
    assert!((mean / 14_000.0 - 1.0).abs() < 5.0 / count.sqrt(), "{mean}");
    // An exponential exceeds its mean with probability 1/e.
    let above = drawn.iter().filter(|&&part| part > 14_000).count() as f64 / count;
    assert!((above - 0.3679).abs() < 2.5 / count.sqrt(), "{above}");
}

/// The latency that one request in a hundred exceeds.
fn p99(trace: &Trace) -> Nanos {
    let mut latencies: Vec<Nanos> =
        trace.programs[0].requests.iter().map(|request| request.latency()).collect();
    latencies.sort();
    latencies[latencies.len() * 99 / 100]
}

#[test]
fn one_queue_beats_partitions() {
    let p99_ns = |architecture, utilisation| {
        let service = Service { architecture, ..service(500, utilisation) };
        let scenario = scenario(4, vec![("s", Kind::Service(service))]);
        p99(&run_realtime(&scenario, rt::Kind::Fifo, Costs::NONE)).0 as f64
    };
    let worse = |utilisation| {
        p99_ns(Architecture::Partitioned { workers: 4 }, utilisation)
            / p99_ns(Architecture::SharedQueue { workers: 4 }, utilisation)
    };
    // Only a shared queue gains from idle workers (Tales section 2.3): M/D/1 against M/D/4.
    assert!(worse(0.7) > 2.0, "{}", worse(0.7));
    // With hardly any load no request waits, and nothing is to be gained.
    assert!(worse(0.003) < 1.2, "{}", worse(0.003));
}

#[test]
fn a_migration_costs_what_the_scenario_says() {
    let with = |migrate_llc| {
        let scenario = scenario(4, vec![("s", Kind::Service(service(500, 0.7)))]);
        run_realtime(&scenario, rt::Kind::Fifo, Costs { migrate_llc, ..Costs::NONE })
    };
    let mean = |trace: &Trace| {
        let requests = &trace.programs[0].requests;
        requests.iter().map(|r| (r.completed - r.started).0).sum::<u64>() / requests.len() as u64
    };
    assert_eq!(mean(&with(Nanos::ZERO)), 500_000, "nothing preempts, nothing costs");
    let costly = with(Nanos::from_micros(10));
    let moved = costly.counters.migrations.unwrap() as f64;
    let requests = costly.programs[0].requests.iter();
    let served = requests.filter(|r| costly.window.contains(r.started)).count() as f64;
    let expected = 500_000.0 + 10_000.0 * moved / served;
    assert!((mean(&costly) as f64 - expected).abs() < 50.0, "{} against {expected}", mean(&costly));
}

#[test]
fn cpus_tick_250_times_a_second_and_only_while_they_have_work() {
    let events = |kind| {
        let scenario = scenario(2, vec![("program", kind)]);
        let class = Rt::new(rt::Kind::Fifo, &scenario.machine);
        simulate_with::<_, Tournament>(&setup(&scenario), class).expect("it succeeds").events
    };
    // 11 s of one busy CPU out of two: its ticks, and one fork.
    assert_eq!(events(Kind::Batch { threads: 1 }), 11 * 250 - 1 + 1);
    // 110 cycles of just over 100 ms, each between two ticks: a timer or a fork, and a burst's end.
    assert_eq!(events(daemon(1_000, 99_000 - 1)), 2 * 110);
}

#[test]
fn a_replayed_thread_sleeps_and_runs_as_it_is_told() {
    let micros = |all: &[u64]| all.iter().map(|us| Nanos::from_micros(*us)).collect();
    let kind = Kind::Replay { sleeps: micros(&[5_000, 2_000]), runs: micros(&[1_000, 4_000]) };
    let trace = run_alone(&scenario(1, vec![("seen", kind)]));
    // Two runs and two switches in 12 ms.
    let pair_ns = 12_000_000 + 2 * Costs::EXACT.switch.0;
    let expected = 2 * trace.window.span().0 / pair_ns;
    assert!(trace.programs[0].rounds.abs_diff(expected) <= 1, "{}", trace.programs[0].rounds);
    let used = trace.usage.last().unwrap().cpu_time[0] - trace.usage[0].cpu_time[0];
    let share = used.0 as f64 / trace.window.span().0 as f64;
    assert!((share - 5.0 / 12.0).abs() < 0.01, "{share}");
}

/// Two spinning threads under EEVDF: where turns end at their moment, half of them end between ticks.
#[test]
fn turns_end_at_ticks_where_the_machine_has_no_timer_for_them() {
    let switches_between_ticks = |turns_end_at_ticks| {
        let mut two = scenario(1, vec![("hogs", Kind::Batch { threads: 2 })]);
        two.mechanisms.turns_end_at_ticks = turns_end_at_ticks;
        two.mechanisms.tick_late = Some(Nanos::ZERO);
        let mut seen = Switches::default();
        let setup = Setup { costs: Costs::NONE, ..setup(&two) };
        let class = sim::class::fair::Eevdf::of(&two, 1);
        simulate_observed::<_, Tournament, _>(&setup, class, &mut seen).expect("it succeeds");
        assert!(seen.0.len() > 100, "{}", seen.0.len());
        seen.0.iter().filter(|at| !at.0.is_multiple_of(4_000_000)).count()
    };
    assert_eq!(switches_between_ticks(true), 0);
    assert!(switches_between_ticks(false) > 100, "the control");
}

/// The moments at which turns were over.
#[derive(Default)]
struct Switches(Vec<Nanos>);

impl Observer for &mut Switches {
    fn on(&mut self, event: &Event) {
        if matches!(event.what, What::Switch { why: Why::Expired, .. }) {
            self.0.push(event.at);
        }
    }
}
