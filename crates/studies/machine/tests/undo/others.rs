//! Others change the machine, too.

use std::fs;
use std::time::Duration;

use machine::{Machine, tune};

use crate::fake::{BOUND_IRQ, FIRST_STARTED, Fake, assert_same};
use crate::{alive, apply, machine, tree};

/// In a home.
const JOURNAL: &str = ".local/state/rearguard/journal";
const GOVERNOR: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor";

#[test]
fn what_another_program_changed_is_named_and_left_until_forced() {
    let (folder, before) = machine();
    let machine = alive(folder.path());
    apply(&machine, &["governor"]).expect("applied");
    tree::put(folder.path(), GOVERNOR, "ondemand");
    for _ in 0..2 {
        let (_, undone) = tune::undo_all(&machine, false).expect("undone");
        assert_eq!(undone.conflicts.len(), 1, "{undone:?}");
        for word in ["policy0", "powersave", "performance", "ondemand"] {
            assert!(undone.conflicts[0].contains(word), "{undone:?}");
        }
        let now = fs::read_to_string(folder.path().join(GOVERNOR)).expect("a file");
        assert_eq!(now.trim(), "ondemand");
    }
    let (_, undone) = tune::undo_all(&machine, true).expect("undone");
    assert!(undone.is_complete(), "{undone:?}");
    assert_same(folder.path(), &before, "undone");
}

#[test]
fn what_ended_meanwhile_needs_nothing() {
    let (folder, mut before) = machine();
    let machine = alive(folder.path());
    apply(&machine, &["real-time", "dedicated-cpus=3"]).expect("applied");
    fs::remove_dir_all(folder.path().join("proc/101")).expect("the worker ends");
    let procs = folder.path().join("sys/fs/cgroup/rearguard-tune-1/cgroup.procs");
    fs::write(procs, "100\n").expect("a file");
    before.retain(|path, _| !path.starts_with("proc/101/"));
    before.insert("sys/fs/cgroup/web.service/cgroup.procs".into(), "100\n".into());
    let (_, undone) = tune::undo_all(&machine, false).expect("undone");
    assert!(undone.is_complete(), "{undone:?}");
    assert_same(folder.path(), &before, "undone");
}

#[test]
fn what_has_ended_and_is_still_listed_is_left_alone() {
    let (folder, before) = machine();
    let stat = folder.path().join("proc/101/stat");
    let ended = fs::read_to_string(&stat).expect("a stat").replace(") S ", ") Z ");
    fs::write(&stat, &ended).expect("a stat");
    let machine = alive(folder.path());
    apply(&machine, &["dedicated-cpus=3"]).expect("applied");
    let group = fs::read_to_string(folder.path().join("proc/101/cgroup")).expect("a file");
    assert_eq!(group, before["proc/101/cgroup"]);
    tune::undo_all(&machine, false).expect("undone");
    fs::write(&stat, &before["proc/101/stat"]).expect("a stat");
    assert_same(folder.path(), &before, "undone");
}

#[test]
fn a_reused_process_id_is_another_process() {
    let (folder, _) = machine();
    let machine = alive(folder.path());
    apply(&machine, &["real-time"]).expect("applied");
    let stat = folder.path().join("proc/101/task/111/stat");
    let other = fs::read_to_string(&stat).expect("a stat").replace(" 1111 ", " 9999 ");
    fs::write(&stat, &other).expect("a stat");
    // Its class is the one that the service's threads were given, but it was never in the service's list. As
    // a thread of the service it inherited the class, so that is reset.
    let (_, undone) = tune::undo_all(&machine, false).expect("undone");
    assert!(undone.is_complete(), "{undone:?}");
    let now = fs::read_to_string(&stat).expect("a stat");
    assert!(now.contains(" 9999 "), "{now}");
}

#[test]
fn threads_that_started_since_get_their_class_back() {
    let (folder, mut before) = machine();
    let machine = alive(folder.path());
    apply(&machine, &["real-time=20"]).expect("applied");
    // A clone of a thread that has the class.
    let of = |thread: i32| folder.path().join(format!("proc/100/task/{thread}/stat"));
    fs::create_dir_all(of(120).parent().expect("a folder")).expect("a folder");
    fs::copy(of(100), of(120)).expect("a thread");
    tune::undo_all(&machine, false).expect("undone");
    let main = before["proc/100/task/100/stat"].clone();
    before.insert("proc/100/task/120/stat".into(), main);
    assert_same(folder.path(), &before, "undone");
}

#[test]
fn what_belongs_to_a_cpu_is_said_and_skipped() {
    let (folder, before) = machine();
    let machine = alive(folder.path());
    let skipped = apply(&machine, &["irq-affinity=0"]).expect("applied");
    assert_eq!(skipped.len(), 1, "{skipped:?}");
    assert!(skipped[0].starts_with(BOUND_IRQ), "{skipped:?}");
    tune::undo_all(&machine, false).expect("undone");
    assert_same(folder.path(), &before, "undone");
}

#[test]
fn a_torn_line_is_no_change_and_a_broken_one_is_named() {
    let (folder, before) = machine();
    let machine = alive(folder.path());
    apply(&machine, &["governor"]).expect("applied");
    let journal = folder.path().join("var/lib/rearguard/journal/000001.jsonl");
    let whole = fs::read_to_string(&journal).expect("a journal");
    fs::write(&journal, whole.replacen("{\"record\"", "{\"rec", 1)).expect("written");
    let failure = tune::undo_all(&machine, false).unwrap_err();
    assert!(failure.to_string().contains("000001.jsonl:2"), "{failure}");
    fs::write(&journal, format!("{whole}{{\"record\":\"chan")).expect("written");
    tune::undo_all(&machine, false).expect("undone");
    assert_same(folder.path(), &before, "undone");
}

#[test]
fn bad_input_changes_nothing() {
    let (folder, before) = machine();
    let machine = alive(folder.path());
    for (knobs, code, word) in [
        (&["governer"][..], 2, "did you mean `governor`"),
        (&["governor=turbo"], 2, "performance powersave"),
        (&["governor", "governor"], 2, "twice"),
        (&["irq-affinity"], 2, "expected CPUs"),
        (&["irq-affinity=7"], 2, "CPUs 7 are not there"),
        (&["dedicated-cpus=0-3"], 2, "one CPU at least"),
        (&["numa=4"], 2, "0-1"),
        (&["numa=0", "dedicated-cpus=2"], 2, "not on node 0"),
        (&["real-time=99"], 2, "1 to 98"),
        (&["idle-latency=-1"], 2, "microseconds"),
    ] {
        let failure = apply(&machine, knobs).unwrap_err();
        assert_eq!(failure.exit_code(), code, "{knobs:?}: {failure}");
        assert!(failure.to_string().contains(word), "{knobs:?}: {failure}");
        assert_same(folder.path(), &before, &format!("{knobs:?}"));
    }
    tree::put(folder.path(), "sys/kernel/sched_ext/state", "enabled");
    assert_eq!(apply(&machine, &["fifo"]).unwrap_err().exit_code(), 3);
    tree::put(folder.path(), "proc/self/status", "CapEff:\t0000000000000000");
    let failure = apply(&machine, &["governor"]).unwrap_err();
    assert!(failure.exit_code() == 3 && failure.to_string().contains("sudo"), "{failure}");
}

#[test]
fn what_another_user_turned_is_theirs_to_undo() {
    let (folder, _) = machine();
    let of = |state: &str| Machine::new(Box::new(Fake::new(folder.path())), state, false);
    let machine = of("/home/bob/.local/state/rearguard");
    assert_eq!(tune::others(&machine), [], "no user has turned anything");
    let (theirs, anns) = (of("/var/lib/rearguard"), of("/home/ann/.local/state/rearguard"));
    apply(&theirs, &["governor"]).expect("applied");
    apply(&anns, &["idle-latency"]).expect("applied");
    let users = || tune::others(&machine).into_iter().map(|other| other.user).collect::<Vec<_>>();
    assert_eq!(users(), ["root", "ann"]);
    assert_eq!(tune::undo_all(&machine, false).expect("nothing").0, 0, "none of it is ours");
    assert_eq!(tune::others(&theirs).len(), 1, "our own is no other's");
    tune::undo_all(&anns, false).expect("undone");
    assert_eq!(users(), ["root"]);
    tree::put(folder.path(), "proc/sys/kernel/random/boot_id", "second");
    assert_eq!(users(), [""; 0], "a reboot has ended it");
}

/// A pipe in the place of a journal would hang root, a link to `/dev/zero` would take its memory, and words
/// would reach its terminal.
#[test]
fn journals_of_others_neither_hang_root_nor_reach_its_terminal() {
    let (folder, _) = machine();
    let of = |state: &str| Machine::new(Box::new(Fake::new(folder.path())), state, false);
    apply(&of("/home/ann/.local/state/rearguard"), &["governor"]).expect("applied");
    let journal = |name: &str| folder.path().join(format!("home/ann/{JOURNAL}/{name}.jsonl"));
    let honest = fs::read_to_string(journal("000001")).expect("a journal");
    let escape = honest.replace("\"asked\":\"test\"", "\"asked\":\"a\\u001b[2J\"");
    assert_ne!(escape, honest, "the control: there is an escape in it");
    fs::write(journal("000002"), escape).expect("a file");
    nix::unistd::mkfifo(&journal("000003"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    std::os::unix::fs::symlink("/dev/zero", journal("000004")).expect("a link");
    fs::write(journal("000005"), vec![b'x'; 3 << 20]).expect("a file");
    let others = answer_of(move || {
        let root = folder;
        tune::others(&Machine::new(Box::new(Fake::new(root.path())), "/var/lib/rearguard", false))
    });
    let asked = ["test".to_string(), "a?[2J".to_string()].into();
    assert_eq!(others, [tune::Other { user: "ann".to_string(), asked }]);
}

#[test]
fn a_journal_that_cannot_be_listed_is_no_empty_one() {
    let (folder, _) = machine();
    let machine = alive(folder.path());
    apply(&machine, &["governor"]).expect("applied");
    let journal = folder.path().join("var/lib/rearguard/journal");
    let aside = journal.with_extension("aside");
    let refused = || {
        let told = [tune::undo_all(&machine, false).map(drop), tune::status(&machine).map(drop)];
        for failure in told.map(Result::unwrap_err) {
            assert_eq!(failure.exit_code(), 3, "{failure}");
            assert!(failure.to_string().contains("/var/lib/rearguard/journal: "), "{failure}");
        }
        fs::remove_file(&journal).expect("removed");
    };
    fs::rename(&journal, &aside).expect("put aside");
    assert_eq!(tune::undo_all(&machine, false).expect("the control").0, 0, "there is none");
    std::os::unix::fs::symlink("/nowhere/journal", &journal).expect("a link");
    refused();
    fs::write(&journal, "").expect("a file");
    refused();
    fs::rename(&aside, &journal).expect("put back");
    assert_eq!(tune::undo_all(&machine, false).expect("undone").0, 1);
}

#[test]
fn what_is_no_session_of_this_version_is_named_and_not_obeyed() {
    for (name, word) in
        [("000002", "no regular file"), ("000003", "journal/2"), ("last", "follows")]
    {
        let (folder, before) = machine();
        apply(&alive(folder.path()), &["governor"]).expect("applied");
        let journal = folder.path().join("var/lib/rearguard/journal");
        let name = name.replace("last", &u64::MAX.to_string());
        let (first, file) = (journal.join("000001.jsonl"), journal.join(format!("{name}.jsonl")));
        let text = fs::read_to_string(&first).expect("a journal");
        match word {
            "no regular file" => {
                nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).expect("a pipe")
            }
            "journal/2" => fs::write(&file, text.replace("journal/1", word)).expect("a file"),
            _ => fs::write(&file, "").expect("a file"),
        }
        let root = folder.path().to_path_buf();
        let failure = answer_of(move || apply(&alive(&root), &["idle-latency"])).unwrap_err();
        let said = failure.to_string();
        assert!(said.contains(&name) && said.contains(word), "{said}");
        fs::remove_file(&file).expect("removed");
        tune::undo_all(&alive(folder.path()), false).expect("the control");
        assert_same(folder.path(), &before, "undone");
    }
}

/// The answer, if there is one before long.
fn answer_of<T: Send + 'static>(ask: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(ask()));
    told.recv_timeout(Duration::from_secs(20)).expect("it hangs")
}

#[test]
fn the_status_names_every_value_before_and_now() {
    let (folder, _) = machine();
    let machine = alive(folder.path());
    let status = || tune::status(&machine).expect("a status").sessions;
    assert_eq!(status(), []);
    apply(&machine, &["governor"]).expect("applied");
    tree::put(folder.path(), GOVERNOR, "ondemand");
    let one = &status()[0];
    let of = |policy: &str| {
        let change = one.changes.iter().find(|change| change.target.contains(policy));
        let change = change.expect("a change");
        [&change.before, &change.after, change.now.as_ref().expect("a value")].map(String::as_str)
    };
    assert_eq!(of("policy0"), ["powersave", "performance", "ondemand"]);
    assert_eq!(of("policy1"), ["schedutil", "performance", "performance"]);
    tune::undo_all(&machine, true).expect("undone");
    assert_eq!(status(), []);
}

#[test]
fn a_process_of_another_user_with_our_token_is_not_ours() {
    let (folder, before) = machine();
    let machine = alive(folder.path());
    apply(&machine, &["fifo"]).expect("applied");
    let journal = folder.path().join("var/lib/rearguard/journal/000001.jsonl");
    let text = fs::read_to_string(&journal).expect("a journal");
    let random = fs::read_to_string(folder.path().join("proc/sys/kernel/random/uuid")).unwrap();
    assert!(text.contains(random.trim()), "the token is random: {text}");
    // Its number is less, so it is found first.
    let other = folder.path().join(format!("proc/{}", FIRST_STARTED - 1));
    let ours = fs::read_dir(folder.path().join("proc")).unwrap().filter_map(Result::ok);
    let ours = ours.map(|entry| entry.path().join("environ")).find(|path| path.exists());
    fs::create_dir_all(&other).expect("a folder");
    fs::copy(ours.expect("it was started"), other.join("environ")).expect("copied");
    fs::write(other.join("status"), "Uid:\t4242\t0\t0\t0\n").expect("written");
    tune::undo_all(&machine, false).expect("undone");
    assert!(other.exists(), "another user's process was ended");
    fs::remove_dir_all(other).expect("removed");
    assert_same(folder.path(), &before, "undone");
}
