//! After over before, figure by figure, and what may be said of it.

use model::Answer;
use report::difference::{COMPLAINED, Change, FigureChange, LOST};
use report::document::Estimate;

use super::found::{Figure, Found, Subject, hull};
use super::pairs::Pair;

/// From this share of complaints on, latencies are those of complaints.
const MOST: f64 = 0.5;

/// Every figure that both sides have; failures come first.
pub(super) fn change(pair: &Pair) -> Change {
    let name = |side: &[(&Found, &Subject)]| side.first().map_or(String::new(), |one| one.1.name());
    let figures = pair.before.first().map_or(&[][..], |(_, subject)| &subject.figures);
    let mut figures: Vec<FigureChange> =
        figures.iter().filter_map(|figure| of_figure(pair, figure)).collect();
    figures.sort_by_key(|one| !is_failure(&one.figure));
    with_failures(&mut figures);
    Change { before: name(&pair.before), after: name(&pair.after), figures }
}

fn is_failure(key: &str) -> bool {
    key == LOST || key == COMPLAINED
}

fn of_figure(pair: &Pair, figure: &Figure) -> Option<FigureChange> {
    let (before, after) = (values(&pair.before, figure)?, values(&pair.after, figure)?);
    let never = |side: &[Figure]| side.iter().filter(|one| one.is_never).count();
    let (lost_before, lost_after) = (never(&before), never(&after));
    let seeds = |side: &[(&Found, &Subject)]| side.iter().map(|(file, _)| file.runs).sum::<usize>();
    let runs = seeds(&pair.before).min(seeds(&pair.after));
    let (ratio, answer) = if lost_before + lost_after == 0 {
        let ratio = ratio(&before, &after);
        let sense = sense(&figure.key);
        (ratio, sense.and_then(|less_is_better| ratio.answer(runs, less_is_better)))
    } else {
        let answer = match (lost_before, lost_after) {
            (0, lost) if lost == after.len() => Answer::Worse,
            (lost, 0) if lost == before.len() => Answer::Better,
            _ => Answer::CannotTell,
        };
        (Estimate::default(), Some(answer))
    };
    let change = FigureChange {
        figure: figure.key.clone(),
        before: pooled(&before),
        after: pooled(&after),
        ratio,
        answer,
    };
    is_news(&change).then_some(change)
}

/// No failures before and after are none, and a figure that is lost on both sides shows nothing.
fn is_news(change: &FigureChange) -> bool {
    let both = |value: Option<f64>| change.before.value == value && change.after.value == value;
    let is_unknown = |one: &Estimate| *one == Estimate::default();
    let is_lost = is_unknown(&change.before) && is_unknown(&change.after);
    !(is_lost || is_failure(&change.figure) && both(Some(0.0)))
}

/// The figure in each file; `None` where one lacks it or knows nothing.
fn values(side: &[(&Found, &Subject)], figure: &Figure) -> Option<Vec<Figure>> {
    let same = |own: &&Figure| (&own.key, &own.given) == (&figure.key, &figure.given);
    let of = |(_, subject): &(&Found, &Subject)| {
        let found = subject.figures.iter().find(same)?;
        (found.is_never || found.value != Estimate::default()).then(|| found.clone())
    };
    let all: Option<Vec<Figure>> = side.iter().map(of).collect();
    all.filter(|all| !all.is_empty())
}

/// One file's own; the mean of several (the geometric one, as ratios are, but where one is 0), from the least
/// to the greatest of them. Where one has no value, as far as all are bounded.
fn pooled(all: &[Figure]) -> Estimate {
    let [one] = all else {
        let values: Option<Vec<f64>> = all.iter().map(|one| one.value.value).collect();
        let Some(values) = values else { return hull(all.iter().map(|one| one.value)) };
        let plain = values.iter().sum::<f64>() / values.len() as f64;
        let mean = stats::geometric_mean(&values).unwrap_or(plain);
        let least = values.iter().copied().fold(f64::NAN, f64::min);
        let most = values.iter().copied().fold(f64::NAN, f64::max);
        return Estimate::new(mean, least, most);
    };
    one.value
}

fn ratio(before: &[Figure], after: &[Figure]) -> Estimate {
    match (before, after) {
        ([before], [after]) => after.value.over(&before.value),
        _ => of_runs(before, after).unwrap_or_default(),
    }
}

/// Several runs show by themselves how much runs differ. Where their logarithms do not, as of a share that
/// was 0 or of what has no number, all that any of their intervals allows for stands for it. So it does for
/// failures: equal counts of few show no scatter, and are no certainty.
fn of_runs(before: &[Figure], after: &[Figure]) -> Option<Estimate> {
    let values = |all: &[Figure]| all.iter().map(|one| one.value.value).collect::<Option<Vec<_>>>();
    let both = values(after).zip(values(before));
    let key = &before.first()?.key;
    if is_failure(key) {
        return Some(at_worst(before, after));
    }
    let by_logs = both.as_ref().and_then(|(a, b)| stats::ratio_of_runs(a, b));
    let has_no_logs = both.is_none() || key == "outlier.proportion";
    by_logs.map(figures::estimate).or_else(|| has_no_logs.then(|| at_worst(before, after)))
}

fn at_worst(before: &[Figure], after: &[Figure]) -> Estimate {
    let whole = |all: &[Figure]| Estimate {
        value: pooled(all).value,
        ..hull(all.iter().map(|one| one.value))
    };
    whole(after).over(&whole(before))
}

/// Answers that failures have a say in. Complaints are often fast: a run of them is no better, and what was
/// one is no measure for being worse. One lost request makes a mean infinite, so it changed as losses did.
fn with_failures(figures: &mut [FigureChange]) {
    let of = |key: &str| figures.iter().find(|one| one.figure == key);
    let answer = |key: &str| of(key).and_then(|one| one.answer).unwrap_or(Answer::CannotTell);
    let is_most = |share: Option<&Estimate>| share.and_then(|one| one.value) >= Some(MOST);
    let (lost, complained) = (answer(LOST), answer(COMPLAINED));
    let no_better = complained == Answer::Worse || is_most(of(COMPLAINED).map(|one| &one.after));
    let no_worse = complained == Answer::Better || is_most(of(COMPLAINED).map(|one| &one.before));
    for one in figures.iter_mut().filter(|one| !is_failure(&one.figure)) {
        let is_lost = one.answer.is_some() && one.ratio == Estimate::default();
        one.answer = match one.answer {
            Some(_) if is_lost && one.figure == "latency_ns.mean" => Some(lost),
            Some(Answer::Better) if no_better => Some(Answer::CannotTell),
            Some(Answer::Worse) if no_worse => Some(Answer::CannotTell),
            other => other,
        };
    }
}

/// Whether less of a figure is better; `None`: neither is.
fn sense(key: &str) -> Option<bool> {
    match key {
        "rate_per_s" => Some(false),
        "of_ideal" | "ideal_ns.p99_9" => None,
        _ => Some(true),
    }
}
