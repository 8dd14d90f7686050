//! A service in a cell too small for its load, on a real kernel: `cell balance` gives it CPUs until its tail
//! is as wanted.

mod support;

use support::run;

/// One CPU is wanted 1.4 times over, of two 0.7.
const PLAY: &str = "
set -e
rearguard cell create web --cpus 1 >&2
rearguard cell create batch --cpus 2-3 >&2
rearguard cell run web -- rearguard serve null-rpc --cpus 1,2,3 --target 'null-rpc://127.0.0.1:7000?service=4ms' >served &
while ! [ -s served ]; do sleep 0.1; done
sleep 2
rearguard measure --target 'null-rpc://127.0.0.1:7000?service=4ms' --cpus 0 --rate 350/s --duration 14s --outlier 100ms \
  --service-time 4ms --live --metrics 127.0.0.1:9898 --cell web --json >/dev/null 2>measured &
measure=$!
if [ $BALANCE = yes ]; then
  sleep 3
  rearguard cell balance --outlier 100ms=5% --metrics http://127.0.0.1:9898/metrics --batch batch --count 5
fi
wait $measure || true
cat measured >&2
rearguard cell destroy web --kill >&2
rearguard cell destroy batch >&2
";

/// What balance said, and the share of slow requests of each second.
fn played(balance: &str) -> (String, Vec<f64>) {
    let environment = format!("BALANCE={balance}");
    let guest = ["newest", "--cpus", "4", "--turns", "20us"];
    let put = ["--put", "sleep", "--put", "cat", "--put", "sh"];
    let command = ["--", "env", &environment, "sh", "-c", PLAY];
    let (code, said, stderr) = run(&[&guest[..], &put, &command].concat());
    assert_eq!(code, 0, "{stderr}");
    let share = |line: &str| line.split_once("over 100 ms ")?.1.split('%').next()?.parse().ok();
    (said, stderr.lines().filter_map(share).collect())
}

#[test]
#[ignore = "boots machines: make lab-test"]
fn balance_gives_a_cell_cpus_until_its_outliers_are_as_wanted() {
    let (said, shares) = played("yes");
    assert_eq!(said.matches("goes from batch to web").count(), 1, "{said}");
    let last = shares.last().copied().expect("seconds");
    assert!(last <= 5.0, "{last}% at the end: {shares:?}\n{said}");
    // The control: a cell without a CPU more stays slow.
    let (_, shares) = played("no");
    assert!(shares.last().is_some_and(|last| *last > 50.0), "{shares:?}");
}
