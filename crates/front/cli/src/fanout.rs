//! `rearguard fanout`: what one server's outliers become for a service of many.

use std::path::PathBuf;

use cluster::Measured;
use model::{Failure, Nanos, units};
use report::document::Estimate;
use report::{FAN_OUT_SCHEMA, FanOut, FanOutRow, Series, SeriesChart};
use stats::{required_proportion, service_estimate, service_proportion};

use crate::beside::unit;
use crate::files;
use crate::output::{Output, signature};
use crate::queue_args::QueueArgs;
use crate::tables::TableFiles;
use crate::terminal::Terminal;

/// Say what one server's outliers become for users whose requests wait for many servers
///
/// The servers' outliers come from one of three: --proportion; a FILE, the --json of compare, measure, ideal
/// or cluster or an HdrHistogram log; or --service, an ideal queue simulated as by `rearguard ideal`. Servers
/// are taken to be independent of each other.
#[derive(clap::Args)]
pub struct Args {
    /// A result document, an HdrHistogram interval log or its table of percentiles
    #[arg(conflicts_with_all = ["proportion", "service"])]
    file: Option<PathBuf>,
    /// One server's outlier proportion: of its requests, the share that is too slow
    #[arg(long, value_parser = proportion, conflicts_with = "service")]
    proportion: Option<f64>,
    /// The latency above which a request is an outlier; several with commas. Without it, that of the FILE
    #[arg(long, value_parser = units::duration, value_delimiter = ',', conflicts_with = "proportion")]
    threshold: Vec<Nanos>,
    /// How many servers a request waits for
    #[arg(long, default_value = "100", value_parser = servers)]
    servers: u64,
    /// Containers or virtual machines on each server, each of which must answer
    #[arg(long, default_value = "1", value_parser = servers)]
    per_server: u64,
    /// The proportion of the service's requests that may be outliers: asks what a server must reach for it
    #[arg(long, value_parser = proportion)]
    target: Option<f64>,
    /// The unit of an HdrHistogram's values: ns, us, ms or s; what `measure --hdr` wrote says its own
    #[arg(long, value_parser = unit)]
    unit: Option<Nanos>,
    #[command(flatten)]
    queue: QueueArgs,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    tables: TableFiles,
}

/// Points of a curve over thresholds.
const POINTS: u32 = 60;

fn proportion(text: &str) -> Result<f64, String> {
    let read = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    read.ok_or_else(|| format!("`{text}`: expected a proportion from 0 to 1, such as 0.01"))
}

fn servers(text: &str) -> Result<u64, String> {
    let fits = |n: &u64| (1..=1_000_000_000).contains(n);
    let count = units::count(text)?;
    Some(count).filter(fits).ok_or_else(|| format!("`{text}`: expected 1 to 1G"))
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let inputs = args.file.as_deref();
    args.output.check(&["html", "svg"], inputs.as_slice())?;
    args.tables.check(inputs.as_slice())?;
    if args.target.is_some_and(|target| target <= 0.0 || target >= 1.0) {
        let what =
            "expected a proportion above 0 and below 1: no number of servers keeps 0, any keeps 1";
        return Err(Failure::Input(format!("--target: {what}")));
    }
    let measured = args.measured()?;
    let rows = match args.proportion {
        Some(proportion) => {
            vec![args.row(String::new(), None, Estimate::exact(proportion), args.queue.rate)]
        }
        None => args.rows(&measured)?,
    };
    let (command, version) = signature();
    let document = FanOut {
        schema: FAN_OUT_SCHEMA.to_string(),
        command,
        version,
        servers: args.servers,
        per_server: args.per_server,
        target_proportion: args.target,
        service_proportion: rows.first().and_then(|row| row.service_proportion.value),
        required_proportion: args.required(),
        reduction: rows.first().and_then(|row| row.reduction?.value),
        charts: args.charts(&measured, &rows),
        rows,
    };
    args.tables.write(&document)?;
    args.output.fanned_out(&document)
}

impl Args {
    /// Answers that a request waits for.
    fn leaves(&self) -> f64 {
        self.servers as f64 * self.per_server as f64
    }

    fn required(&self) -> Option<f64> {
        self.target.map(|target| required_proportion(target, self.leaves()))
    }

    /// The distributions asked about; none for a plain proportion.
    fn measured(&self) -> Result<Vec<Measured>, Failure> {
        if let Some(path) = &self.file {
            let name = path.display().to_string();
            return Measured::read(&files::read_measured(path)?, &name, self.unit);
        }
        if self.queue.service.is_some() {
            return self.simulated();
        }
        if self.proportion.is_some() {
            return Ok(Vec::new());
        }
        Err(Failure::Input(
            "fanout: whose outliers? Give --proportion P, a FILE with results, or --service LAW with --threshold".into(),
        ))
    }

    /// The queue of the options, simulated.
    fn simulated(&self) -> Result<Vec<Measured>, Failure> {
        let ideal = self.queue.ideal();
        let result = ideal.run(&Terminal::computing("ideal"))?;
        let curve = figures::queue(&self.queue.kendall(), &result);
        let document = report::json(&report::Ideal { curve, ..report::Ideal::default() });
        let mut measured = Measured::read(&document, "ideal", None)?;
        measured.iter_mut().for_each(|one| one.rate_per_s = Some(ideal.rate_per_s()));
        Ok(measured)
    }

    /// Every distribution at every threshold.
    fn rows(&self, measured: &[Measured]) -> Result<Vec<FanOutRow>, Failure> {
        let mut rows = Vec::new();
        for one in measured {
            let own: Vec<Nanos> = one.threshold.into_iter().collect();
            let thresholds = if self.threshold.is_empty() { &own } else { &self.threshold };
            for threshold in thresholds {
                let found = one.proportion(*threshold);
                let proportion = Estimate::new(found.value, found.low, found.high);
                let rate = self.queue.rate.or(one.rate_per_s);
                rows.push(self.row(one.name.clone(), Some(threshold.0), proportion, rate));
            }
        }
        if rows.is_empty() {
            let what =
                "when is a request an outlier? Give --threshold, for example --threshold 1ms,10ms";
            return Err(Failure::Input(format!("fanout: {what}")));
        }
        Ok(rows)
    }

    fn row(
        &self,
        source: String,
        threshold_ns: Option<u64>,
        proportion: Estimate,
        rate_per_s: Option<f64>,
    ) -> FanOutRow {
        let end = |x: Option<f64>| x.unwrap_or(f64::NAN);
        let leaf = stats::Estimate {
            value: end(proportion.value),
            low: end(proportion.low),
            high: end(proportion.high),
        };
        let service = service_estimate(&leaf, self.leaves());
        FanOutRow {
            source,
            threshold_ns,
            proportion,
            valid_throughput_per_s: rate_per_s.map(|rate| rate * (1.0 - leaf.value)),
            service_proportion: Estimate::new(service.value, service.low, service.high),
            reduction: self.required().map(|required| {
                Estimate::new(leaf.value / required, leaf.low / required, leaf.high / required)
            }),
        }
    }

    fn charts(&self, measured: &[Measured], rows: &[FanOutRow]) -> Vec<SeriesChart> {
        let thresholds = measured.iter().flat_map(|one| self.over_thresholds(one)).collect();
        let by_threshold = SeriesChart {
            x: "outlier threshold (ms)".to_string(),
            y: "outlier proportion".to_string(),
            log_x: true,
            log_y: true,
            series: thresholds,
        };
        let by_servers = SeriesChart {
            x: "servers that a request waits for".to_string(),
            y: "service's outlier proportion".to_string(),
            series: rows.iter().map(|row| self.over_servers(row)).collect(),
            ..by_threshold.clone()
        };
        let drawn =
            |chart: &SeriesChart| chart.series.iter().any(|series| !series.points.is_empty());
        [by_servers, by_threshold].into_iter().filter(drawn).collect()
    }

    /// From one server to a hundred times as many as asked for.
    fn over_servers(&self, row: &FanOutRow) -> Series {
        let most = 100.0 * self.servers as f64;
        let proportion = row.proportion.value.filter(|value| *value > 0.0);
        let point = |proportion: f64, step: u32| {
            let servers = most.powf(f64::from(step) / f64::from(POINTS));
            (servers, service_proportion(proportion, servers * self.per_server as f64))
        };
        let points = proportion.map(|p| (0..=POINTS).map(|step| point(p, step)).collect());
        Series { name: row.name(), points: points.unwrap_or_default() }
    }

    /// One server's proportion over thresholds, and the service's.
    fn over_thresholds(&self, one: &Measured) -> [Series; 2] {
        let step = |step: u32| 10f64.powf(-5.0 * f64::from(step) / f64::from(POINTS));
        let at = |step: f64| (one.latency_ns(step * 0.99) / 1e6, step * 0.99);
        let mut points: Vec<(f64, f64)> = (0..=POINTS).map(step).map(at).collect();
        points.retain(|(ms, proportion)| {
            *ms > 0.0 && ms.is_finite() && self.visible(one, *ms, *proportion)
        });
        points.dedup_by(|a, b| a.0 <= b.0);
        let amplified = points.iter().map(|(ms, p)| (*ms, service_proportion(*p, self.leaves())));
        let named = |who: &str| format!("{}: {who}", one.name).trim_start_matches(": ").to_string();
        let service = Series { name: named("service"), points: amplified.collect() };
        [Series { name: named("one server"), points }, service]
    }

    /// Whether a proportion is one that the measurement reached: beyond its slowest request a draw says
    /// nothing.
    fn visible(&self, one: &Measured, ms: f64, proportion: f64) -> bool {
        one.proportion(Nanos((ms * 1e6) as u64)).value > 0.3 * proportion
    }
}
