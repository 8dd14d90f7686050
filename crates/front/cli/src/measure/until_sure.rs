//! `rearguard measure --until-sure`: longer and longer runs.

use ::measure::{Load, Looks, ServiceTime};
use model::{Failure, Nanos};

use super::live::Live;
use super::{Args, Session};
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

impl Session<'_> {
    /// Measures again, for longer, until p99.9 is precise or no look is left.
    pub(super) fn until_sure(
        &self,
        looks: &Looks,
        service_time: Option<ServiceTime>,
        watch: &Terminal,
        live: Option<&Live>,
    ) -> Result<(), Failure> {
        for (at, duration) in looks.durations.iter().enumerate() {
            let load = Load { duration: *duration, ..self.load.clone() };
            let session = Session { load: &load, ..*self };
            let (measured, staged) = session.good(service_time, watch, live)?;
            let found = looks.found(at, &measured);
            let Some(next) = looks.durations.get(at + 1).filter(|_| !found.is_sure) else {
                return session.write(&measured, staged, Some(found));
            };
            anstream::eprintln!("rearguard: {}; measuring anew for {next}", found.words());
        }
        Ok(())
    }
}
