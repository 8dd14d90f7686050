//! `rearguard promise`: promises to groups while a policy is in force, through the loader's own socket.

mod check;

use loader::{Answer, Ask, PromiseStatus, ask};
use model::{Failure, Nanos};

/// What to do with promises.
#[derive(clap::Subcommand)]
pub enum Action {
    Set(SetArgs),
    Drop(DropArgs),
    List(ListArgs),
}

/// Promise something to a group, in place of what it was promised before
#[derive(clap::Args)]
pub struct SetArgs {
    /// As load takes it: 'web.service: 10ms=0.1%, at most 60%'
    #[arg(value_name = "CGROUP|UNIT: PROMISE")]
    promise: String,
    #[command(flatten)]
    check: check::Args,
}

/// Take back what a group was promised
#[derive(clap::Args)]
pub struct DropArgs {
    /// The group, as it was named or by its path
    #[arg(value_name = "CGROUP|UNIT")]
    group: String,
}

/// Show every promise, and how it was kept since it was made
#[derive(clap::Args)]
pub struct ListArgs {
    /// Print a JSON document instead
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(action: &Action) -> Result<(), Failure> {
    let (question, json) = match action {
        Action::Set(args) if args.check.check => return check::run(&args.promise, &args.check),
        Action::Set(args) => (Ask::Set(args.promise.clone()), false),
        Action::Drop(args) => (Ask::Drop(args.group.clone()), false),
        Action::List(args) => (Ask::List, args.json),
    };
    match ask(&question)? {
        Answer::Promises(kept) if json => stdout::write(report::json(&kept)),
        Answer::Promises(kept) => stdout::line(table(&kept)),
        Answer::Done(said) | Answer::Refused(_, said) => stdout::line(said),
    }
}

fn table(kept: &[PromiseStatus]) -> String {
    if kept.is_empty() {
        return "no group has a promise".into();
    }
    kept.iter().map(block).collect::<Vec<_>>().join("\n")
}

/// A share of 1 in percent, to a millionth of 1 as promises have it.
fn percent(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}

/// A promise in two lines: what it is, and what came of it.
fn block(of: &PromiseStatus) -> String {
    let (within, outliers, most) = (Nanos(of.within_ns), percent(of.outliers), percent(of.at_most));
    format!("{}: {within}={outliers}%, at most {most}%\n  {}", of.group, standing(of))
}

fn standing(of: &PromiseStatus) -> String {
    let PromiseStatus { span_s, wakes, .. } = of;
    if !of.present {
        return "not in force: the group is gone, or none to the kernel's schedulers".into();
    }
    let Some(late) = of.late_share() else {
        return format!("cannot tell: no wake-up in {span_s:.0} s");
    };
    let verdict = if late <= of.outliers { "kept" } else { "not kept" };
    let (late, used, most) = (percent(late), percent(of.budget_used), percent(of.at_most));
    format!(
        "{verdict}: {late:.3}% of {wakes} wake-ups later in {span_s:.0} s, {used:.1}% of {most:.1}% used"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_is_shown_with_what_came_of_it() {
        let kept = PromiseStatus {
            group: "web.service".into(),
            within_ns: 10_000_000,
            outliers: 0.001,
            at_most: 0.6,
            present: true,
            span_s: 120.0,
            wakes: 4_000,
            late: 4,
            budget_used: 0.31,
        };
        let second = |kept: PromiseStatus| table(&[kept]).lines().nth(1).map(str::to_string);
        assert_eq!(
            table(std::slice::from_ref(&kept)),
            "web.service: 10.0 ms=0.1%, at most 60%\n  kept: 0.100% of 4000 wake-ups later in 120 s, 31.0% of 60.0% used"
        );
        for (changed, expected) in [
            (PromiseStatus { late: 5, ..kept.clone() }, "  not kept: 0.125% of"),
            (
                PromiseStatus { wakes: 0, late: 0, ..kept.clone() },
                "  cannot tell: no wake-up in 120 s",
            ),
            (PromiseStatus { present: false, ..kept }, "  not in force: the group is gone"),
        ] {
            let shown = second(changed).expect("two lines");
            assert!(shown.starts_with(expected), "{shown}");
        }
        assert_eq!(table(&[]), "no group has a promise");
    }
}
