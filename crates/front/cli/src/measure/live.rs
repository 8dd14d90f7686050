//! What a measurement shows while it runs.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use generator::{Histogram, LiveCounters};
use loader::label;
use model::{Failure, Nanos};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use report::document::Estimate;
use report::stages::Stage;

use super::Args;
use super::stages::Watching;
use crate::exporter::Exporter;

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(1);
/// Culprits that are shown.
const WORST: usize = 3;
/// How often to look whether the run is over.
const LOOK: Duration = Duration::from_millis(20);
/// The quantiles that are shown.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// So many columns has a line with every quantile.
const ALL_COLUMNS: usize = 90;

/// Columns of the terminal that standard error is.
fn terminal_columns() -> usize {
    let size = terminal_size::terminal_size_of(io::stderr());
    size.map_or(80, |(width, _)| usize::from(width.0))
}

/// Where a run is shown.
pub struct Live {
    lines: bool,
    exporter: Option<Exporter>,
    threshold: Nanos,
    cell: Option<String>,
}

/// What a kernel said of a second.
pub struct Snapshot {
    /// How long each stage took.
    pub stages: Vec<Stage>,
    /// The culprits of the slowest requests, the worst first; `None`: that is not the client's kernel to
    /// know.
    pub blamed: Option<Vec<Blamed>>,
}

/// A culprit's part in what made requests slow.
pub struct Blamed {
    /// The source, as in results: `background`.
    pub source: String,
    /// The owner.
    pub culprit: String,
    /// The part of all that made them slow.
    pub share: f64,
}

/// What is shown: a second, and all seconds.
struct Frame<'a> {
    elapsed: Duration,
    span: Duration,
    last: &'a Histogram,
    total: &'a Histogram,
    threshold: Nanos,
    snapshot: Option<Snapshot>,
}

impl Live {
    /// As the options ask for it; `None`: no view.
    pub fn new(args: &Args, load: &measure::Load) -> Result<Option<Live>, Failure> {
        if !args.live && args.metrics.is_none() {
            return Ok(None);
        }
        let exporter = args.metrics.as_deref().map(Exporter::open).transpose()?;
        let (lines, cell) = (args.live, args.cell.clone());
        Ok(Some(Live { lines, exporter, threshold: load.outlier_threshold, cell }))
    }

    /// Shows what the work does while it is done.
    pub fn during<T: Send>(
        &self,
        watching: Option<&Watching>,
        work: impl FnOnce(Arc<LiveCounters>) -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        let live = Arc::new(LiveCounters::default());
        thread::scope(|scope| {
            let working = scope.spawn({
                let live = Arc::clone(&live);
                || work(live)
            });
            let shown = self.watch(&live, watching, &|| working.is_finished());
            let done = working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            shown.and(done)
        })
    }

    fn watch(
        &self,
        live: &LiveCounters,
        watching: Option<&Watching>,
        over: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        let (mut before, begin) = (Histogram::default(), Instant::now());
        let mut last_look = begin;
        let mut shown = 0;
        while !over() {
            thread::sleep(LOOK);
            if last_look.elapsed() < INTERVAL {
                continue;
            }
            let total = live.total();
            let last = total.since(&before);
            let frame = Frame {
                elapsed: begin.elapsed(),
                span: last_look.elapsed(),
                last: &last,
                total: &total,
                threshold: self.threshold,
                snapshot: watching.and_then(|watching| watching.snapshot(live)),
            };
            self.show(&frame, &mut shown)?;
            (before, last_look) = (total, Instant::now());
        }
        Ok(())
    }

    /// In place on a terminal, a line a second elsewhere; on stderr, so that the result alone is on stdout.
    fn show(&self, frame: &Frame, shown: &mut usize) -> Result<(), Failure> {
        if let Some(exporter) = &self.exporter {
            exporter.show(frame.open_metrics(self.cell.as_deref()))?;
        }
        if !self.lines {
            return Ok(());
        }
        if !io::stderr().is_terminal() {
            anstream::eprintln!("{}", frame.line());
            return Ok(());
        }
        let up = if *shown > 0 { format!("\x1b[{shown}A\x1b[J") } else { String::new() };
        let block = frame.block(terminal_columns());
        anstream::eprint!("{up}{block}");
        *shown = block.lines().count();
        Ok(())
    }
}

impl Frame<'_> {
    fn rate(&self, count: u64) -> f64 {
        count as f64 / self.span.as_secs_f64()
    }

    fn line(&self) -> String {
        let quantile =
            |(name, q): &(&str, f64)| format!("{name} {}", shown(self.last.quantile(*q)));
        let quantiles: Vec<String> = QUANTILES.iter().map(quantile).collect();
        format!(
            "{:.0} s  sent {:.0}/s  answered {:.0}/s  {}  over {} {}  lost {}{}",
            self.elapsed.as_secs_f64(),
            self.rate(self.last.sent),
            self.rate(self.last.answered()),
            quantiles.join("  "),
            self.threshold,
            percent(self.last.proportion_over(self.threshold)),
            self.last.lost,
            self.snapshot.as_ref().map_or(String::new(), Snapshot::line)
        )
    }

    /// As many columns as fit, since a line that the terminal wraps would be painted over wrongly.
    fn block(&self, columns: usize) -> String {
        let threshold = format!("over {}", self.threshold);
        let has_room = columns > ALL_COLUMNS;
        let shown_of = QUANTILES.iter().filter(|(name, _)| has_room || *name != "p90");
        let shown_of: Vec<(&str, f64)> = shown_of.copied().collect();
        let titles: String = shown_of.iter().map(|(name, _)| format!("{name:>10}")).collect();
        let mut text = format!(
            "{:>5.0} s      sent/s  answered/s  lost{titles}{threshold:>13}\n",
            self.elapsed.as_secs_f64(),
        );
        let seconds = self.elapsed.as_secs_f64();
        let rows = [
            ("last second", self.last, self.span.as_secs_f64()),
            ("all so far", self.total, seconds),
        ];
        for (name, seen, seconds) in rows {
            let per_s = |count: u64| count as f64 / seconds;
            let quantile = |(_, q): &(&str, f64)| format!("{:>10}", shown(seen.quantile(*q)));
            let quantiles: String = shown_of.iter().map(quantile).collect();
            text += &format!(
                "{name:<11}{:>8.0}{:>12.0}{:>6}{quantiles}{:>13}\n",
                per_s(seen.sent),
                per_s(seen.answered()),
                seen.lost,
                percent(seen.proportion_over(self.threshold))
            );
        }
        text += &self.snapshot.as_ref().map_or(String::new(), |all| all.block(columns));
        let cut = |line: &str| line.chars().take(columns).chain(['\n']).collect::<String>();
        text.lines().map(cut).collect()
    }

    /// Everything so far, for scrapers that know how to take differences, and the last second's quantiles.
    fn open_metrics(&self, cell: Option<&str>) -> String {
        let labels = cell.map(|name| ("cell".into(), label(name).into()));
        let mut registry =
            Registry::with_prefix_and_labels("rearguard_measure", labels.into_iter());
        let mut gauge = |name: &str, help: &str, value: f64| {
            let gauge = Gauge::<f64, AtomicU64>::default();
            gauge.set(value);
            registry.register(name, help, gauge);
        };
        gauge("sent_requests", "Requests sent so far", self.total.sent as f64);
        gauge("answered_requests", "Requests answered so far", self.total.answered() as f64);
        gauge("lost_requests", "Requests lost so far", self.total.lost as f64);
        gauge("sent_per_second", "Requests sent in the last second", self.rate(self.last.sent));
        // A second without answers says nothing: least of all that all is well.
        let outliers = self.last.proportion_over(self.threshold).unwrap_or(f64::NAN);
        gauge("outlier_proportion", "Requests over the threshold, of the last second's", outliers);
        gauge("outlier_threshold_seconds", "The threshold", self.threshold.as_secs_f64());
        let latency = Family::<Vec<(&str, String)>, Gauge<f64, AtomicU64>>::default();
        for (_, q) in QUANTILES {
            let labels = vec![("quantile", q.to_string())];
            let value = self.last.quantile(q);
            let infinite =
                |at: Nanos| if at == Nanos::NEVER { f64::INFINITY } else { at.as_secs_f64() };
            latency.get_or_create(&labels).set(value.map_or(f64::NAN, infinite));
        }
        registry.register("latency_seconds", "Latency of the last second's requests", latency);
        self.snapshot.iter().for_each(|snapshot| snapshot.register(&mut registry));
        let mut text = String::new();
        encode(&mut text, &registry).expect("a String takes any text");
        text
    }
}

impl Snapshot {
    /// The stages' p99, and the worst culprit.
    fn line(&self) -> String {
        let stages = self.stages.iter().map(|stage| format!("{} {}", named(stage), p99(stage)));
        let stages: Vec<String> = stages.collect();
        let worst = |blamed: &Vec<Blamed>| blamed.first().map_or("none".to_string(), Blamed::words);
        let by = self.blamed.as_ref().map_or(String::new(), |b| format!("  slow by {}", worst(b)));
        format!("  p99 of stages: {}{by}", stages.join(" "))
    }

    /// Stages in as many rows as the terminal needs.
    fn block(&self, columns: usize) -> String {
        let width = |stage: &Stage| 1 + named(stage).len().max(9);
        let row = |what: &str, stages: &[Stage], of: &dyn Fn(&Stage) -> String| {
            let cell = |stage: &Stage| format!("{:>1$}", of(stage), width(stage));
            format!("{what:<11}{}\n", stages.iter().map(cell).collect::<String>())
        };
        let widest = self.stages.iter().map(width).max().unwrap_or(1);
        let abreast = (columns.saturating_sub(11) / widest).max(1);
        let rows = self.stages.chunks(abreast).map(|stages| {
            row("stages", stages, &named) + &row("p50", stages, &p50) + &row("p99", stages, &p99)
        });
        let worst = self.worst().map(|blamed| blamed.words() + "\n").collect::<String>();
        let title = if self.blamed.is_some() { "slow by\n" } else { "" };
        rows.collect::<String>() + title + &worst
    }

    fn worst(&self) -> impl Iterator<Item = &Blamed> {
        self.blamed.iter().flatten().take(WORST)
    }

    fn register(&self, registry: &mut Registry) {
        let stages = Family::<Vec<(&str, String)>, Gauge<f64, AtomicU64>>::default();
        for stage in &self.stages {
            for (quantile, value) in [("0.5", stage.span_ns.p50), ("0.99", stage.span_ns.p99)] {
                let labels =
                    vec![("stage", stage.stage.clone()), ("quantile", quantile.to_string())];
                stages.get_or_create(&labels).set(value.value.map_or(f64::NAN, |ns| ns / 1e9));
            }
        }
        registry.register("stage_seconds", "Stages of the last second's requests", stages);
        let blamed = Family::<Vec<(&str, String)>, Gauge<f64, AtomicU64>>::default();
        for one in self.worst() {
            let labels = vec![("source", label(&one.source)), ("culprit", label(&one.culprit))];
            blamed.get_or_create(&labels).set(one.share);
        }
        let help = "Parts in what made the slowest of the last second's requests slow";
        registry.register("blame_share", help, blamed);
    }
}

impl Blamed {
    fn words(&self) -> String {
        format!("{} {} ({:.0}%)", self.source, self.culprit, 100.0 * self.share)
    }
}

fn named(stage: &Stage) -> String {
    stage.stage.to_uppercase().replace('_', "-")
}

fn p50(stage: &Stage) -> String {
    span(stage.span_ns.p50)
}

fn p99(stage: &Stage) -> String {
    span(stage.span_ns.p99)
}

fn span(estimate: Estimate) -> String {
    estimate.value.map_or("-".to_string(), |ns| Nanos(ns as u64).to_string())
}

fn shown(latency: Option<Nanos>) -> String {
    latency.map_or("-".to_string(), |latency| latency.to_string())
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_string(), |share| format!("{:.3}%", 100.0 * share))
}

#[cfg(test)]
mod tests {
    use report::document::Latency;

    use super::*;

    fn frame<'a>(histogram: &'a Histogram, snapshot: Option<Snapshot>) -> Frame<'a> {
        let second = Duration::from_secs(1);
        let (last, total) = (histogram, histogram);
        Frame { elapsed: second, span: second, last, total, threshold: Nanos(1), snapshot }
    }

    fn snapshot() -> Snapshot {
        let estimate = |ns| Estimate::new(ns, ns, ns);
        let span_ns =
            Latency { p50: estimate(2_000.0), p99: estimate(7_000.0), ..Latency::default() };
        let stage = Stage { stage: "t2_t3".to_string(), what: String::new(), span_ns };
        let blamed = |culprit: &str, share| Blamed {
            source: "background".to_string(),
            culprit: culprit.to_string(),
            share,
        };
        Snapshot {
            stages: vec![stage],
            blamed: Some(vec![blamed("hog[7]", 0.75), blamed("cron[8]", 0.25)]),
        }
    }

    #[test]
    fn stages_and_culprits_are_shown_where_they_are_traced() {
        let histogram = Histogram::default();
        let with = frame(&histogram, Some(snapshot()));
        assert!(
            with.line().ends_with("T2-T3 7.00 us  slow by background hog[7] (75%)"),
            "{}",
            with.line()
        );
        let block = with.block(120);
        let row =
            |name: &str| block.lines().find(|line| line.starts_with(name)).map(str::to_string);
        assert_eq!(row("p50").as_deref(), Some("p50           2.00 us"));
        assert!(block.ends_with("background cron[8] (25%)\n"), "{block}");
        let metrics = with.open_metrics(None);
        let line = "rearguard_measure_blame_share{source=\"background\",culprit=\"hog[7]\"} 0.75";
        assert!(metrics.contains(line), "{metrics}");
        assert!(
            metrics.contains("stage_seconds{stage=\"t2_t3\",quantile=\"0.99\"} 0.000007"),
            "{metrics}"
        );
        let of_client = Snapshot { blamed: None, ..snapshot() };
        let of_client = frame(&histogram, Some(of_client));
        assert!(of_client.line().ends_with("T2-T3 7.00 us"), "{}", of_client.line());
        assert!(!of_client.block(80).contains("slow by"), "unknown: {}", of_client.block(80));
        assert!(!of_client.open_metrics(None).contains("blame_share{"));
        let without = frame(&histogram, None);
        assert!(!without.line().contains("slow by") && !without.block(80).contains("stages"));
        assert!(!without.open_metrics(None).contains("stage_seconds"));
    }
    #[test]
    fn no_line_is_longer_than_the_terminal() {
        let mut many = snapshot();
        many.stages = vec![many.stages[0].clone(); 9];
        let histogram = Histogram::default();
        let mut frame = frame(&histogram, Some(many));
        frame.threshold = Nanos::from_millis(10);
        for columns in [40, 80, 100, 120] {
            let block = frame.block(columns);
            let longest = block.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(columns), "{columns}: {longest:?}\n{block}");
            assert_eq!(block.contains("p90"), columns > ALL_COLUMNS);
            assert_eq!(block.matches("T2-T3").count(), 9, "no stage is missing at {columns}");
            let all = columns >= 80;
            assert_eq!(block.contains("over 10.0 ms"), all, "nothing is cut at {columns}");
        }
    }
}
