//! `rearguard bisect` on repositories whose worse commit is known.

use std::fs;
use std::path::Path;
use std::process::Command;

const TEMPLATE: &str = include_str!("../../../../policy/examples/template.c");
const SCENARIO: &str = "# A service on two CPUs.\nduration = \"300ms\"\nseeds = [1]\n\
    [machine]\ncpus = 2\n[[program]]\nname = \"web\"\nkind = \"service\"\n\
    architecture = \"thread-per-connection\"\nconnections = 64\n\
    service_time = { law = \"exponential\", mean = \"200us\" }\n\
    arrivals = { law = \"poisson\", utilisation = 0.8 }\n";
/// The longest waiter first, and what takes its place: the shortest.
const OLDEST: &str = "rg_options()->slice_ns, thread->waits_since);";
const NEWEST: &str = "rg_options()->slice_ns, ~thread->waits_since);";
/// An idle CPU is told of a thread, and what takes its place: it sleeps on, a wake-up is lost.
const KICK: &str = "rg_kick(idle, RG_KICK_IDLE);";
const LOST: &str = "(void)idle;";
/// How many commits follow the good one.
const AFTER: usize = 11;

fn git(at: &Path, words: &[&str]) -> String {
    let own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
    let output = Command::new("git").arg("-C").arg(at).args(own).args(words).output();
    let output = output.expect("git runs");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").trim().to_string()
}

/// A waking thread takes an idle CPU itself, and what takes its place: it leaves that to the kick.
const DIRECT: &str = "rg_default_cpu(t, prev_cpu, &idle)";
const KICKED: &str = "prev_cpu";

/// A repository of `AFTER` commits after a good one, tagged `v0` and so on; `change` says what each does.
fn history(change: impl Fn(usize, &str) -> String) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("web.toml"), SCENARIO).expect("a scenario");
    fs::create_dir(at.join("policy")).expect("a folder");
    git(at, &["init", "--quiet", "."]);
    let mut text = TEMPLATE.replace(DIRECT, KICKED);
    for number in 0..=AFTER {
        text = change(number, &format!("{text}/* {number} */\n"));
        fs::write(at.join("policy/mine.c"), &text).expect("a policy");
        git(at, &["add", "policy"]);
        git(at, &["commit", "--quiet", "-m", &format!("change {number}")]);
        git(at, &["tag", &format!("v{number}")]);
    }
    folder
}

/// Exit code, stdout and stderr of `rearguard bisect` in a folder.
fn bisect(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    let output = command.arg("bisect").args(args).current_dir(folder).output();
    let output = output.expect("the built command runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

const ASKED: [&str; 8] =
    ["v0", "v11", "--git", ".", "--policy", "./policy/mine.c", "--scenarios", "web.toml"];

fn planted(at: usize, old: &'static str, new: &'static str) -> tempfile::TempDir {
    assert!(TEMPLATE.contains(old) && TEMPLATE.contains(DIRECT), "the template has changed");
    history(move |number, text| if number == at { text.replace(old, new) } else { text.into() })
}

#[test]
fn a_wrong_order_and_a_lost_wake_up_are_found_wherever_they_came() {
    for (at, old, new) in
        [(1, OLDEST, NEWEST), (7, OLDEST, NEWEST), (4, KICK, LOST), (11, KICK, LOST)]
    {
        let folder = planted(at, old, new);
        let (code, stdout, stderr) = bisect(folder.path(), &ASKED);
        let hash = git(folder.path(), &["rev-parse", "--short=12", &format!("v{at}")]);
        let wanted = format!("first worse: {hash} change {at}\n");
        assert!(code == 0 && stdout.contains(&wanted), "{at}: {stdout}{stderr}");
        let rows = stdout.lines().filter(|line| line.contains("  change ")).count();
        assert!(rows <= 6, "4 answers and both ends: {stdout}");
    }
}

/// From commit 5 on the policy names a CPU that is not there, which ends every run.
#[test]
fn a_version_that_fails_outright_is_found_by_that() {
    let folder = planted(5, "(void)prev;", "(void)prev; rg_kick(999, 0);");
    let (code, stdout, stderr) = bisect(folder.path(), &ASKED);
    assert!(code == 0 && stdout.contains(" change 5\n6 of 12 versions"), "{stdout}{stderr}");
    assert!(stdout.contains("CPU 999") && !stdout.contains("5% at most"), "{stdout}");
}

#[test]
fn a_history_that_became_no_worse_names_no_commit() {
    let folder = history(|_, text| text.to_string());
    let (code, stdout, stderr) = bisect(folder.path(), &ASKED);
    assert!(code == 3 && stdout.starts_with("cannot tell: "), "{stdout}{stderr}");
    assert!(!stdout.contains("first worse"), "{stdout}");
}

/// Commit 5 is worse, and 4 to 6 do not compile.
#[test]
fn what_cannot_be_built_is_passed_over_and_named_where_it_matters() {
    let broken = |number: usize, text: &str| {
        let text = text.replace("#error\n", "");
        let text = if number == 5 { text.replace(OLDEST, NEWEST) } else { text };
        if (4..=6).contains(&number) { format!("{text}#error\n") } else { text }
    };
    let folder = history(broken);
    let (code, stdout, stderr) = bisect(folder.path(), &ASKED);
    assert!(code == 3 && stdout.contains("cannot tell which of these"), "{stdout}{stderr}");
    let among = stdout.split("cannot tell which").nth(1).expect("a list");
    for number in 3..=8 {
        let is_open = (4..=7).contains(&number);
        assert_eq!(among.contains(&format!(" change {number}\n")), is_open, "{number}: {stdout}");
    }
    let elsewhere = history(|number, text| {
        let text = text.replace("#error\n", "");
        let text = if number == 9 { text.replace(OLDEST, NEWEST) } else { text };
        if (4..=6).contains(&number) { format!("{text}#error\n") } else { text }
    });
    let (code, stdout, _) = bisect(elsewhere.path(), &ASKED);
    assert!(code == 0 && stdout.contains("change 9\n"), "{stdout}");
}

#[test]
fn what_was_kept_is_not_run_again_and_is_of_one_kind() {
    let folder = planted(7, OLDEST, NEWEST);
    let kept =
        |more: &[&str]| bisect(folder.path(), &[&ASKED[..], &["--keep", "kept"], more].concat());
    let (_, first, told) = kept(&[]);
    assert!(told.contains(": runs 1 to 5"), "control: {told}");
    let (code, again, told) = kept(&[]);
    assert!((code, &again) == (0, &first) && !told.contains("runs 1"), "{told}");
    // A build that was cut off is no build.
    let v11 = git(folder.path(), &["rev-parse", "--short=12", "v11"]);
    let own = folder.path().join("kept").join(&v11);
    fs::remove_file(own.join("built")).expect("a build");
    fs::write(own.join("tree/policy/mine.c"), "half").expect("half a tree");
    fs::remove_file(own.join("runs.json")).expect("runs");
    assert_eq!(kept(&[]).1, first);
    let (code, _, told) = kept(&["--policy", "template"]);
    assert!(code == 2 && told.contains("cannot be used multiple times"), "{told}");
    fs::write(folder.path().join("web.toml"), SCENARIO.replace("200us", "300us")).expect("another");
    let (code, stdout, told) = kept(&[]);
    assert!(code == 2 && stdout.is_empty() && told.contains("--keep"), "{told}");
}

#[test]
fn releases_are_built_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("web.toml"), SCENARIO).expect("a scenario");
    let releases = at.join("releases");
    fs::create_dir(&releases).expect("a folder");
    for (name, text) in [
        ("1.0", TEMPLATE.to_string()),
        ("1.1", TEMPLATE.replace(OLDEST, NEWEST)),
        ("2.0", TEMPLATE.replace(OLDEST, NEWEST)),
    ] {
        fs::write(releases.join(format!("{name}.c")), text).expect("a release");
    }
    let build = format!("cp \"{}/$VERSION.c\" mine.c", releases.display());
    let asked = |versions: &str, build: &str| {
        let common = ["--policy", "./mine.c", "--scenarios", "web.toml"];
        bisect(at, &[&["--versions", versions, "--build", build], &common[..]].concat())
    };
    let (code, stdout, stderr) = asked("1.0,1.1,2.0", &build);
    assert!(code == 0 && stdout.contains("first worse: 1.1\n"), "{stdout}{stderr}");
    let built = at.join("built");
    let fails = format!("echo $VERSION >> \"{}\"; exit 7", built.display());
    let (code, stdout, stderr) = asked("1.0,1.1", &fails);
    assert!(
        code == 1
            && stdout.is_empty()
            && stderr.contains("1.0: its build ended with exit status: 7"),
        "{stderr}"
    );
    let once = || fs::read_to_string(&built).expect("names");
    assert_eq!(once(), "1.0\n");
    let last = format!("{build}; echo $VERSION >> \"{}\"; [ $VERSION = 1.0 ]", built.display());
    assert_eq!(asked("1.0,1.1", &last).0, 1);
    assert_eq!(once(), "1.0\n1.0\n1.1\n", "each is built once");
}

/// A program of the given name that does what the script says.
fn stand_in(folder: &Path, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Asks for releases of a crate where curl answers with this list, and cargo notes what it is asked for.
fn of_crate(list: &str, kernel: &str, args: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let (at, bin) = (folder.path(), folder.path().join("bin"));
    fs::create_dir(&bin).expect("a folder");
    fs::write(at.join("web.toml"), SCENARIO).expect("a scenario");
    fs::write(at.join("list"), list).expect("a list");
    stand_in(&bin, "curl", &format!("echo \"$@\" > {0}/asked; cat {0}/list", at.display()));
    stand_in(&bin, "cargo", &format!("echo \"$@\" > {}/built; exit 7", at.display()));
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    let kernel = at.join("lab/kernels").join(kernel);
    fs::create_dir_all(&kernel).expect("a folder");
    fs::write(kernel.join("vmlinuz"), "no kernel").expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    let output = command
        .env("RG_LAB_DIR", at.join("lab"))
        .args([&["bisect"], args, &["--scenarios", "web.toml"]].concat())
        .env("PATH", path)
        .current_dir(at)
        .output()
        .expect("the built command runs");
    let noted = |name| fs::read_to_string(at.join(name)).unwrap_or_default();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().expect("an exit code"), noted("asked") + &noted("built"), stderr)
}

/// Two releases, and one that was withdrawn.
const LIST: &str = "{\"vers\":\"1.0.9\",\"yanked\":false}\n{\"vers\":\"1.0.10\",\"yanked\":true}\n\
    {\"vers\":\"1.0.11\",\"yanked\":false}\n";

#[test]
fn releases_of_a_crate_are_listed_and_built_by_cargo() {
    let (code, noted, stderr) = of_crate(LIST, "7.3.4", &["1.0.9", "1.0.11", "--crate", "scx_x"]);
    assert!(code == 1 && stderr.contains("1.0.9: its build ended with exit status: 7"), "{stderr}");
    assert!(noted.contains("https://index.crates.io/sc/x_/scx_x\n"), "{noted}");
    assert!(noted.ends_with("install --quiet --locked --root . scx_x@1.0.9\n"), "{noted}");
    let own = ["--build", "exit 9"];
    let (_, noted, stderr) =
        of_crate(LIST, "7.3.4", &[&["1.0.9", "1.0.11", "--crate", "scx_x"], &own[..]].concat());
    assert!(stderr.contains("exit status: 9") && !noted.contains("install"), "{noted}{stderr}");
}

#[test]
fn a_crate_that_cannot_be_asked_for_is_refused_before_a_build() {
    for (args, words) in [
        (
            &["1.0.9", "1.0.10", "--crate", "scx_x"][..],
            "no release `1.0.10`: it has 1.0.9 and 1.0.11",
        ),
        (&["1.0.11", "1.0.9", "--crate", "scx_x"], "give the older release first"),
        (&["1.0.9", "1.0.11", "--crate", "../x"], "such as scx_lavd"),
        (&["1.0.9", "1.0.11", "--crate", "scx_x", "--on", "sim"], "the same in every version"),
        (&["1.0.9", "1.0.11", "--crate", "scx_x", "--git", "."], "cannot be used with"),
        (&["1.0.9", "--crate", "scx_x"], "required"),
    ] {
        let (code, noted, stderr) = of_crate(LIST, "7.3.4", args);
        assert!(code == 2 && stderr.contains(words), "{args:?} {code}: {stderr}");
        assert!(!noted.contains("install"), "{noted}");
    }
}

#[test]
fn guests_without_a_kernel_are_told_before_a_build() {
    let asked = ["1.0.9", "1.0.11", "--crate", "scx_x", "--kernel", "7.3"];
    for (kernel, args, words) in [
        ("6.1.0-9", &asked[..4], "no kernel with sched_ext is in the lab"),
        ("6.1.0-9", &asked, "kernel 7.3 is not in the lab (there is 6.1)"),
    ] {
        let (code, noted, stderr) = of_crate(LIST, kernel, args);
        assert!(code == 3 && stderr.contains(words), "{code}: {stderr}");
        assert!(!noted.contains("install"), "{noted}");
    }
    assert!(of_crate(LIST, "7.3.4", &asked).1.contains("install"), "the control");
}

#[test]
fn bad_input_is_refused_before_anything_is_built() {
    let folder = planted(3, OLDEST, NEWEST);
    let refused = |args: &[&str], words: &str| {
        let (code, stdout, stderr) = bisect(folder.path(), args);
        assert!(
            code == 2 && stdout.is_empty() && stderr.contains(words),
            "{args:?} {code}: {stderr}"
        );
    };
    let with = |good, worse| [&[good, worse], &ASKED[2..]].concat();
    refused(&with("v99", "v11"), "no commit `v99`");
    refused(&with("v0", "--output=x"), "");
    refused(&with("v11", "v0"), "give the older one first");
    refused(&with("v3", "v3"), "the same commit");
    refused(&[&ASKED[..], &["--figure", "p99"]].concat(), "latency_ns.p99");
    refused(&[&ASKED[..], &["--seeds", "2"]].concat(), "3..=1000");
    let of = |versions| ["--versions", versions, "--policy", "./m.c", "--scenarios", "web.toml"];
    refused(&of("1.0"), "two or more");
    refused(&of("1.0,../x"), "such as 1.0.19");
    refused(&of("1.0,1.0"), "given twice");
    refused(&["v0", "v11", "--policy", "./m.c", "--scenarios", "web.toml"], "--git");
    let named = ["v0", "v11", "--git", ".", "--scenarios", "web.toml", "--policy", "rearguard"];
    refused(&named, "the same in every version");
    refused(&[&named[..], &["--with", "x"]].concat(), "the same in every version");
    refused(&[&["v0", "v11", "--git", "none"], &ASKED[4..]].concat(), "no commit `v0`");
    let untouched = git(folder.path(), &["status", "--porcelain", "--untracked-files=no"]);
    assert_eq!(untouched, "");
    assert_eq!(git(folder.path(), &["worktree", "list"]).lines().count(), 1);
}
