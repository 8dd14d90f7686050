//! A scheduler as a knob, on a real kernel: turned, killed at moments from its begin to its end, turned back.

mod support;

use support::run;

/// The machine as `tune apply` could leave it: whose scheduler is in force, interrupts, cgroups, and the
/// service's class.
const PLAY: &str = r#"
sleep 1000000 & service=$!
snapshot() {
  cat /sys/kernel/sched_ext/state /proc/irq/default_smp_affinity /proc/irq/*/smp_affinity_list /sys/class/net/lo/queues/*/rps_cpus
  cat /sys/fs/cgroup/cgroup.subtree_control
  echo /sys/fs/cgroup/*
  cut -d' ' -f18,19,40,41 /proc/$service/stat
}
turn="rearguard tune apply irq-affinity=0 real-time=20 fifo=cts --pid $service"
before=$(snapshot)
check() {
  [ "$(snapshot)" = "$before" ] && return
  echo "$1: before:"; echo "$before"; echo "now:"; snapshot; exit 1
}
$turn >&2 || exit 1
cat /sys/kernel/sched_ext/root/ops
[ "$(snapshot)" != "$before" ] && echo changed
rearguard tune undo >&2
check undone
loaded=0
for tenths in $(seq 0 3 60); do
  $turn >/dev/null 2>&1 & turning=$!
  sleep $((tenths / 10)).$((tenths % 10))
  kill -9 $turning 2>/dev/null && killed=$((killed + 1))
  wait $turning
  [ "$(cat /sys/kernel/sched_ext/state)" = enabled ] && loaded=$((loaded + 1))
  # It waits for the guard, if that is at work.
  rearguard tune undo >&2 || exit 1
  check "killed after $tenths tenths of a second"
done
echo "killed $killed loaded $loaded"
"#;

#[test]
#[ignore = "boots machines: make lab-test"]
fn a_scheduler_is_a_knob_that_is_turned_back_whenever_its_turning_is_killed() {
    let put = ["cat", "seq", "sleep", "cut"].map(|name| ["--put", name]).concat();
    let guest = ["newest", "--cpus", "2", "--timeout", "15min"];
    let (code, said, stderr) = run(&[&guest[..], &put, &["--", "sh", "-c", PLAY]].concat());
    assert_eq!(code, 0, "{said}\n{stderr}");
    assert!(said.starts_with("rearguard_cts\nchanged\n"), "{said}");
    let counts: Vec<u32> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(counts[0] > 5 && counts[1] > 0, "killed while it turned, and after: {said}");
}
