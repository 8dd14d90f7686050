//! After over before, figure by figure, and what may be said of it.

use report::difference::{Change, FigureChange};
use report::document::Estimate;

use super::found::{Figure, Found, Subject};
use super::pairs::Pair;

/// Every figure that both sides have.
pub(super) fn change(pair: &Pair) -> Change {
    let name = |side: &[(&Found, &Subject)]| side.first().map_or(String::new(), |one| one.1.name());
    let figures = pair.before.first().map_or(&[][..], |(_, subject)| &subject.figures);
    Change {
        before: name(&pair.before),
        after: name(&pair.after),
        figures: figures.iter().filter_map(|figure| of_figure(pair, figure)).collect(),
    }
}

fn of_figure(pair: &Pair, figure: &Figure) -> Option<FigureChange> {
    let (before, after) = (values(&pair.before, figure)?, values(&pair.after, figure)?);
    let ratio = if before.len() > 1 && after.len() > 1 {
        of_runs(&before, &after)
    } else {
        after[0].over(&before[0])
    };
    let seeds = |side: &[(&Found, &Subject)]| side.iter().map(|(file, _)| file.runs).sum::<usize>();
    let runs = seeds(&pair.before).min(seeds(&pair.after));
    Some(FigureChange {
        figure: figure.key.clone(),
        before: pooled(&before),
        after: pooled(&after),
        ratio,
        answer: sense(&figure.key).and_then(|less_is_better| ratio.answer(runs, less_is_better)),
    })
}

/// The figure in each file; `None` where one lacks it or knows nothing.
fn values(side: &[(&Found, &Subject)], figure: &Figure) -> Option<Vec<Estimate>> {
    let same = |own: &&Figure| (&own.key, &own.given) == (&figure.key, &figure.given);
    let of = |(_, subject): &(&Found, &Subject)| {
        let found = subject.figures.iter().find(same)?.value;
        (found != Estimate::default()).then_some(found)
    };
    let all: Option<Vec<Estimate>> = side.iter().map(of).collect();
    all.filter(|all| !all.is_empty())
}

/// One file's own; the mean of several (the geometric one, as ratios are, but where one is 0), from the least
/// to the greatest of them.
fn pooled(all: &[Estimate]) -> Estimate {
    let [one] = all else {
        let values: Option<Vec<f64>> = all.iter().map(|one| one.value).collect();
        let values = values.unwrap_or_default();
        let plain = values.iter().sum::<f64>() / values.len() as f64;
        let mean = stats::geometric_mean(&values).unwrap_or(plain);
        let least = values.iter().copied().fold(f64::NAN, f64::min);
        let most = values.iter().copied().fold(f64::NAN, f64::max);
        return Estimate::new(mean, least, most);
    };
    *one
}

/// Several runs show by themselves how much runs differ.
fn of_runs(before: &[Estimate], after: &[Estimate]) -> Estimate {
    let values = |all: &[Estimate]| all.iter().map(|one| one.value).collect::<Option<Vec<f64>>>();
    let ratio = values(after).zip(values(before)).and_then(|(a, b)| stats::ratio_of_runs(&a, &b));
    ratio.map_or(Estimate::default(), figures::estimate)
}

/// Whether less of a figure is better; `None`: neither is.
fn sense(key: &str) -> Option<bool> {
    match key {
        "rate_per_s" => Some(false),
        "of_ideal" | "lost_share" | "ideal_ns.p99_9" => None,
        _ => Some(true),
    }
}
