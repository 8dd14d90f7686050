//! Plans and what becomes of their points.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use std::sync::atomic::{AtomicUsize, Ordering};

use experiment::{Plan, Point, Runner, Source, Store, Swept, found, tables, write};
use model::{Failure, Silent, Watch};
use sim::SimArm;

const SCENARIO: &str = "# A service.\nduration = \"100ms\"\nwarm_up = \"20ms\"\n[machine]\ncpus = 1\n\
    [[program]]\nname = \"web\"\nkind = \"service\"\nservice_time = \"500us\"\narrivals = { utilisation = 0.5 }\n";

const GRID: &str = "scenario = \"web.toml\"\npolicies = [\"cts\", \"lcfs\"]\nseeds = [1, 2]\n\
    [values]\n\"program.web.arrivals.utilisation\" = [0.3, 0.8]\n\"machine.cpus\" = [1, 2]\n";

fn plan(text: &str) -> Result<Plan, Failure> {
    Plan::read(text, "grid.toml", |file| {
        Ok(Source { file: file.to_string(), text: SCENARIO.to_string(), edits: Vec::new() })
    })
}

fn points(text: &str) -> Vec<Point> {
    plan(text).unwrap().points(&SimArm).unwrap()
}

fn wrong(text: &str) -> String {
    match plan(text).and_then(|plan| plan.points(&SimArm)) {
        Err(Failure::Input(message)) => message,
        other => panic!("{text}: {:?}", other.map(|points| points.len())),
    }
}

/// Every file of a sweep.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let of = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    let points = folder.join("points");
    let points = if points.is_dir() { of(&points) } else { Vec::new() };
    let all = of(folder).into_iter().chain(points);
    all.map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
        .map(|(path, bytes)| (path.replace(&folder.display().to_string(), ""), bytes))
        .collect()
}

fn run(text: &str, path: &Path, jobs: usize, watch: &dyn Watch) -> Result<Swept, Failure> {
    let plan = plan(text).unwrap();
    let points = plan.points(&SimArm).unwrap();
    let store = Store::open(&path.join("points")).unwrap();
    let runner = Runner { arm: &SimArm, store: &store, jobs, until: None };
    let swept = runner.run(&points, watch)?;
    write(path, &tables(&plan, &points, &store)).unwrap();
    Ok(swept)
}

fn swept(text: &str, path: &Path, jobs: usize) -> Swept {
    run(text, path, jobs, &Silent).unwrap()
}

#[test]
fn a_grid_is_every_combination_in_its_order() {
    let points = points(GRID);
    assert_eq!(points.len(), 8);
    let value = |point: &Point, at: usize| point.values[at].1.clone();
    let seen: Vec<_> =
        points.iter().map(|p| (value(p, 0), value(p, 1), p.policy.clone())).collect();
    let expect = |u: &str, c: &str, p: &str| (u.to_string(), c.to_string(), p.to_string());
    assert_eq!(seen[0], expect("0.3", "1", "cts"));
    assert_eq!(seen[1], expect("0.3", "1", "lcfs"));
    assert_eq!(seen[2], expect("0.3", "2", "cts"));
    assert_eq!(seen[7], expect("0.8", "2", "lcfs"));
    assert_eq!(points[7].edits, ["program.web.arrivals.utilisation=0.8", "machine.cpus=2"]);
    let mut ids: Vec<&str> = points.iter().map(|point| point.id.as_str()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 8, "what differs has another id");
}

#[test]
fn the_same_point_has_the_same_id_in_another_grid() {
    let all = points(GRID);
    let narrow = GRID.replace("[0.3, 0.8]", "[0.8]").replace("[\"cts\", \"lcfs\"]", "\"lcfs\"");
    assert_eq!(points(&narrow)[1].id, all[7].id);
    assert_ne!(points(&narrow.replace("[1, 2]\n[v", "[1, 3]\n[v"))[1].id, all[7].id);
}

#[test]
fn a_sample_is_some_of_the_points_in_their_order() {
    let all: Vec<String> = points(GRID).into_iter().map(|point| point.id).collect();
    let some = |seed: u64| -> Vec<String> {
        let text = format!("sample = 3\nsample_seed = {seed}\n{GRID}");
        points(&text).into_iter().map(|point| point.id).collect()
    };
    let places = |ids: &[String]| -> Vec<usize> {
        ids.iter().map(|id| all.iter().position(|one| one == id).unwrap()).collect()
    };
    assert!(places(&some(1)).is_sorted() && some(1).len() == 3);
    assert!((2..20).any(|seed| some(seed) != some(1)), "the seed must show");
    let huge = "[values]\n".to_string()
        + &(0..9)
            .map(|n| format!("\"k{n}\" = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n"))
            .collect::<String>();
    let huge = GRID.replace("[values]\n", &huge);
    assert!(wrong(&huge).contains("points; expected at most"), "{}", wrong(&huge));
}

#[test]
fn mistakes_say_what_is_right() {
    for (from, to, said) in [
        ("policies", "polices", "unknown key `polices` (did you mean `policies`?)"),
        ("scenario = \"web.toml\"\n", "", "missing key `scenario`"),
        ("[1, 2]\n[v", "1\n[v", "seeds: expected a list"),
        ("[0.3, 0.8]", "0.3", "expected a list of values"),
        ("[0.3, 0.8]", "[0.3, 80]", "expected a share of the machine"),
        ("program.web", "program.wep", "did you mean `web`?"),
        ("lcfs", "lcsf", "did you mean `lcfs`?"),
        ("[1, 2]\n[v", "[1, 1]\n[v", "seed 1 is given twice"),
        ("[values]", "sample = 0\n[values]", "sample: expected at least one point"),
        ("[values]", "[values", "grid.toml: "),
    ] {
        assert!(GRID.contains(from), "{from}");
        let message = wrong(&GRID.replacen(from, to, 1));
        assert!(message.contains(said), "{to}: {message}");
    }
}

#[test]
fn results_do_not_depend_on_how_many_run_at_once() {
    let (one, four) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = swept(GRID, one.path(), 1);
    assert_eq!((first.points, first.reused, first.failed.len()), (8, 0, 0));
    swept(GRID, four.path(), 4);
    assert_eq!(files(one.path()), files(four.path()));
    assert_eq!(files(one.path()).len(), 8 + 3);
    // The control: another seed is other bytes.
    let other = tempfile::tempdir().unwrap();
    swept(&GRID.replace("[1, 2]\n[v", "[1, 3]\n[v"), other.path(), 4);
    assert_ne!(files(one.path())["/programs.parquet"], files(other.path())["/programs.parquet"]);
}

/// Stops a sweep after some points.
struct Stopping(AtomicUsize);

impl Watch for Stopping {
    fn progress(&self, _done: f64) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

#[test]
fn a_sweep_that_was_stopped_goes_on_and_gives_the_same_bytes() {
    let (whole, stopped) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    swept(GRID, whole.path(), 1);
    let outcome = run(GRID, stopped.path(), 1, &Stopping(AtomicUsize::new(3)));
    assert_eq!(outcome.unwrap_err(), Failure::Interrupted);
    assert_eq!(files(stopped.path()).len(), 3, "what was finished is kept");
    let again = swept(GRID, stopped.path(), 1);
    assert_eq!((again.points, again.reused), (8, 3));
    assert_eq!(files(stopped.path()), files(whole.path()));
}

#[test]
fn what_is_finished_is_not_run_again_and_what_is_damaged_is() {
    let folder = tempfile::tempdir().unwrap();
    swept(GRID, folder.path(), 2);
    let whole = files(folder.path());
    let mut points = fs::read_dir(folder.path().join("points")).unwrap();
    let mut next = || points.next().unwrap().unwrap().path();
    let (gone, cut, damaged, alien) = (next(), next(), next(), next());
    fs::remove_file(gone).unwrap();
    fs::write(&cut, &fs::read(&cut).unwrap()[..500]).unwrap();
    let mut bytes = fs::read(&damaged).unwrap();
    let digit = bytes.iter().rposition(u8::is_ascii_digit).unwrap();
    bytes[digit] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    fs::copy(next(), alien).unwrap();
    let again = swept(GRID, folder.path(), 2);
    assert_eq!((again.points, again.reused), (8, 4));
    assert_eq!(files(folder.path()), whole);
    // A wider grid takes what is there.
    let wider = swept(&GRID.replace("[0.3, 0.8]", "[0.3, 0.5, 0.8]"), folder.path(), 2);
    assert_eq!((wider.points, wider.reused), (12, 8));
}

#[test]
fn grids_of_a_plan_take_what_it_says_for_all() {
    let text = "policies = \"cts\"\nseeds = [1]\n[[grid]]\nscenario = \"a.toml\"\nvalues = { slice = [\"4ms\"] }\n\
        [[grid]]\nscenario = \"b.toml\"\npolicies = \"lcfs\"\n";
    let points = points(text);
    let seen: Vec<_> = points.iter().map(|p| (p.grid, &*p.file, &*p.policy, p.seeds[0])).collect();
    assert_eq!(seen, [(0, "a.toml", "cts", 1), (1, "b.toml", "lcfs", 1)]);
    assert_eq!(points[0].edits, ["slice=\"4ms\""]);
}

#[test]
fn a_command_is_run_once_for_its_missing_seeds_and_keeps_what_it_left() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let script = "mkdir $2/results; for seed in $1; do [ $seed = 3 ] || echo $seed > $2/results/$seed.json; done; \
        echo $1 >> $0/log; echo sorry >&2; exit 1";
    let command = |script: &str| {
        format!("[\"sh\", \"-c\", {script:?}, {:?}, \"{{seeds}}\", \"{{folder}}\"]", folder.path())
    };
    let text = |script: &str, seeds: &str| {
        format!("[[grid]]\ncommand = {}\nseeds = {seeds}\n", command(script))
    };
    let first = swept(&text(script, "[1, 2, 3]"), folder.path(), 2);
    let failed = &first.failed[0];
    assert_eq!((first.failed.len(), first.reused), (1, 0));
    assert!(failed.reason.contains("sorry"), "{}", failed.reason);
    let again = swept(&text(script, "[1, 2, 3, 4]"), folder.path(), 2);
    assert_eq!((again.failed.len(), again.reused), (1, 2));
    assert_eq!(fs::read_to_string(&log).unwrap(), "1 2 3\n3 4\n");
    let other = swept(&text(&format!("{script} # other"), "[1]"), folder.path(), 2);
    assert_eq!(other.reused, 0, "another command is another result");
    let points = points(&text(script, "[1, 4]"));
    let store = Store::open(&folder.path().join("points")).unwrap();
    let results: Vec<u64> =
        found(&points, &store).iter().map(|one| one["result"].as_u64().unwrap()).collect();
    assert_eq!(results, [1, 4]);
}

/// Cancels once a file is there.
struct Until(std::path::PathBuf);

impl Watch for Until {
    fn progress(&self, _done: f64) {}

    fn cancelled(&self) -> bool {
        self.0.exists()
    }
}

#[test]
fn a_command_ends_with_its_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let (began, process) = (folder.path().join("began"), folder.path().join("process"));
    // A shell that does not obey, and its child: both are waited for no longer than they must be.
    let script =
        "trap '' TERM; sleep 100 & echo $! > $0/process; touch $0/began; while :; do wait; done";
    let text = format!(
        "[[grid]]\ncommand = [\"sh\", \"-c\", {script:?}, {:?}]\nseeds = [1]\n",
        folder.path()
    );
    let begin = std::time::Instant::now();
    let outcome = run(&text, folder.path(), 1, &Until(began));
    assert!(matches!(outcome, Err(Failure::Interrupted)), "{outcome:?}");
    assert!(begin.elapsed().as_secs() < 60, "it waits for its command");
    let process = fs::read_to_string(process).unwrap();
    let lives = || fs::read_to_string(format!("/proc/{}/stat", process.trim()));
    // A killed process is gone a moment later.
    let gone = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        lives().map_or(true, |stat| stat.contains(") Z "))
    });
    assert!(gone, "{:?}", lives());
}

#[test]
fn after_its_time_nothing_begins() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let until = Some(std::time::Instant::now());
    let runner = Runner { arm: &SimArm, store: &store, jobs: 2, until };
    let swept = runner.run(&points(GRID), &Silent).unwrap();
    assert_eq!((swept.points, swept.left, swept.reused), (8, 8, 0));
    assert!(files(folder.path()).is_empty());
}

#[test]
fn a_point_that_fails_is_reported_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let template = include_str!("../../../../policy/examples/template.c");
    let broken = template.replacen("(void)prev;", "(void)prev; rg_kick(999, 0);", 1);
    assert_ne!(broken, template);
    let file = folder.path().join("broken.c");
    fs::write(&file, broken).unwrap();
    let text = GRID.replace("lcfs", &file.display().to_string());
    let results = folder.path().join("results");
    let out = swept(&text, &results, 2);
    assert_eq!((out.points, out.failed.len()), (8, 4));
    let first = &out.failed[0];
    assert!(first.reason.contains("CPU 999"), "{}", first.reason);
    assert_eq!(first.seed, Some(1));
    let ends = format!(
        "--set program.web.arrivals.utilisation=0.3 --set machine.cpus=1 --policy {} --seed 1",
        file.display()
    );
    assert_eq!(first.replay, format!("rearguard compare web.toml --on sim {ends}"));
    // Mended, it is another policy: its points are run, the others are not.
    fs::write(&file, template).unwrap();
    let mended = swept(&text, &results, 2);
    assert_eq!((mended.reused, mended.failed.len()), (4, 0));
}
