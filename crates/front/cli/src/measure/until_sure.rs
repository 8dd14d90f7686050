//! `rearguard measure --until-sure`: longer and longer runs.

use ::measure::{Load, Looks, Measurement, ServiceTime};
use model::{Failure, Nanos};
use report::MeasureLooks;

use super::live::Live;
use super::{Args, Session, Staged};
use crate::terminal::Terminal;

impl Args {
    /// The looks that `--until-sure` asks for.
    pub(super) fn looks(&self) -> Result<Option<Looks>, Failure> {
        let Some(most) = self.until_sure else { return Ok(None) };
        let looks = Looks::doubling(self.first_duration(), most, self.precision);
        looks.map(Some).ok_or_else(|| {
            Failure::Input(format!(
                "--until-sure={most} allows less than the first look takes, {}: give more, or a shorter --duration",
                self.first_duration()
            ))
        })
    }

    /// The measured time of the first run, but of stamps.
    pub(super) fn first_duration(&self) -> Nanos {
        self.duration.unwrap_or(Nanos::from_secs(10))
    }
}

/// What a look found that is over.
struct Look {
    load: Load,
    measured: Measurement,
    staged: Option<Staged>,
    found: MeasureLooks,
}

impl Session<'_> {
    /// Measures again, for longer, until p99.9 is precise or no look is left.
    pub(super) fn until_sure(
        &self,
        looks: &Looks,
        service_time: Option<ServiceTime>,
        watch: &Terminal,
        live: Option<&Live>,
    ) -> Result<(), Failure> {
        let mut last = None;
        for (at, duration) in looks.durations.iter().enumerate() {
            if let Some(Look { found, .. }) = &last {
                anstream::eprintln!("rearguard: {}; measuring anew for {duration}", found.words());
            }
            let load = Load { duration: *duration, ..self.load.clone() };
            let session = Session { load: &load, ..*self };
            let (measured, staged) = match session.good(service_time, watch, live) {
                Ok(good) => good,
                Err(why) => return self.before(last, why),
            };
            let found = looks.found(at, &measured);
            let is_sure = found.is_sure;
            last = Some(Look { load, measured, staged, found });
            if is_sure {
                break;
            }
        }
        last.map_or(Ok(()), |look| self.told(look))
    }

    fn told(&self, Look { load, measured, staged, found }: Look) -> Result<(), Failure> {
        Session { load: &load, ..*self }.write(&measured, staged, Some(found))
    }

    /// A look that did not end well takes nothing from the one before it.
    fn before(&self, last: Option<Look>, why: Failure) -> Result<(), Failure> {
        if let Some(look) = last {
            let duration = look.load.duration;
            anstream::eprintln!("rearguard: what follows is of the look before, of {duration}");
            self.told(look)?;
        }
        Err(why)
    }
}
