//! Latencies of other load generators beside the ideal.

use std::path::{Path, PathBuf};

use cluster::Measured;
use compare::ideals;
use model::law::Sampler;
use model::{Failure, Nanos, seed, units};
use report::document::{CcdfPoint, Estimate, Latency};
use report::{Curve, MeasuredBeside};
use stats::latency_estimates;

use crate::files;
use crate::latencies::{self, Latencies};
use crate::queue_args::QueueArgs;
use crate::terminal::Terminal;

/// Where latencies of another load generator are
#[derive(clap::Args)]
pub struct Given {
    /// Latencies to set beside the ideal: an HdrHistogram log, or its table of percentiles as wrk2 --latency
    /// prints it. Say its --unit, --rate and --service-time
    #[arg(long, value_name = "FILE", requires_all = ["unit", "service_time"], conflicts_with = "trace")]
    hdr: Option<PathBuf>,
    /// Latencies to set beside the ideal, a line a request: the CSV of oha, hey, k6 or vegeta. Say its
    /// --service-time; requests arrive as the file says, or else by --rate and --arrivals
    #[arg(long, value_name = "FILE", requires = "service_time", conflicts_with_all = ["hdr", "trace"])]
    csv: Option<PathBuf>,
    /// With --csv, the column of latencies in a file of another tool
    #[arg(long, value_name = "NAME", requires_all = ["csv", "unit"])]
    column: Option<String>,
    /// The unit of latencies in --hdr or --column: ns, us, ms or s
    #[arg(long, value_parser = unit)]
    unit: Option<Nanos>,
}

impl Given {
    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        [&self.hdr, &self.csv].into_iter().filter_map(|path| path.as_deref())
    }
}

/// A unit of time by its name.
pub fn unit(text: &str) -> Result<Nanos, String> {
    let known = ["ns", "us", "ms", "s"].contains(&text);
    if !known {
        return Err(format!("`{text}`: expected ns, us, ms or s"));
    }
    units::duration(&format!("1{text}"))
}

/// Points a decade of a curve.
const POINTS: i32 = 20;

/// The latencies of a file and their ideal; `None` where no file is given.
pub fn found(given: &Given, queue: &QueueArgs) -> Result<Option<(MeasuredBeside, Curve)>, Failure> {
    let (measured, ideal) = match (&given.hdr, &given.csv) {
        (Some(path), _) => of_histogram(path, given.unit.unwrap_or(Nanos(1)), queue)?,
        (None, Some(path)) => {
            let named = given.column.as_deref().zip(given.unit);
            of_requests(path, &latencies::read(path, named)?, queue)?
        }
        (None, None) => return Ok(None),
    };
    Ok(Some((beside(measured, &ideal), ideal)))
}

fn of_histogram(path: &Path, unit: Nanos, queue: &QueueArgs) -> Result<(Curve, Curve), Failure> {
    let all =
        Measured::read(&files::read_measured(path)?, &path.display().to_string(), Some(unit))?;
    let measured = &all[0];
    let ideal = drawn(path, queue, measured.rate_per_s)?;
    let at = |beyond: f64| Estimate::exact(measured.latency_ns(beyond));
    let requests = measured.requests.unwrap_or_default();
    let steps = (1..).map(|step| 10f64.powf(-f64::from(step) / f64::from(POINTS)));
    let steps = steps.take_while(|beyond| beyond * requests as f64 >= 1.0);
    let point = |beyond: f64| CcdfPoint {
        latency_ns: measured.latency_ns(beyond).round() as u64,
        proportion: beyond,
        ..CcdfPoint::default()
    };
    let curve = Curve {
        name: "measured".to_string(),
        requests,
        latency_ns: Latency {
            p50: at(0.5),
            p90: at(0.1),
            p99: at(0.01),
            p99_9: at(0.001),
            ..Latency::default()
        },
        ccdf: steps.map(point).collect(),
        ..Curve::default()
    };
    Ok((curve, ideal))
}

fn of_requests(
    path: &Path,
    file: &Latencies,
    queue: &QueueArgs,
) -> Result<(Curve, Curve), Failure> {
    let runs = [&file.latencies[..]];
    let latency = latency_estimates(&runs)
        .ok_or_else(|| Failure::Input(format!("{}: it has no request", path.display())))?;
    let measured = Curve {
        name: format!("measured by {}", file.tool),
        requests: file.latencies.len() as u64,
        latency_ns: figures::latency(&latency),
        ccdf: figures::curve(std::slice::from_ref(&file.latencies)),
        ..Curve::default()
    };
    let ideal = match &file.arrivals {
        Some(arrivals) if !queue.says_arrivals() => replayed(arrivals, queue)?,
        _ => drawn(path, queue, None)?,
    };
    Ok((measured, ideal))
}

/// The file's own arrivals, with services that are drawn.
fn replayed(arrivals: &[Nanos], queue: &QueueArgs) -> Result<Curve, Failure> {
    let mean_ns = queue.mean_service().0 as f64;
    let mut services = Sampler::new(queue.services(), seed::derive(queue.seed, &[]));
    let service = |_| Nanos(((services.next() * mean_ns).round() as u64).max(1));
    let services: Vec<Nanos> = arrivals.iter().map(service).collect();
    let requests: Vec<(Nanos, Nanos)> = arrivals.iter().copied().zip(services).collect();
    let curve = ideals::traced(&requests, queue.workers, queue.discipline, queue.seed)?;
    Ok(Curve { name: "ideal of its arrivals".to_string(), ..curve })
}

fn drawn(path: &Path, queue: &QueueArgs, known: Option<f64>) -> Result<Curve, Failure> {
    let rate = queue.rate.or(known).ok_or_else(|| {
        let file = path.display();
        Failure::Input(format!(
            "{file}: it does not say how often requests came: expected --rate, for example 2k/s"
        ))
    })?;
    let ideal = queue.ideal_at(rate);
    let curve = ideals::drawn(&ideal, &Terminal::computing("ideal"))?;
    Ok(Curve { name: format!("ideal at {rate:.0}/s"), ..curve })
}

fn beside(measured: Curve, ideal: &Curve) -> MeasuredBeside {
    let (a, b) = (measured.latency_ns, ideal.latency_ns);
    // An ideal that cannot keep up has an interval without a lower end.
    let most = a.p50.high.or(a.p50.value);
    MeasuredBeside {
        ratio_p50: a.p50.over(&b.p50),
        ratio_p99: a.p99.over(&b.p99),
        ratio_p99_9: a.p99_9.over(&b.p99_9),
        is_possible: most >= b.p50.low.or(b.p50.value) && most >= b.p50.value,
        curve: measured,
    }
}
