//! What only looks.

use machine::doctor::{Examination, examine};
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
