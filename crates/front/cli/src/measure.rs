//! `rearguard measure`: a real server under open-loop load, beside the ideal.

mod http;
mod live;
mod login;
mod mix;
mod options;
mod stages;
mod tls;
mod until_sure;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ::measure::{
    Load, Looks, Measurement, Placed, Quiet, Reported, Saturation, ServiceTime, Setup, Started,
    Target,
};
use compare::command::quoted;
use generator::{Limits, LiveCounters, Loss, Transport};
use model::{Failure, Nanos, Watch};
use report::{MeasureLooks, MeasurePlan};
use trace::{Header, Making};

use crate::fail_if;
use crate::files::{check_apart, check_writable, write_with};
use crate::output::signature;
use crate::stamps::read_stamps;
use crate::terminal::Terminal;
use live::Live;
pub use options::{Args, Startable};
use stages::{Staged, Traced, Watching};

/// How long a datagram's answer may take: what is lost on the way never comes.
const DATAGRAM_TIMEOUT: Nanos = Nanos::from_secs(1);
/// How long an answer over TCP may take.
const STREAM_TIMEOUT: Nanos = Nanos::from_secs(10);
/// A run in which the generator was disturbed has measured nothing and is made again, so often at most.
const REPEATS: usize = 2;
/// Requests of a measurement at most: each takes some 200 bytes of memory, so that all take 4 GB.
const MOST_REQUESTS: f64 = 20e6;

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.check()?;
    fail_if::check_policies(&args.fail_if, &[])?;
    let watch = Terminal::new("measure");
    let target = args.target()?;
    let stamps = args.stamps.as_deref().map(stamps).transpose()?;
    let looks = args.looks()?;
    if args.stages {
        stages::address(&target)?;
    }
    let setup = args.setup(&target);
    // What is wrong with the load is said before anything is started; only of a capacity that is yet to be
    // found it is not known.
    let ready = (!args.saturate).then(|| args.load(stamps.clone(), args.service_time()));
    let ready = ready.transpose()?;
    let _alone = host::Exclusive::acquire(&watch)?;
    let started = match args.start {
        None => None,
        Some(kind) => {
            let placed = Placed { cpus: args.server_cpus(), connections: setup.connections };
            Some(Started::start(kind.0, target.clone(), &placed, &watch)?)
        }
    };
    let target = started.as_ref().map_or(&target, |started| &started.target);
    if started.is_none() {
        check_protocol(args, target, &setup, &watch)?;
    }
    if !args.no_fill {
        ::measure::fill(target, &setup, &watch)?;
    }
    let searched = args.saturate.then(|| ::measure::saturate(target, &setup, args.workers, &watch));
    let searched = searched.transpose()?;
    if let (Some(found), false) = (&searched, args.has_load()) {
        let found = ::measure::saturated(target, found, signature());
        args.tables.write(&found)?;
        return args.output.saturated(&found);
    }
    let service_time = searched.as_ref().map(|found| found.service_time).or(args.service_time());
    let load = ready.map_or_else(|| args.load(stamps, service_time), Ok)?;
    let session = Session { args, target, setup: &setup, load: &load, searched: searched.as_ref() };
    session.run(service_time, looks.as_ref(), &watch)
}

/// Says at once, not after the run, where the server does not answer as this protocol wants it.
fn check_protocol(
    args: &Args,
    target: &Target,
    setup: &Setup,
    watch: &Terminal,
) -> Result<(), Failure> {
    let Some(loss) = ::measure::first_loss(target, setup, watch)? else { return Ok(()) };
    let (text, scheme) = (&target.text, &target.scheme);
    let unanswered = format!(
        "{text}: a first request was not answered ({}): does the server speak {scheme}?",
        loss.word()
    );
    // What is garbage once is garbage for ever, and keys cannot be written to where nothing answers.
    if loss == Loss::Garbage || target.filler().is_some_and(|_| !args.no_fill) {
        return Err(Failure::Run(unanswered));
    }
    anstream::eprintln!("rearguard: {unanswered} It is measured all the same; Ctrl-C ends that");
    Ok(())
}

/// [`Failure::Input`] for CPUs that this process may not use.
pub fn check_cpus(option: &str, wanted: &[usize]) -> Result<(), Failure> {
    let known: Vec<usize> = host::cpus().iter().map(|cpu| cpu.id).collect();
    let Some(absent) = wanted.iter().find(|cpu| !known.contains(cpu)) else { return Ok(()) };
    let known: Vec<String> = known.iter().map(usize::to_string).collect();
    Err(Failure::Input(format!(
        "{option}: there is no CPU {absent} for this process: choose of {}",
        known.join(", ")
    )))
}

/// Arrivals of a file, in rising order.
fn stamps(path: &Path) -> Result<Vec<Nanos>, Failure> {
    let mut arrivals: Vec<Nanos> =
        read_stamps(path)?.into_iter().map(|stamp| stamp.arrival).collect();
    arrivals.sort_unstable();
    Ok(arrivals)
}

/// Everything that is settled before the first request.
struct Session<'a> {
    args: &'a Args,
    target: &'a Target,
    setup: &'a Setup,
    load: &'a Load,
    searched: Option<&'a Saturation>,
}

impl Session<'_> {
    fn run(
        &self,
        service_time: Option<ServiceTime>,
        looks: Option<&Looks>,
        watch: &Terminal,
    ) -> Result<(), Failure> {
        let live = Live::new(self.args, self.load)?;
        if self.args.stages {
            // What looks at stages runs beside the generator, which goes first there, and not beside
            // the server.
            generator::thread::bind(&self.setup.cpus).map_err(|error| {
                Failure::Machine(format!("CPUs {:?} cannot be had: {error}", self.setup.cpus))
            })?;
        }
        if let Some(looks) = looks {
            return self.until_sure(looks, service_time, watch, live.as_ref());
        }
        let (measured, staged) = self.good(service_time, watch, live.as_ref())?;
        self.write(&measured, staged, None)
    }

    /// A run in which the generator did what it should, after others that are made again.
    fn good(
        &self,
        service_time: Option<ServiceTime>,
        watch: &Terminal,
        live: Option<&Live>,
    ) -> Result<(Measurement, Option<Staged>), Failure> {
        let mut repeats = REPEATS;
        loop {
            let watching = self.args.stages.then(|| Watching::start(self.target)).transpose()?;
            let mut measured = self.measured(service_time, watch, live, watching.as_ref())?;
            match self.staged(&mut measured, watching) {
                Err(Failure::Run(reason)) if repeats > 0 => {
                    anstream::eprintln!("rearguard: {reason}\nrearguard: once more");
                    repeats -= 1;
                }
                staged => return Ok((measured, staged?)),
            }
        }
    }

    fn measured(
        &self,
        service_time: Option<ServiceTime>,
        watch: &Terminal,
        live: Option<&Live>,
        watching: Option<&Watching>,
    ) -> Result<Measurement, Failure> {
        let socket_timestamps = watching.is_some_and(Watching::is_client);
        let setup = Setup { socket_timestamps, ..self.setup.clone() };
        let go = |live: Option<Arc<LiveCounters>>, watch: &dyn Watch| {
            ::measure::measure(self.target, &setup, self.load, service_time, live, watch)
        };
        match live {
            None => go(None, watch),
            Some(live) => live.during(watching, |live| go(Some(live), &Quiet(watch))),
        }
    }

    /// Where the time of a run's requests went, if the run is good and that was asked.
    fn staged(
        &self,
        measured: &mut Measurement,
        watching: Option<Watching>,
    ) -> Result<Option<Staged>, Failure> {
        self.reported(measured).check(self.args.strict)?;
        let staged = watching.map(|watching| watching.finish(measured));
        let mut staged = staged.transpose()?;
        if let Some(traced) = staged.as_mut().and_then(|staged| staged.traced.as_mut()) {
            measured.leave_interrupts_out(&mut traced.trace);
        }
        Ok(staged)
    }

    fn reported<'a>(&'a self, measurement: &'a Measurement) -> Reported<'a> {
        let Session { target, setup, load, searched, .. } = *self;
        Reported { target, setup, load, measurement, saturation: searched, signature: signature() }
    }

    fn write(
        &self,
        measured: &Measurement,
        staged: Option<Staged>,
        looks: Option<MeasureLooks>,
    ) -> Result<(), Failure> {
        let mut document = self.reported(measured).document();
        let traced = staged.and_then(|staged| {
            (document.stages, document.stages_note) = (Some(staged.figures), staged.note);
            staged.traced
        });
        document.plan = self.planned(measured);
        if let Some(looks) = looks {
            document = document.with_looks(looks);
        }
        to_file(self.args.hdr.as_deref(), |mut out| ::measure::write_log(measured, &mut out))?;
        to_file(self.args.trace.as_deref(), |out| self.write_trace(measured, traced, out))?;
        self.args.tables.write(&document)?;
        self.args.output.measured(&document)?;
        let window = measured.trace.window;
        let mut answered = measured.trace.programs[0].requests.iter().filter(|one| !one.is_lost());
        match measured.records.iter().all(|record| record.loss.is_some()) {
            false => {
                let complaints = document.complaints.values().sum();
                fail_if::check(&self.args.fail_if, &[("", &document.at_least())], Some(complaints))
            }
            true if answered.any(|one| window.contains(one.received)) => Err(Failure::Run(
                "no request of the measured time was answered: the server was still busy with those before: lower --rate"
                    .to_string(),
            )),
            true => Err(Failure::Run(
                "no request was answered: is it this protocol that the server speaks?".to_string(),
            )),
        }
    }

    /// What `--plan` asks for. A pilot that is too short takes nothing from what it has measured.
    fn planned(&self, measured: &Measurement) -> Option<MeasurePlan> {
        let planned = ::measure::plan(measured, self.args.wanted()?);
        let tell = |why: &Failure| anstream::eprintln!("rearguard: no --plan can be told: {why}");
        planned.inspect_err(tell).ok()
    }

    fn write_trace(
        &self,
        measured: &Measurement,
        traced: Option<Traced>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (command, version) = signature();
        let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        let making = Making {
            scenario: &measured.scenario,
            scenario_text: &::measure::scenario_text(&measured.scenario),
            arm: "server",
            machine: &::measure::machine(),
            replay: words.join(" "),
            version: &version,
        };
        let mut out = out;
        let (trace, cpus) = match &traced {
            None => (&measured.trace, None),
            Some(Traced { trace, cpus }) => (trace, Some(*cpus)),
        };
        let mut header = Header::new(&making, trace);
        header.cpus.cpus = cpus.unwrap_or(header.cpus.cpus);
        trace::write(&header, trace, &mut out)
    }
}

fn to_file(
    path: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    write_with(path, write)
}

impl Args {
    fn check(&self) -> Result<(), Failure> {
        self.check_apart(&self.inputs())?;
        self.output.check(&["html", "svg", "md"], &[])?;
        self.tables.check(&[])?;
        check_cpus("--cpus", &self.cpus)?;
        check_cpus("--server-cpus", &self.server_cpus)?;
        [&self.hdr, &self.trace].into_iter().flatten().try_for_each(|path| check_writable(path))
    }

    /// What the command line says is read.
    fn inputs(&self) -> Vec<&Path> {
        let options = [&self.stamps, &self.mix.requests, &self.login.password_file];
        let of_tls = [&self.tls.cacert, &self.tls.cert, &self.tls.key];
        let named = options.into_iter().chain(of_tls).filter_map(|path| path.as_deref());
        named.chain(self.http.files()).collect()
    }

    fn check_apart(&self, inputs: &[&Path]) -> Result<(), Failure> {
        let kept = self.metrics.as_deref().map(Path::new);
        let outputs = [self.output.report(), self.hdr.as_deref(), self.trace.as_deref(), kept];
        outputs.into_iter().flatten().try_for_each(|output| check_apart(output, inputs))?;
        self.tables.check_apart(inputs)
    }

    fn target(&self) -> Result<Target, Failure> {
        let request = self.request.as_deref().or(self.mix.is_given().then_some(""));
        let template = request.zip(self.response.as_deref());
        if let (None, Some(_)) = (&template, &self.response) {
            return Err(Failure::Input(
                "--response: of which request? --request or --requests says it".to_string(),
            ));
        }
        let text = match (&self.target, self.start) {
            (Some(text), _) => text,
            (None, Some(kind)) => kind.0.usual_target(),
            (None, None) => {
                return Err(Failure::Input(
                    "measure what? --target memcached://127.0.0.1:11211, or --start memcached"
                        .to_string(),
                ));
            }
        };
        let target = Target::parse(text, template)?.with_http(self.http.options()?)?;
        let target = self.login.log_in(target)?.with_tls(&self.tls.options()?)?;
        self.mix.mixed(target, |path| self.check_apart(&[path]))
    }

    fn setup(&self, target: &Target) -> Setup {
        let usual = match target.transport() {
            Transport::Stream => STREAM_TIMEOUT,
            Transport::Datagram => DATAGRAM_TIMEOUT,
        };
        let limits = Limits {
            timeout: self.timeout.unwrap_or(usual),
            requests_per_connection: self.requests_per_connection,
        };
        let (connections, cpus) = (self.connections, self.own_cpus());
        Setup { connections, cpus, limits, socket_timestamps: false }
    }

    fn own_cpus(&self) -> Vec<usize> {
        let first = || host::cpus().first().map_or(0, |cpu| cpu.id);
        if self.cpus.is_empty() { vec![first()] } else { self.cpus.clone() }
    }

    /// Those given, or all but the generator's, where there are others.
    fn server_cpus(&self) -> Vec<usize> {
        if !self.server_cpus.is_empty() {
            return self.server_cpus.clone();
        }
        let (own, all) = (self.own_cpus(), host::cpus());
        let others: Vec<usize> =
            all.iter().map(|cpu| cpu.id).filter(|cpu| !own.contains(cpu)).collect();
        if others.is_empty() { own } else { others }
    }

    fn service_time(&self) -> Option<ServiceTime> {
        let value = self.service_time?;
        Some(ServiceTime { value, workers: self.workers.unwrap_or(1), source: "given" })
    }

    fn load(
        &self,
        stamps: Option<Vec<Nanos>>,
        service_time: Option<ServiceTime>,
    ) -> Result<Load, Failure> {
        let last = stamps.as_ref().and_then(|stamps| stamps.last().copied());
        let all = last.map(|last| last + Nanos(1));
        let duration = self.duration.or(all).unwrap_or(self.first_duration());
        let count = stamps.as_ref().map(|stamps| stamps.partition_point(|at| *at < duration));
        let rate_per_s = match (count, self.rate, self.utilisation, service_time) {
            (Some(count), ..) => count as f64 / duration.as_secs_f64(),
            (None, Some(rate), ..) => rate,
            (None, None, Some(share), Some(time)) => share * time.capacity_per_s(),
            (None, None, Some(_), None) => {
                return Err(Failure::Input(
                    "--utilisation: of which capacity? --saturate finds it, --service-time and --workers tell it"
                        .to_string(),
                ));
            }
            (None, None, None, _) => {
                return Err(Failure::Input(
                    "how much load? --rate 20k/s, --utilisation 0.8 or --stamps FILE".to_string(),
                ));
            }
        };
        let longest = self.looks()?.map_or(duration, |looks| looks.longest());
        self.check_count(rate_per_s, longest)?;
        Ok(Load {
            rate_per_s,
            law: self.arrivals.clone(),
            stamps,
            warm_up: self.warm_up,
            duration,
            seed: self.seed,
            outlier_threshold: self.outlier,
        })
    }

    /// All requests are drawn before the first is sent, and kept until the last is answered.
    fn check_count(&self, rate_per_s: f64, duration: Nanos) -> Result<(), Failure> {
        let warm_up = if self.stamps.is_some() { Nanos::ZERO } else { self.warm_up };
        let whole = warm_up.saturating_add(duration);
        let count = rate_per_s * whole.as_secs_f64();
        if count <= MOST_REQUESTS {
            return Ok(());
        }
        Err(Failure::Input(format!(
            "{rate_per_s:.0} requests a second for {whole} are {:.0} million, and {:.0} million are the most: a lower \
             --rate or --utilisation, a shorter --duration, --warm-up or --until-sure, or fewer lines in --stamps",
            count / 1e6,
            MOST_REQUESTS / 1e6
        )))
    }
}
