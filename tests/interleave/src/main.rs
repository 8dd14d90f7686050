//! Looks for races in a policy: small cases enumerated, drawn ones sampled.
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Parser;
use interleave::code::{Code, Source};
use interleave::engine::{Decision, Engine, code};
use interleave::explore::{Found, draw, enumerate};
use interleave::scenario::{Scenario, by_name, drawn, seed_of, small};
use interleave::{planted, report};
use model::{Failure, PolicySpec};

/// Steps callbacks of several CPUs against each other at each shared access, and says what breaks.
#[derive(Parser)]
struct Args {
    /// A policy as the command line of rearguard names it, or a file
    #[arg(long, default_value = "rearguard")]
    policy: String,
    /// A planted race, by name; `list` lists them
    #[arg(long)]
    planted: Option<String>,
    /// One small case by name, `drawn-SEED` or `drawn-SEED-before-6.16`; else all small ones, then drawn ones
    #[arg(long)]
    case: Option<String>,
    /// Run this schedule alone and show it: STEP:WHO,STEP:WHO,... as a failure prints it
    #[arg(long, requires = "case")]
    replay: Option<String>,
    /// Decisions in a schedule of a small case at most; 0: no small cases
    #[arg(long, default_value_t = 2)]
    bound: usize,
    /// Schedules of each small case at most
    #[arg(long, default_value_t = 20_000)]
    schedules: u64,
    /// Drawn cases
    #[arg(long, default_value_t = 200)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Schedules of each drawn case
    #[arg(long, default_value_t = 100)]
    draws: u64,
    /// Go on with further drawn cases for so many minutes instead
    #[arg(long)]
    minutes: Option<f64>,
    /// Begin after the seed that stands in this file, and keep it up to date
    #[arg(long)]
    resume: Option<PathBuf>,
}

/// What all cases came to.
#[derive(Default)]
struct Sum {
    cases: u64,
    schedules: u64,
    steps: u64,
    complete: u64,
    pairs: usize,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(found) => ExitCode::from(u8::from(found)),
        Err(failure) => {
            eprintln!("interleave: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Whether a race was found.
fn run(args: &Args) -> Result<bool, Failure> {
    if args.planted.as_deref() == Some("list") {
        planted::RACES.iter().for_each(|race| println!("{:<22} {}", race.name, race.what));
        return Ok(false);
    }
    let (code, spec) = load(args)?;
    if let Some(replay) = &args.replay {
        return show(args, &code, &spec, replay);
    }
    let mut sum = Sum::default();
    let found = match &args.case {
        Some(name) => one(args, &code, &spec, case(name)?, &mut sum)?,
        None => all(args, &code, &spec, &mut sum)?,
    };
    println!(
        "{} cases, {} of them to the bound, {} schedules, {} steps, {} pairs of racing places in one case at most",
        sum.cases, sum.complete, sum.schedules, sum.steps, sum.pairs
    );
    Ok(found)
}

fn load(args: &Args) -> Result<(Rc<Code>, PolicySpec), Failure> {
    let spec = PolicySpec::parse(&args.policy)?;
    let source = match (&args.planted, spec.file()) {
        (Some(name), _) => Source::Ours(planted::by_name(name)?.changes.to_vec()),
        (None, Some(path)) => Source::File(path.to_path_buf()),
        (None, None) => Source::Ours(Vec::new()),
    };
    Ok((code(&source)?, spec))
}

fn case(name: &str) -> Result<Scenario, Failure> {
    by_name(name).ok_or_else(|| {
        let names: Vec<String> = small().into_iter().map(|scenario| scenario.name).collect();
        Failure::Input(format!(
            "no case `{name}`; there are drawn-SEED, drawn-SEED-before-6.16, {}",
            names.join(", ")
        ))
    })
}

fn show(args: &Args, code: &Rc<Code>, spec: &PolicySpec, replay: &str) -> Result<bool, Failure> {
    let decisions = parse(replay)?;
    let scenario = case(args.case.as_deref().unwrap_or_default())?;
    let mut engine = Engine::new(code, spec, scenario)?;
    print!("{}", report::time_line(&mut engine, &decisions));
    Ok(false)
}

fn parse(replay: &str) -> Result<Vec<Decision>, Failure> {
    let decision = |word: &str| {
        let (step, agent) = word.split_once(':')?;
        Some((step.parse().ok()?, agent.parse().ok()?))
    };
    let words = replay.split(',').filter(|word| !word.is_empty());
    words
        .map(|word| {
            decision(word)
                .ok_or_else(|| Failure::Input(format!("--replay: `{word}` is not STEP:WHO")))
        })
        .collect()
}

fn all(args: &Args, code: &Rc<Code>, spec: &PolicySpec, sum: &mut Sum) -> Result<bool, Failure> {
    let begin = Instant::now();
    let kept = args.resume.as_ref().and_then(|path| fs::read_to_string(path).ok());
    let mut seed =
        kept.and_then(|text| text.trim().parse().ok()).map_or(args.first, |s: u64| s + 1);
    if seed == args.first && args.bound > 0 {
        for scenario in small() {
            if one(args, code, spec, scenario, sum)? {
                return Ok(true);
            }
        }
    }
    let until =
        args.minutes.map(|minutes| begin + Duration::from_secs_f64(minutes.max(0.0) * 60.0));
    let last = args.first + args.seeds;
    while until.map_or(seed < last, |until| Instant::now() < until) {
        if one(args, code, spec, drawn(seed), sum)? {
            return Ok(true);
        }
        if let Some(path) = &args.resume {
            fs::write(path, format!("{seed}\n"))
                .map_err(|error| Failure::Input(format!("{}: {error}", path.display())))?;
        }
        seed += 1;
    }
    Ok(false)
}

fn one(
    args: &Args,
    code: &Rc<Code>,
    spec: &PolicySpec,
    scenario: Scenario,
    sum: &mut Sum,
) -> Result<bool, Failure> {
    let name = scenario.name.clone();
    let mut engine = Engine::new(code, spec, scenario)
        .map_err(|failure| Failure::Run(format!("case {name}: {failure}")))?;
    engine.forget_what_waits_undisturbed();
    let found = match seed_of(&name) {
        Some(seed) => draw(&mut engine, seed, args.draws),
        None => enumerate(&mut engine, args.bound, |schedules| schedules < args.schedules),
    };
    sum.cases += 1;
    sum.schedules += found.schedules;
    sum.steps += found.steps;
    sum.complete += u64::from(found.complete);
    sum.pairs = sum.pairs.max(engine.world.racing.borrow().pairs());
    Ok(tell(args, &mut engine, &name, found))
}

fn tell(args: &Args, engine: &mut Engine, name: &str, found: Found) -> bool {
    let Some((decisions, why)) = found.failure else { return false };
    print!("{}", report::time_line(engine, &decisions));
    let words: Vec<String> = decisions.iter().map(|(step, who)| format!("{step}:{who}")).collect();
    let planted = args.planted.iter().map(|name| format!(" --planted {name}")).collect::<String>();
    println!("case {name}, schedule {}: {why}", found.schedules);
    println!(
        "again: interleave --policy {}{planted} --case {name} --replay {}",
        args.policy,
        words.join(",")
    );
    true
}
