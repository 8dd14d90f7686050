//! What only looks.

use machine::doctor::{Examination, examine};
use machine::facts::{Usage, caveats, facts};
use machine::tune;

use crate::fake::{Fake, assert_same};
use crate::{machine, tree};

fn supported(examination: &Examination, name: &str) -> bool {
    let item = examination.items.iter().find(|item| item.name == name).expect(name);
    assert_eq!(item.supported, item.remedy.is_none(), "{item:?}");
    item.supported
}

#[test]
fn the_doctor_finds_what_is_there_and_names_remedies_for_the_rest() {
    let (folder, _) = machine();
    let look = |kvm| examine(&Fake::new(folder.path()), "/usr/bin:relative", kvm);
    let first = look(Err("no guest boots".into()));
    for name in ["privileges", "sched_ext", "cgroup2 cpuset", "PM QoS", "cpufreq", "NUMA"] {
        assert!(supported(&first, name), "{name}");
    }
    for name in ["BTF", "KVM", "QEMU", "memcached"] {
        assert!(!supported(&first, name), "{name}");
    }
    tree::put(folder.path(), "usr/sbin/memcached", "");
    tree::put(folder.path(), "usr/bin/clang-19", "");
    tree::put(folder.path(), "sys/kernel/btf/vmlinux", "");
    std::fs::remove_dir_all(folder.path().join("sys/kernel/sched_ext")).expect("removed");
    let second = look(Ok("/dev/kvm".into()));
    for name in ["memcached", "clang", "BTF", "KVM"] {
        assert!(supported(&second, name), "{name}");
    }
    assert!(!supported(&second, "sched_ext"));
}

#[test]
fn a_list_shows_every_source_of_table_1_and_changes_nothing() {
    let (folder, before) = machine();
    let knobs = tune::list(&Fake::new(folder.path())).knobs;
    for source in [
        "background processes",
        "non-FIFO scheduling",
        "concurrency architecture",
        "interrupt processing",
        "NUMA effects",
        "power saving",
    ] {
        assert!(knobs.iter().any(|knob| knob.source == source), "{source}");
    }
    assert!(knobs.iter().all(|knob| knob.can == knob.remedy.is_none()), "{knobs:?}");
    let governor = knobs.iter().find(|knob| knob.knob == Some("governor")).expect("a knob");
    assert_eq!(governor.present.as_deref(), Some("powersave (1), schedutil (1)"));
    assert_same(folder.path(), &before, "after a look");
}

/// A page's facts and caveats of the tree with these files in it, too.
fn described(files: &[(&str, &str)]) -> (Vec<(&'static str, String)>, String) {
    let (folder, _) = machine();
    files.iter().for_each(|(path, text)| tree::put(folder.path(), path, text));
    let on = Fake::new(folder.path());
    (facts(&on), caveats(&on).join("\n"))
}

#[test]
fn facts_are_what_the_machine_tells_and_no_more() {
    let cache = |cpu: &str, what: &str| format!("sys/devices/system/cpu/cpu{cpu}/cache/{what}");
    let files = [
        ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Eight: 8 GHz\nflags\t\t: fpu hypervisor"),
        ("proc/meminfo", "MemTotal:       16777216 kB"),
        ("proc/sys/kernel/osrelease", "7.2.0"),
        ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC"),
        ("boot/config-7.2.0", "CONFIG_HZ_250=y\nCONFIG_HZ=250"),
        ("sys/kernel/debug/sched/preempt", "none voluntary full (lazy)"),
        ("sys/devices/system/cpu/vulnerabilities/mds", "Vulnerable: no microcode"),
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI"),
        ("sys/devices/system/cpu/vulnerabilities/tsa", "Not affected"),
        (&cache("0", "index0/level"), "1"),
        (&cache("0", "index0/type"), "Data"),
        (&cache("0", "index0/size"), "48K"),
        (&cache("0", "index3/level"), "3"),
        (&cache("0", "index3/type"), "Unified"),
        (&cache("0", "index3/size"), "32M"),
        (&cache("0", "index3/shared_cpu_list"), "0-1"),
        (&cache("1", "index3/shared_cpu_list"), "0-1"),
        (&cache("2", "index3/shared_cpu_list"), "2-3"),
        (&cache("3", "index3/shared_cpu_list"), "2-3"),
    ];
    let (facts, _) = described(&files);
    let expected = [
        ("processor", "Eight: 8 GHz"),
        ("virtual machine", "yes"),
        ("CPUs", "4 (0-3)"),
        ("caches", "48K L1 data, 32M L3; 2 of the last level"),
        ("NUMA nodes", "2"),
        ("memory", "16.0 GiB"),
        ("governor", "powersave (1), schedutil (1)"),
        ("kernel", "7.2.0 #1 SMP PREEMPT_DYNAMIC"),
        ("HZ", "250"),
        ("preemption", "lazy"),
        ("sched_ext", "disabled"),
        ("mitigations", "against meltdown; vulnerable: mds"),
    ];
    assert_eq!(facts, expected.map(|(what, is)| (what, is.to_string())));
}

/// Each planted, and the control: without it there is no such caveat.
#[test]
fn caveats_are_found_where_they_are_planted() {
    let governor = |name| {
        [0, 1].map(|n| (format!("sys/devices/system/cpu/cpufreq/policy{n}/scaling_governor"), name))
    };
    let (fixed, changing) = (governor("performance"), governor("schedutil"));
    let calm: Vec<(&str, &str)> = fixed.iter().map(|(path, name)| (path.as_str(), *name)).collect();
    assert_eq!(described(&calm).1, "", "control");
    let group = "sys/fs/cgroup/user.slice";
    let planted = [
        ("proc/cpuinfo", "flags : fpu hypervisor", "virtual machine"),
        (&changing[1].0, "schedutil", "governor performance (1), schedutil (1)"),
        ("sys/devices/system/cpu/cpufreq/boost", "1", "Boost"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "0", "Boost"),
        ("sys/devices/system/cpu/smt/active", "1", "SMT"),
        (
            "proc/self/status",
            "Cpus_allowed_list:\t0-1",
            "CPUs 0-1 alone; others are at work on 2-3",
        ),
        (
            &format!("{group}/cpu.max"),
            "50000 100000",
            "/user.slice of this command is held to a quota",
        ),
    ];
    for (path, text, told) in planted {
        let own = [("proc/self/cgroup", "0::/user.slice/mine.scope"), (path, text)];
        let (_, found) = described(&[&calm[..], &own].concat());
        assert!(found.contains(told) && found.lines().count() == 1, "{path}: {found}");
    }
    let (folder, _) = machine();
    std::fs::remove_dir_all(folder.path().join("sys/devices/system/cpu/cpufreq")).expect("removed");
    assert!(caveats(&Fake::new(folder.path())).join("").contains("does not tell"));
}

#[test]
fn other_load_and_stolen_time_are_caveats() {
    let (folder, _) = machine();
    let usage = |line: &str| {
        tree::put(folder.path(), "proc/stat", &format!("cpu  {line}\ncpu0 1\ncpu1 1\nintr 1"));
        Usage::read(&Fake::new(folder.path())).expect("usage")
    };
    let before = usage("100 0 0 1000 0 0 0 0 0 0");
    let calm = usage("101 0 0 1199 0 0 0 0 0 0");
    assert_eq!((calm.others(&before), calm.stolen(&before)), (None, None), "control");
    let busy = usage("150 0 0 1150 0 0 0 0 0 0").others(&before).expect("a caveat");
    assert!(busy.contains("used 0.50 CPUs"), "{busy}");
    let stolen = usage("100 0 0 1180 0 0 0 20 0 0").stolen(&before).expect("a caveat");
    assert!(stolen.contains("withheld 10.0%"), "{stolen}");
    assert_eq!(before.others(&before), None, "no time has passed");
}
