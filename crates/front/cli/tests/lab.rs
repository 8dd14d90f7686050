//! The lab as a user sees it. What boots a machine is left to `make lab-test`, which fetches the kernels.

mod support;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use support::{lab, output, rearguard, run};

/// The kernels that `lab fetch` brings, by the names that stay.
const KERNELS: [&str; 2] = ["6.1", "newest"];
/// A command that never ends. (A sleep would: without KVM idle time is skipped.)
const FOR_EVER: [&str; 3] = ["sh", "-c", "while :; do :; done"];

/// A lab with a kernel that is none.
fn sham() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let kernel = folder.path().join("kernels/9.9.1-sham");
    fs::create_dir_all(&kernel).expect("a folder");
    fs::write(kernel.join("vmlinuz"), "no kernel").expect("a file");
    fs::write(kernel.join("config"), "CONFIG_SCHED_CLASS_EXT=y\n").expect("a file");
    folder
}

#[test]
fn the_list_names_kernels_and_their_features() {
    let lab = sham();
    let (code, stdout, _) = output(&mut rearguard(lab.path(), &["list"]));
    assert_eq!(code, 0);
    let line = stdout.lines().nth(1).expect("a kernel");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words, ["9.9", "9.9.1-sham", "eevdf", "yes"]);
}

#[test]
fn a_missing_tool_is_named_with_its_remedy() {
    let lab = sham();
    let (code, _, stderr) = output(&mut rearguard(lab.path(), &["run", "7.2", "--", "true"]));
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("rearguard lab fetch 7.2"), "{stderr}");
    let mut without_qemu = rearguard(lab.path(), &["run", "9.9", "--", "true"]);
    let (code, _, stderr) = output(without_qemu.env("PATH", lab.path()));
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("apt-get install qemu-system-x86"), "{stderr}");
    let mut without_apt = rearguard(lab.path(), &["fetch"]);
    let (code, _, stderr) = output(without_apt.env("PATH", lab.path()));
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("`apt-get` cannot run"), "{stderr}");
}

#[test]
fn bad_input_is_refused_before_any_boot() {
    let lab = sham();
    for args in [
        &["run", "9.9", "--cpus", "4", "--llcs", "3", "--", "true"][..],
        &["run", "9.9", "--memory", "12", "--", "true"],
        &["run", "9.9", "--timeout", "12", "--", "true"],
        &["run", "9.9", "--timeout", "0s", "--", "true"],
        &["run", "9.9", "--turns", "5us", "--", "true"],
        &["run", "9.9", "--into", "/no/such/folder", "--", "true"],
        &["run", "9.9"],
    ] {
        let (code, _, stderr) = output(&mut rearguard(lab.path(), args));
        assert_eq!(code, 2, "{args:?}: {stderr}");
    }
}

/// `lab run` with a script in QEMU's place, which knows the how manieth time it is started; exit code,
/// complaint, and how often it was.
fn with_script_for_qemu(script: &str) -> (i32, String, usize) {
    let lab = sham();
    let (qemu, starts) = (lab.path().join("qemu-system-x86_64"), lab.path().join("starts"));
    let counted = format!("echo >> {0}; time=$(wc -l < {0})", starts.display());
    let version = r#"case "$*" in *--version) exec echo QEMU;; esac"#;
    fs::write(&qemu, format!("#!/bin/sh\n{version}\n{counted}\n{script}\n")).expect("a file");
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).expect("a file");
    let mut run = rearguard(lab.path(), &["run", "9.9", "--turns", "50us", "--", "true"]);
    let path = std::env::var("PATH").expect("a path");
    let (code, _, stderr) = output(run.env("PATH", format!("{}:{path}", lab.path().display())));
    let starts = fs::read_to_string(starts).expect("started").lines().count();
    (code, stderr, starts)
}

#[test]
fn a_machine_whose_kernel_does_not_come_up_is_started_again_and_no_other() {
    let (up, over) = (r"printf 'b\0\0\0\0'", r"printf 'x\1\0\0\0\0'");
    let falls = "echo Kernel panic >&2; exit 0";
    let third = format!("[ $time -lt 3 ] && {{ {falls}; }}; {up}; {over}");
    assert_eq!(with_script_for_qemu(&third), (0, String::new(), 3));
    let (code, stderr, starts) = with_script_for_qemu(falls);
    assert_eq!((code, starts), (1, 3), "{stderr}");
    assert!(stderr.contains("Kernel panic"), "{stderr}");
    let (code, stderr, starts) = with_script_for_qemu(&format!("{up}; {falls}"));
    assert_eq!((code, starts), (1, 1), "its command may have done anything: {stderr}");
}

/// Names, lengths and times of everything below a folder, and contents where `whole`.
fn fingerprint(folder: &Path, whole: bool, hasher: &mut DefaultHasher) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let about = fs::symlink_metadata(&path).expect("a file that stays");
        (&path, about.len(), about.modified().expect("a time")).hash(hasher);
        if about.is_dir() {
            fingerprint(&path, whole, hasher);
        } else if whole {
            fs::read(&path).expect("readable").hash(hasher);
        }
    }
}

fn apt_of_the_machine() -> u64 {
    let mut hasher = DefaultHasher::new();
    Command::new("apt-config").arg("dump").output().expect("apt").stdout.hash(&mut hasher);
    fingerprint(Path::new("/etc/apt"), true, &mut hasher);
    fingerprint(Path::new("/var/lib/apt"), false, &mut hasher);
    fingerprint(Path::new("/var/cache/apt"), false, &mut hasher);
    hasher.finish()
}

#[test]
#[ignore = "downloads kernels: make lab-test"]
fn fetching_touches_nothing_of_the_machines_apt_and_comes_twice_to_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = apt_of_the_machine();
    let fetch = || output(&mut rearguard(folder.path(), &["fetch"]));
    let (code, stdout, stderr) = fetch();
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(stdout.matches("fetched").count(), KERNELS.len(), "{stdout}");
    assert_eq!(fetch().1.matches("was there").count(), KERNELS.len());
    assert_eq!(apt_of_the_machine(), before, "the machine's apt has changed");
    let of = |folder: &Path| {
        let mut hasher = DefaultHasher::new();
        fingerprint(folder, true, &mut hasher);
        hasher.finish()
    };
    let own = of(folder.path());
    fs::write(folder.path().join("apt/forky/status"), "changed").expect("a file");
    assert_ne!(of(folder.path()), own, "a fingerprint that sees no change proves nothing");
}

#[test]
#[ignore = "asks Debian's archive: make lab-test"]
fn a_kernel_that_debian_has_no_more_is_still_there() {
    let lab = sham();
    let (code, stdout, stderr) = output(&mut rearguard(lab.path(), &["fetch", "9.9"]));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("was there"), "{stdout}");
    let (code, _, stderr) = output(&mut rearguard(lab.path(), &["fetch", "9.8"]));
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("newest"), "{stderr}");
}

#[test]
#[ignore = "boots machines: make lab-test"]
fn output_exit_code_and_files_are_the_commands_own() {
    for kernel in KERNELS {
        let (code, stdout, stderr) = run(&[kernel, "--", "uname", "-r"]);
        assert_eq!((code, stderr.as_str()), (0, ""));
        let (_, list, _) = output(&mut rearguard(lab(), &["list"]));
        assert!(list.contains(&format!(" {} ", stdout.trim())), "{stdout} in {list}");
        let here = tempfile::tempdir().expect("a folder");
        let script = "echo out; echo err >&2; echo kept > /tmp/file; exit 7";
        let into = here.path().to_str().expect("UTF-8");
        let args = [
            kernel,
            "--get",
            "/tmp/file",
            "--get",
            "/tmp/none",
            "--into",
            into,
            "--",
            "sh",
            "-c",
            script,
        ];
        let (code, stdout, stderr) = run(&args);
        assert_eq!((code, stdout.as_str()), (7, "out\n"));
        assert!(stderr.starts_with("err\n") && stderr.contains("/tmp/none: "), "{stderr}");
        assert_eq!(fs::read_to_string(here.path().join("file")).expect("brought"), "kept\n");
    }
}

/// Three comparisons in a guest: one that ends, one that is killed while its scheduler is in force, one
/// beside another scheduler.
#[test]
#[ignore = "boots machines: make lab-test"]
fn a_comparison_on_the_host_loads_schedulers_for_its_runs_alone() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
    let scenario = scenarios.canonicalize().expect("a folder").join("null-rpc.toml");
    let scenario = scenario.display().to_string();
    let script = format!(
        "compare='rearguard compare {scenario} --on host --set program.service.service_time=2ms --seeds 1'
         state='cat /sys/kernel/sched_ext/state'
         $compare --policy default,rearguard --duration 1s > /tmp/table; echo code $?; $state
         $compare --policy rearguard --duration 60s & sleep 6; $state
         kill -9 $!; sleep 2; $state
         scx_rearguard > /tmp/loaded & sleep 6
         $compare --policy rearguard --duration 1s; echo code $?"
    );
    let args = ["7.2", "--cpus", "2", "--turns", "20us", "--put", "cat", "--put", "sleep"];
    let tail = ["--put", scenario.as_str(), "--", "sh", "-c", script.as_str()];
    let (code, stdout, stderr) = run(&[&args[..], &tail].concat());
    assert_eq!(code, 0, "{stderr}");
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines, ["code 0", "disabled", "enabled", "disabled", "code 3"], "{stderr}");
    assert!(stderr.contains("the scheduler `rearguard` is loaded already"), "{stderr}");
}

#[test]
#[ignore = "boots machines: make lab-test"]
fn the_guest_sees_the_machine_that_was_asked_for() {
    let read = "cd /sys/devices/system/cpu; cat cpu?/cache/index3/shared_cpu_list; \
                cat cpu?/topology/thread_siblings_list ../node/node?/cpulist";
    let seen = |shape: &[&str]| {
        let command = ["--put", "cat", "--", "sh", "-c", read];
        let (code, stdout, stderr) = run(&[&["newest"], shape, &command].concat());
        assert_eq!(code, 0, "{stderr}");
        stdout.split_whitespace().map(str::to_string).collect::<Vec<_>>()
    };
    let two_caches = ["0-1", "0-1", "2-3", "2-3", "0", "1", "2", "3", "0-3"];
    assert_eq!(seen(&["--cpus", "4", "--llcs", "2"]), two_caches);
    let pairs_on_nodes = ["0-1", "0-1", "2-3", "2-3", "0-1", "0-1", "2-3", "2-3", "0-1", "2-3"];
    assert_eq!(seen(&["--cpus", "4", "--smt", "2", "--nodes", "2"]), pairs_on_nodes);
    let plain = ["0-3", "0-3", "0-3", "0-3", "0", "1", "2", "3", "0-3"];
    assert_eq!(seen(&["--cpus", "4"]), plain, "the control");
}

/// Loads before and after a group got a quota, which is kept.
#[test]
#[ignore = "boots machines: make lab-test"]
fn a_load_ends_by_itself_and_takes_groups_with_quotas() {
    let script = "load='/rearguard/init load'; $load --dry-run; $load --for 1s; echo code $?\n\
                  echo +cpu > /sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/backup\n\
                  echo 50000 100000 > /sys/fs/cgroup/backup/cpu.max; $load --for 1s; echo code $?";
    let shape = ["newest", "--cpus", "4", "--llcs", "2", "--put", "mkdir"];
    let (code, stdout, stderr) = run(&[&shape[..], &["--", "sh", "-c", script]].concat());
    assert_eq!(code, 0, "{stderr}");
    let codes: Vec<_> = stdout.lines().filter(|line| line.starts_with("code")).collect();
    assert_eq!(codes, ["code 0", "code 0"], "{stdout}{stderr}");
    assert!(stdout.contains("queue 1: CPUs 2-3\n"), "{stdout}");
    assert_eq!(stdout.matches("default class schedules again").count(), 2, "{stdout}");
}

#[test]
#[ignore = "boots machines: make lab-test"]
fn a_command_ended_by_a_signal_and_one_without_end() {
    let (code, _, _) = run(&["newest", "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(code, 128 + 15);
    let mut args = vec!["newest", "--timeout", "15s", "--"];
    args.extend(FOR_EVER);
    let (code, _, stderr) = run(&args);
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("no end after 15s"), "{stderr}");
    assert!(stderr.lines().count() > 1, "the console's last lines: {stderr}");
}

/// A run in the middle, its QEMU, and the folder for its temporary files.
fn midway() -> (Child, u32, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = rearguard(lab(), &["run", "newest", "--"]);
    command.args(FOR_EVER).env("TMPDIR", folder.path());
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let children = format!("/proc/{0}/task/{0}/children", run.id());
    let qemu = || -> Option<u32> {
        let child = fs::read_to_string(&children).ok()?.split_whitespace().next()?.parse().ok()?;
        let name = fs::read_to_string(format!("/proc/{child}/comm")).ok()?;
        name.starts_with("qemu-system").then_some(child)
    };
    let soon = |_| {
        sleep(Duration::from_millis(50));
        qemu()
    };
    let found = (0..600).find_map(soon).unwrap_or_else(|| {
        let _ = run.kill().and_then(|()| run.wait());
        panic!("no QEMU within 30 s")
    });
    (run, found, folder)
}

/// Whether a process is gone, or dead and only not yet waited for.
fn is_gone(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

#[test]
#[ignore = "boots machines: make lab-test"]
fn nothing_is_left_however_a_run_is_stopped() {
    for (signal, code) in [("INT", Some(130)), ("TERM", Some(143)), ("KILL", None)] {
        let (mut run, qemu, folder) = midway();
        assert!(!is_gone(qemu), "the control");
        let id = run.id().to_string();
        Command::new("sh").args(["-c", "kill -$0 $1", signal, &id]).status().expect("kill");
        let status = run.wait().expect("an end");
        assert_eq!(status.code(), code, "{signal}");
        let gone = (0..100).any(|_| {
            is_gone(qemu) || {
                sleep(Duration::from_millis(50));
                false
            }
        });
        assert!(gone, "QEMU outlived its parent by 5 s after {signal}");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "{signal}");
    }
}

/// A scenario of two seconds without a service, and a program in the guest that is a scheduler: this very
/// command.
fn compare_in_guests(script: &str, options: &[&str]) -> Command {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("scx-{}", options.len()));
    fs::create_dir_all(&folder).expect("a folder");
    let (scenario, program) = (folder.join("two.toml"), folder.join("scx_script"));
    let text = "# Two.\nduration = \"2s\"\nseeds = [1]\n[machine]\ncpus = 1\n\
                [[program]]\nname = \"batch\"\nkind = \"batch\"\nthreads = 2\n";
    fs::write(&scenario, text).expect("a file");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rearguard"));
    command.arg("compare").arg(scenario).args(["--on", "vm", "--with"]).arg(program);
    command.args(options).env("RG_LAB_DIR", lab());
    command
}

#[test]
#[ignore = "boots machines: make lab-test"]
fn a_scheduler_that_leaves_early_fails_its_run() {
    let run = |script: &str| output(&mut compare_in_guests(script, &["--policy", "scx_script"]));
    let stays = "exec /rearguard/init load cts";
    let (code, stdout, stderr) = run(stays);
    assert_eq!(code, 0, "the control: {stderr}");
    assert!(stdout.contains("scx_script"), "{stdout}");
    // The magic key that gives the machine back to the default class; the program stays.
    let ejected = "/rearguard/init load cts &\n\
                   while read state < /sys/kernel/sched_ext/state; [ $state != enabled ]; do :; done\n\
                   i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done\n\
                   echo S > /proc/sysrq-trigger\n\
                   while :; do :; done";
    let (code, _, stderr) = run(ejected);
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("was not in force to the end of the run"), "{stderr}");
    assert!(stderr.contains("sched_ext"), "the kernel's own words: {stderr}");
    let (code, _, stderr) = run("echo no luck; exit 3");
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("exit status: 3") && stderr.contains("no luck"), "{stderr}");
}

#[test]
#[ignore = "boots machines: make lab-test"]
fn ctrl_c_ends_a_comparison_with_its_guests() {
    let options = ["--policy", "eevdf,cfs", "--duration", "900s"];
    let mut command = compare_in_guests("exit", &options);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let guests = || -> Vec<u32> {
        let tasks =
            fs::read_dir(format!("/proc/{}/task", run.id())).into_iter().flatten().flatten();
        let children =
            tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        let all = children.collect::<Vec<_>>().join(" ");
        all.split_whitespace().filter_map(|id| id.parse().ok()).collect()
    };
    let found = (0..600).map(|_| (sleep(Duration::from_millis(50)), guests()).1);
    let found = found.into_iter().find(|guests| !guests.is_empty()).expect("a guest within 30 s");
    let id = run.id().to_string();
    Command::new("sh").args(["-c", "kill -INT $0", &id]).status().expect("kill");
    assert_eq!(run.wait().expect("an end").code(), Some(130));
    assert!(found.into_iter().all(is_gone), "a guest outlived the comparison");
}
