//! Loads by number, and a scenario at each of them.

use compare::saturation_per_s;
use experiment::Source;
use model::edit::{Edit, edited};
use model::scenario::{Arrivals, Kind, Service};
use model::{Failure, Scenario};
use toml_edit::Value;

/// Loads are numbered in steps of a 256th of an octave, 0.27%, over ten octaves. The last is that of which
/// the service takes all CPUs that it may use.
pub const TOP: usize = 10 * STEPS;
const STEPS: usize = 256;

/// The loads nearest to eighths of the last.
pub const SCANNED: [usize; 8] = [1_792, 2_048, 2_198, 2_304, 2_386, 2_454, 2_511, TOP];

/// A service of a scenario, under any load.
pub struct Loads {
    source: Source,
    /// Index of the program.
    pub program: usize,
    /// The scenario as it is.
    pub scenario: Scenario,
    /// Requests a second at [`TOP`].
    pub saturation_per_s: f64,
}

impl Loads {
    /// Of the service with this name, or of the only one.
    ///
    /// [`Failure::Input`] where there is none, or several and no name.
    pub fn new(source: Source, service: Option<&str>) -> Result<Loads, Failure> {
        let scenario = Scenario::read(&source.text, &source.file)?;
        let program = chosen(&scenario, service)
            .map_err(|wrong| Failure::Input(format!("{}: {wrong}", source.file)))?;
        let saturation_per_s = saturation_per_s(&scenario, program);
        Ok(Loads { source, program, scenario, saturation_per_s })
    }

    /// The service.
    pub fn service(&self) -> &Service {
        service_of(&self.scenario, self.program)
    }

    /// Requests a second at a load.
    pub fn rate_per_s(&self, load: usize) -> f64 {
        share(load) * self.saturation_per_s
    }

    /// The scenario at a load, and what was changed for that.
    pub fn at(&self, load: usize) -> Result<(Scenario, Source), Failure> {
        let name = quoted(&self.scenario.programs[self.program].name);
        let rate = self.rate_per_s(load);
        // The scenario's own key, so that what runs can be typed again.
        let (key, value) = match self.service().arrivals {
            Arrivals::Rate(_) => ("rate", Value::from(format!("{rate:.6}/s"))),
            Arrivals::Utilisation(_) => {
                let cpus = f64::from(self.scenario.machine.cpus);
                (
                    "utilisation",
                    Value::from(rate * self.service().service_time.as_secs_f64() / cpus),
                )
            }
        };
        let edit = Edit::new(&format!("program.{name}.arrivals.{key}"), value)?;
        let file = &self.source.file;
        let text = edited(&self.source.text, file, std::slice::from_ref(&edit))?;
        let scenario = Scenario::read(&text, file)?;
        let edits = self.source.edits.iter().cloned().chain([edit.to_string()]).collect();
        Ok((scenario, Source { file: file.clone(), text, edits }))
    }
}

/// A load's share of the last, in ten-millionths: the same on every machine.
fn share(load: usize) -> f64 {
    let octaves = (load as f64 - TOP as f64) / STEPS as f64;
    (libm::exp2(octaves) * 1e7).round() / 1e7
}

/// A name as a part of a key.
fn quoted(name: &str) -> String {
    format!("'{name}'")
}

fn service_of(scenario: &Scenario, program: usize) -> &Service {
    match &scenario.programs[program].kind {
        Kind::Service(service) => service,
        _ => unreachable!("only services are chosen"),
    }
}

fn chosen(scenario: &Scenario, name: Option<&str>) -> Result<usize, String> {
    // The load of one behind another is that of the first.
    let is_service = |place: &usize| {
        let program = &scenario.programs[*place];
        matches!(program.kind, Kind::Service(_)) && program.behind.is_none()
    };
    let services: Vec<usize> = (0..scenario.programs.len()).filter(is_service).collect();
    let names = || services.iter().map(|place| scenario.programs[*place].name.as_str());
    let listed = || names().collect::<Vec<_>>().join(", ");
    match (&services[..], name) {
        ([], _) => {
            Err("no service, so no requests whose load could be scaled: expected a [[program]] of \
                        kind = \"service\""
                .to_string())
        }
        ([only], None) => Ok(*only),
        (_, None) => Err(format!("several services: say which by --service: {}", listed())),
        (_, Some(name)) => match names().position(|known| known == name) {
            Some(place) => Ok(services[place]),
            None => Err(format!("no service is named `{name}`: there is {}", listed())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(programs: &str) -> Source {
        let text = format!("# A.\nduration = \"1s\"\n[machine]\ncpus = 4\n{programs}");
        Source { file: "a.toml".to_string(), text, edits: Vec::new() }
    }

    const WEB: &str = "[[program]]\nname = \"web\"\nkind = \"service\"\nservice_time = \"500us\"\n";
    const HOG: &str = "[[program]]\nname = \"hog\"\nkind = \"batch\"\nthreads = 1\n";

    #[test]
    fn the_last_load_takes_all_cpus_and_the_scan_goes_by_eighths() {
        for arrivals in ["arrivals = { utilisation = 0.5 }\n", "arrivals = { rate = \"100/s\" }\n"]
        {
            let loads = Loads::new(source(&format!("{WEB}{arrivals}")), None).unwrap();
            assert_eq!(loads.saturation_per_s, 8_000.0);
            let rate = |load: usize| {
                let (scenario, source) = loads.at(load).unwrap();
                assert!(
                    source.edits[0].starts_with("program.'web'.arrivals."),
                    "{:?}",
                    source.edits
                );
                service_of(&scenario, 0).rate_per_s(4)
            };
            assert_eq!(rate(TOP), 8_000.0);
            for (eighths, load) in (1..).zip(SCANNED) {
                assert!(
                    (rate(load) / (1_000.0 * f64::from(eighths)) - 1.0).abs() < 0.0014,
                    "{eighths}"
                );
            }
            assert!(rate(1) > rate(0) && rate(0) > 7.0);
        }
    }

    /// The load of a chain is that of its first service, and its CPUs do the work of all.
    #[test]
    fn a_chain_has_one_load() {
        let store = WEB.replace("web", "store").replace("500us", "1500us");
        let chain = format!("{WEB}arrivals = {{ utilisation = 0.1 }}\n{store}behind = \"web\"\n");
        let loads = Loads::new(source(&chain), None).unwrap();
        assert_eq!((loads.program, loads.saturation_per_s), (0, 2_000.0));
    }

    #[test]
    fn a_service_is_chosen_or_missed() {
        let web = format!("{WEB}arrivals = {{ utilisation = 0.5 }}\n");
        let two = format!("{web}{}", web.replace("web", "api"));
        let of = |programs: &str, name| match Loads::new(source(programs), name) {
            Ok(loads) => loads.scenario.programs[loads.program].name.clone(),
            Err(failure) => failure.to_string(),
        };
        assert_eq!(of(&two, Some("api")), "api");
        assert!(of(HOG, None).starts_with("a.toml: no service"));
        assert!(of(&two, None).ends_with("say which by --service: web, api"));
        assert!(of(&two, Some("wep")).ends_with("no service is named `wep`: there is web, api"));
    }
}
