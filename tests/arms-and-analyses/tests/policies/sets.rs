//! What `rearguard` promises to groups in sets of CPUs of their own, which meet others there, come and move.

use crate::fairness::summary;
use crate::production_node::{case, case_with, keeps_its_tail, received};

/// No CPU idles while bound threads wait for one whose thread could go there. In the control it may not.
#[test]
fn what_may_go_to_an_idle_cpu_gives_way_to_bound_threads() {
    let both = case("bound-and-idle");
    let at = received(&both, "rearguard");
    assert!((0.33..0.38).contains(&at), "{at}");
    keeps_its_tail(2, &both, "the service", [1.1, 4.0]);
    let only = case_with("bound-and-idle", &[("weight = 1000", "weight = 1000\ncpus = [1]")]);
    let control = received(&only, "rearguard");
    assert!(control < 0.1, "{control}");
}

/// The same where the threads are bound to two CPUs of four, and where what leaves its CPU may run on both of
/// these alone, of three. The controls are EEVDF, and two heavy threads that may not leave.
#[test]
fn what_may_go_to_an_idle_cpu_gives_way_to_threads_of_a_set() {
    let four = [
        ("cpus = 2\n", "cpus = 4\n"),
        ("cpus = [1]", "cpus = [0, 1]"),
        ("threads = 1", "threads = 2"),
        ("threads = 4", "threads = 8"),
    ];
    let set = case_with("bound-and-idle", &four);
    let at = received(&set, "rearguard");
    assert!((0.32..0.36).contains(&at), "{at}");
    keeps_its_tail(4, &set, "the service", [2.0, 4.0]);
    let stay = [&four[..], &[("weight = 1000", "weight = 1000\ncpus = [0, 1]")]].concat();
    let control = received(&case_with("bound-and-idle", &stay), "rearguard");
    assert!(control < 0.1, "{control}");

    let pair = [
        ("cpus = 2\n", "cpus = 3\n"),
        ("weight = 1000", "weight = 1000\ncpus = [0, 1]"),
        ("threads = 4", "threads = 4\n\n[[change]]\nat = \"0s\"\nprogram = \"web\"\ncpus = [0, 1]"),
        ("service_time = \"200us\"", "service_time = \"2ms\""),
        ("utilisation = 0.15", "utilisation = 0.1"),
    ];
    let at = received(&case_with("bound-and-idle", &pair), "rearguard");
    assert!(at > 0.23, "{at}");
}

/// Groups in sets of their own earn their part from the first turn on, and where they are moved to.
#[test]
fn a_group_in_a_set_of_cpus_is_not_late_when_it_comes_or_moves() {
    keeps_its_tail(4, &case("nested-sets"), "from its first request on", [2.0, 5.0]);
    keeps_its_tail(2, &case("moved-group"), "moved", [1.5, 3.0]);
    let single = [
        ("cpus = [0, 1]", "cpus = [0]"),
        ("cpus = [2, 3]", "cpus = [1]"),
        ("utilisation = 0.15", "utilisation = 0.1"),
    ];
    keeps_its_tail(1, &case_with("moved-group", &single), "of one CPU each", [1.2, 1.5]);
}

/// A heavy thread has one of the set's two CPUs for all of the time. The others have the other one: its set
/// is where they wait. The control is `dwrr`, which asks no set where it is.
#[test]
fn a_thread_that_can_use_no_more_does_not_hold_its_set_back() {
    let has_its_due = |policy| (0.245..0.255).contains(&received(&case("heavy-in-set"), policy));
    assert!(has_its_due("rearguard"));
    assert!(!has_its_due("dwrr"));
}

/// A light group is due a third of the one CPU that no heavy thread has. One of these waits in that cache,
/// and does not keep the CPU from others that wait in the other one. In the control caches do not compare.
#[test]
fn what_waits_for_another_cpu_holds_none_back_from_other_caches() {
    let has_its_due = |policy| {
        let share = summary(&case("sets-over-caches"), policy).groups[1].share;
        (0.98..1.02).contains(&(12.0 * share))
    };
    assert!(has_its_due("rearguard"));
    assert!(!has_its_due("rearguard:min_vruntime=queue"));
}

/// A group waits for a CPU of its two. What runs there goes to another one, and what runs on that to a third,
/// where the light threads are. The control is `dwrr`, under which no thread gives way.
#[test]
fn two_threads_change_places_for_a_third() {
    let has_its_due = |policy| {
        let share = summary(&case("three-change-places"), policy).groups[0].share;
        (0.445..0.46).contains(&share)
    };
    assert!(has_its_due("rearguard"));
    assert!(!has_its_due("dwrr"));
}
