//! Every kind of program, and what its trace must say whatever the machine's speed.

use libtest_mimic::{Failed, Trial};
use model::scenario::{Architecture, Kind, Program, Scenario, Wait};
use model::trace::{Request, Trace};
use model::{Nanos, PolicySpec};

use crate::fixtures::{calmest_policy, may_have_real_time, run, scenario, service, trial};
use crate::processes::programs_of;

const SECONDS: Nanos = Nanos::from_secs(2);
/// The kernel brings a running thread's time up to date at its tick, 10 ms at worst; readings come a little
/// late, too.
const SLACK: f64 = 0.1;

pub fn trials() -> Vec<Trial> {
    let serves = |name: &str, architecture| {
        trial(name, move || serves(slow(service(architecture, 16, 0.3))))
    };
    vec![
        serves("thread_per_connection_serves", Architecture::ThreadPerConnection),
        serves("shared_queue_serves", Architecture::SharedQueue { workers: 4 }),
        serves("partitioned_serves", Architecture::Partitioned { workers: 3 }),
        trial("one_thread_a_worker", threads),
        trial("spinning_threads_share_the_cpu", batch),
        trial("daemons_and_fork_join_count_their_rounds", rounds),
        trial("a_real_time_service_waits_less_than_a_normal_one", real_time)
            .with_ignored_flag(!may_have_real_time()),
    ]
}

/// Ten times as slow: no quantile is looked at, and what delays the generator on a busy machine is then
/// nothing beside a service.
fn slow(mut program: Program) -> Program {
    if let Kind::Service(service) = &mut program.kind {
        service.service_time.0 *= 10;
    }
    program
}

fn traced(scenario: &Scenario, policy: &PolicySpec) -> Result<Trace, Failed> {
    let trace = run(scenario, policy).map_err(|failure| failure.to_string())?;
    assert!(programs_of(std::process::id()).is_empty(), "programs outlive the run");
    Ok(trace)
}

/// All requests come back, with stamps in order and no free service.
fn serves(program: Program) -> Result<(), Failed> {
    let scenario = scenario(vec![program], SECONDS);
    let trace = traced(&scenario, &calmest_policy())?;
    let requests = &trace.programs[0].requests;
    let Kind::Service(service) = &scenario.programs[0].kind else {
        return Err("no service".into());
    };
    let until = scenario.warm_up + scenario.duration;
    let planned = model::workload::draw(service, 1, trace.seed, 0, until);
    assert_eq!(planned.len(), requests.len());
    for (planned, request) in planned.iter().zip(requests) {
        assert_eq!(planned.intended, request.intended);
        let stages = [request.sent, request.started, request.completed, request.received];
        assert!(stages.is_sorted() && request.intended <= request.sent, "{request:?}");
        assert!(request.service >= planned.service, "free service: {request:?}");
        assert!(request.completed - request.started >= planned.service, "{request:?}");
    }
    // The ideal's service times add up to what the threads really used, by the kernel's own account.
    let service: f64 = requests.iter().map(|r: &Request| r.service.as_secs_f64()).sum();
    let bound = service_bound(&trace);
    assert!(service >= bound * (1.0 - SLACK), "services {service} s, threads used {bound} s");
    Ok(())
}

/// CPU time of all threads at the end of the window.
fn service_bound(trace: &Trace) -> f64 {
    let last = trace.usage.last().expect("a reading at the window's end");
    last.cpu_time.iter().map(|time| time.as_secs_f64()).sum()
}

fn threads() -> Result<(), Failed> {
    let kinds = [Architecture::ThreadPerConnection, Architecture::SharedQueue { workers: 5 }];
    for (architecture, expected) in kinds.into_iter().zip([16, 5]) {
        let programs = vec![
            slow(service(architecture, 16, 0.2)),
            Program::new("hogs", Kind::Batch { threads: 2 }),
        ];
        let trace = traced(&scenario(programs, Nanos::from_millis(500)), &calmest_policy())?;
        let of = |program| trace.threads.iter().filter(|thread| thread.program == program).count();
        assert_eq!((of(0), of(1)), (expected, 2));
        assert!(trace.usage.iter().all(|usage| usage.cpu_time.len() == trace.threads.len()));
    }
    Ok(())
}

fn batch() -> Result<(), Failed> {
    let programs = vec![Program::new("hogs", Kind::Batch { threads: 2 })];
    let trace = traced(&scenario(programs, SECONDS), &PolicySpec::plain("default"))?;
    let (first, last) = (&trace.usage[0], trace.usage.last().expect("readings"));
    let used: Vec<f64> = (first.cpu_time.iter().zip(&last.cpu_time))
        .map(|(from, to)| (*to - *from).as_secs_f64())
        .collect();
    let span = (last.at - first.at).as_secs_f64();
    assert!(used.iter().sum::<f64>() <= span + SLACK, "{used:?} in {span} s on one CPU");
    assert!((0.5..2.0).contains(&(used[0] / used[1])), "{used:?}");
    assert!(trace.usage.is_sorted_by_key(|usage| usage.at));
    // They never sleep: the CPU has no idle time beyond the counter's grain.
    let idle = trace.counters.idle.expect("/proc/stat").as_secs_f64();
    assert!(idle < SLACK * span, "{idle} s idle beside two spinning threads");
    assert!(trace.counters.switches.expect("schedstat") > 0);
    Ok(())
}

fn rounds() -> Result<(), Failed> {
    let (run, sleep) = (Nanos::from_millis(1), Nanos::from_millis(9));
    let programs = vec![
        Program::new("daemon", Kind::Daemon { threads: 1, run, sleep }),
        Program::new("periodic", Kind::Periodic { threads: 1, run, period: run + sleep }),
        Program::new(
            "join",
            Kind::ForkJoin { threads: 2, work: Nanos::from_millis(2), wait: Wait::Block },
        ),
    ];
    let trace = traced(&scenario(programs, SECONDS), &PolicySpec::plain("default"))?;
    let used = |program: usize| -> f64 {
        let own = |i: &usize| trace.threads[*i].program == program;
        let of = |usage: usize, i: usize| trace.usage[usage].cpu_time[i].as_secs_f64();
        let last = trace.usage.len() - 1;
        (0..trace.threads.len()).filter(own).map(|i| of(last, i) - of(0, i)).sum()
    };
    for (program, round_s) in [(0, 0.001), (1, 0.001), (2, 0.004)] {
        let rounds = trace.programs[program].rounds as f64;
        assert!(rounds > 0.0, "program {program} completed nothing");
        let (used, wanted) = (used(program), rounds * round_s);
        assert!(wanted <= used + SLACK, "{rounds} rounds want {wanted} s, used {used} s");
    }
    // A daemon sleeps after each cycle, a periodic one until the next multiple: at most one in run + sleep.
    let most = SECONDS.0 / (run + sleep).0 + 1;
    let cycles = [0, 1].map(|program| trace.programs[program].rounds);
    assert!(cycles.iter().all(|cycles| *cycles <= most), "{cycles:?} cycles");
    Ok(())
}

/// Beside spinners, a service waits less under SCHED_FIFO than in the default class, the control.
fn real_time() -> Result<(), Failed> {
    let programs = || {
        vec![
            service(Architecture::ThreadPerConnection, 16, 0.4),
            Program::new("hogs", Kind::Batch { threads: 4 }),
        ]
    };
    let wait = |policy: &PolicySpec| -> Result<f64, Failed> {
        let trace = traced(&scenario(programs(), SECONDS), policy)?;
        let requests = trace.programs[0].requests.iter();
        let waits = requests.map(|r| r.started.saturating_sub(r.sent));
        Ok(crate::ideal::quantile(waits, 0.99).as_secs_f64())
    };
    let (fifo, default) = (wait(&PolicySpec::plain("fifo"))?, wait(&PolicySpec::plain("default"))?);
    assert!(fifo < default, "p99 of the wait: fifo {fifo} s, default {default} s");
    Ok(())
}
