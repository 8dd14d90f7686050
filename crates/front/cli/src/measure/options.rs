//! The options of `rearguard measure`.

use std::path::PathBuf;

use ::measure::{Kind, Wanted};
use model::law::Law;
use model::{Nanos, units};
use stats::Quantile;

use super::http::HttpArgs;
use super::login::LoginArgs;
use super::mix::MixArgs;
use super::tls::TlsArgs;
use crate::compare::{above_0, positive_duration};
use crate::fail_if::Bound;
use crate::output::Output;
use crate::tables::TableFiles;

/// Measure a real server under open-loop load, and set its tail beside the best possible one for the very
/// same arrivals
///
/// Latency counts from the moment at which a request should have been sent. If the load generator could not
/// keep its schedule, the result says between what the latency lies.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("precise").multiple(true))]
pub struct Args {
    /// The server: memcached://HOST:PORT, memcached+binary://, memcached+udp://, http://HOST:PORT/PATH,
    /// redis://, postgresql://USER@HOST/DB?query=SQL, thrift://HOST:PORT/METHOD, thrift+buffered://,
    /// null-rpc://, and with --request and --response tcp://, udp:// and unix://; over a unix socket
    /// redis+unix:///PATH, http+unix:///PATH:/PAGE and so on; within TLS https://, rediss://,
    /// postgresql+tls:// and so on; HTTP/2 h2://, h2c://, and calls grpc://HOST:PORT/SERVICE/METHOD, grpcs://
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Start the server for this run: memcached, nginx, apache2, redis or null-rpc
    #[arg(long, value_name = "NAME", value_parser = Startable::from_user)]
    pub start: Option<Startable>,
    /// Requests a second, for example 20k/s
    #[arg(long, value_parser = positive_rate, conflicts_with_all = ["utilisation", "stamps"])]
    pub rate: Option<f64>,
    /// The share of the server's capacity, above 0; takes --saturate or --service-time
    #[arg(long, value_parser = utilisation, conflicts_with = "stamps")]
    pub utilisation: Option<f64>,
    /// Replay arrivals: a line each, in ns
    #[arg(long, value_name = "FILE")]
    pub stamps: Option<PathBuf>,
    /// The measured time [default: 10s, or all stamps]
    #[arg(long, value_parser = positive_duration)]
    pub duration: Option<Nanos>,
    /// Load before the measured time
    #[arg(long, default_value = "500ms", value_parser = units::duration)]
    pub warm_up: Nanos,
    /// The law of gaps between arrivals: poisson, fixed, lognormal:cv=2, weibull:shape=0.5, pareto:shape=2.5,
    /// hyperexponential:cv=3, mmpp:ratio=10:share=0.1:length=50
    #[arg(long, default_value = "poisson", conflicts_with = "stamps")]
    pub arrivals: Law,
    /// The seed of arrivals and of what is asked for
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Connections, or UDP sockets; a request takes the one that has been idle longest, and waits where none
    /// is
    #[arg(long, default_value = "64", value_parser = connections)]
    pub connections: u32,
    /// Close a connection after so many requests and open another: 30, or 20..40 for a random number
    #[arg(long, value_name = "N", value_parser = range)]
    pub requests_per_connection: Option<(u32, u32)>,
    /// A request without answer for so long is lost, and its connection opened anew [default: 10s; 1s over
    /// UDP]
    #[arg(long, value_parser = positive_duration)]
    pub timeout: Option<Nanos>,
    /// CPUs of the load generator, a thread each [default: the first]
    #[arg(long, value_name = "CPU,...", value_delimiter = ',')]
    pub cpus: Vec<usize>,
    /// CPUs of the server that is started [default: all others]
    #[arg(long, value_name = "CPU,...", value_delimiter = ',', requires = "start")]
    pub server_cpus: Vec<usize>,
    /// With tcp://, udp:// and unix://, what to send: bytes with \r \n \xHH, {id}, {random:BELOW}
    #[arg(long, value_name = "TEMPLATE", requires = "response")]
    pub request: Option<String>,
    /// With tcp://, udp:// and unix://, where an answer ends: length:BYTES, until:BYTES, close, datagram
    #[arg(long, value_name = "END")]
    pub response: Option<String>,
    #[command(flatten)]
    pub login: LoginArgs,
    #[command(flatten)]
    pub http: HttpArgs,
    #[command(flatten)]
    pub mix: MixArgs,
    #[command(flatten)]
    pub tls: TlsArgs,
    /// Do not write the keys that a key-value store is asked for (one in ten requests still writes one:
    /// ?reads=1 in the URL stops that)
    #[arg(long)]
    pub no_fill: bool,
    /// Search the server's capacity first: ever more connections in closed loops until throughput stops
    /// growing
    #[arg(long)]
    pub saturate: bool,
    /// The service time of the ideal [default: found by --saturate, else the server's CPU time a request, if
    /// it runs on this machine]
    #[arg(long, value_parser = positive_duration, conflicts_with = "saturate")]
    pub service_time: Option<Nanos>,
    /// Requests that the server serves at a time [default: CPUs of the server, if it runs on this machine,
    /// else 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub workers: Option<u32>,
    /// Take this run as a pilot: how long to measure until the quantile is as precise as wanted
    #[arg(long, value_name = "QUANTILE", num_args = 0..=1, default_missing_value = "p99.9", group = "precise",
          value_parser = quantile)]
    pub plan: Option<Quantile>,
    /// How far the interval of that quantile may reach on either side, as a share of it
    #[arg(long, default_value_t = 0.05, value_parser = precision, requires = "precise")]
    pub precision: f64,
    /// Measure anew, each time twice as long, until p99.9 is as precise as --precision says, at most for so
    /// long in all (10m unless given)
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "600s",
          conflicts_with = "stamps", group = "precise", value_parser = positive_long)]
    pub until_sure: Option<Nanos>,
    /// Report nothing where the load generator could not keep its schedule, after two more tries [default:
    /// report between what the latency lies]
    #[arg(long)]
    pub strict: bool,
    /// A slower request is an outlier
    #[arg(long, default_value = "10ms", value_parser = positive_duration)]
    pub outlier: Nanos,
    /// Trace where the requests' time goes in the server's kernel, stage by stage, and which programs make
    /// them wait: in the result, in what --live and --metrics show, and in --trace for `rearguard explain`.
    /// Takes root and a server on this machine; without, as far as the client's own sockets know
    #[arg(long)]
    pub stages: bool,
    /// Show quantiles, outliers and rates while it runs
    #[arg(long)]
    pub live: bool,
    /// Serve them as OpenMetrics at an address (127.0.0.1:9898) while it runs, or keep a file of them
    #[arg(long, value_name = "ADDRESS|FILE")]
    pub metrics: Option<String>,
    /// The cell that the server is in: a label of the metrics, by which `cell balance` knows it
    #[arg(long, value_name = "NAME", requires = "metrics")]
    pub cell: Option<String>,
    /// Write latencies as an HdrHistogram log, an interval a second
    #[arg(long, value_name = "FILE")]
    pub hdr: Option<PathBuf>,
    /// Write the trace of all requests
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// End with exit code 1 where a figure surely lies beyond a limit, for example p99.9>5ms,
    /// outliers>0.1%, lost>1% or complaints>0% (repeatable)
    #[arg(long, value_name = "FIGURE>LIMIT")]
    pub fail_if: Vec<Bound>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub tables: TableFiles,
}

/// A server by name.
#[derive(Clone, Copy, Debug)]
pub struct Startable(pub Kind);

impl Args {
    /// Whether there is a load to send, and not only a capacity to find.
    pub fn has_load(&self) -> bool {
        self.rate.is_some() || self.utilisation.is_some() || self.stamps.is_some()
    }

    /// What `--plan` asks for.
    pub fn wanted(&self) -> Option<Wanted> {
        Some(Wanted { quantile: self.plan?, precision: self.precision })
    }
}

impl Startable {
    /// Reads its name.
    pub fn from_user(name: &str) -> Result<Startable, String> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == name);
        let names = Kind::ALL.map(Kind::word);
        kind.map(Startable).ok_or_else(|| {
            format!("expected one of {}{}", names.join(", "), model::did_you_mean(name, &names))
        })
    }
}

fn connections(text: &str) -> Result<u32, String> {
    let count = units::count(text)?;
    let fits = u32::try_from(count).ok().filter(|count| (1..=1_000_000).contains(count));
    fits.ok_or(format!("found {count}; expected 1 to 1M"))
}

/// `10m` are minutes.
fn positive_long(text: &str) -> Result<Nanos, String> {
    units::long_duration(text).and_then(above_0)
}

fn positive_rate(text: &str) -> Result<f64, String> {
    units::rate_per_s(text).and_then(|rate| {
        if rate > 0.0 { Ok(rate) } else { Err("expected more than 0/s".to_string()) }
    })
}

fn utilisation(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| *share > 0.0 && share.is_finite());
    share.ok_or("expected a share above 0, such as 0.8".to_string())
}

fn precision(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 0.01));
    let share = number.parse::<f64>().ok().map(|number| number * scale);
    share.filter(|p| *p > 0.0 && *p < 1.0).ok_or("expected a share such as 0.05 or 5%".to_string())
}

fn quantile(text: &str) -> Result<Quantile, String> {
    match text {
        "p50" => Ok(Quantile::P50),
        "p90" => Ok(Quantile::P90),
        "p99" => Ok(Quantile::P99),
        "p99.9" => Ok(Quantile::P99_9),
        _ => Err("expected p50, p90, p99 or p99.9".to_string()),
    }
}

fn range(text: &str) -> Result<(u32, u32), String> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let numbers = least.parse().ok().zip(most.parse().ok());
    let fits = |(least, most): &(u32, u32)| *least > 0 && least <= most;
    numbers
        .filter(fits)
        .ok_or("expected a number such as 30, or a range such as 20..40".to_string())
}
