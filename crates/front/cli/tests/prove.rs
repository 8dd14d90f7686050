//! `prove` in a guest, where schedulers can be loaded: a signal in the middle leaves nothing.

mod support;

use support::run;

/// Ends `prove` while a scheduler is in force, and says what is there before and after. The shell has all
/// this as an argument, so the pattern must not match its own text.
const PLAY: &str = "
rearguard prove --for 10m >&2 & prove=$!
state() { cat /sys/kernel/sched_ext/state; }
while [ \"$(state)\" != enabled ] && kill -0 $prove; do sleep 0.05; done
echo before $(state) $(pgrep -f '[_]_role' | wc -l)
kill -$SIGNAL $prove
wait $prove
echo after $? $(state) $(pgrep -f '[_]_role' | wc -l) $(ls proof.html 2>/dev/null)
";

fn ended_by(signal: &str) -> String {
    let environment = format!("SIGNAL={signal}");
    let put = ["sh", "sleep", "cat", "pgrep", "wc", "ls"].map(|name| ["--put", name]).concat();
    // To start a thousand processes takes minutes where the guest is emulated.
    let guest = ["newest", "--cpus", "2", "--memory", "2G", "--timeout", "15m"];
    let command = ["--", "env", &environment, "sh", "-c", PLAY];
    let (code, said, stderr) = run(&[&guest[..], &put, &command].concat());
    assert_eq!(code, 0, "{stderr}");
    said
}

#[test]
#[ignore = "boots machines: make lab-test"]
fn a_signal_takes_the_scheduler_out_and_leaves_no_process() {
    for signal in ["INT", "TERM"] {
        let said = ended_by(signal);
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].starts_with("before enabled "), "the control: {said}");
        assert_eq!(lines[1].trim_end(), "after 130 disabled 0", "{said}");
    }
}
