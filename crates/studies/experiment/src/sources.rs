//! What a result depends on beside its scenario and its seeds.

use model::{Arm, Failure, PolicySpec, Scenario};
use policy_native::{HEADERS, Options};
use serde_json::{Value, json};

use crate::kinds::KINDS;

/// The arm with what runs there, and the policy with its sources: its own, not all that there are.
///
/// A result of a real kernel does not depend on what simulates or measures it: who changes that says so by
/// another folder.
pub fn of(arm: &dyn Arm, scenario: &Scenario, policy: &PolicySpec) -> Result<Value, Failure> {
    let code = code(scenario, policy)?;
    Ok(match arm.name() {
        "sim" => json!(["sim", env!("CARGO_PKG_VERSION"), env!("SIMULATOR"), code]),
        name => {
            // What cannot be had here has no result either: its run will say why.
            let kernel = arm.kernel(policy).unwrap_or_else(|failure| failure.to_string());
            let adapter = (code != Value::Null).then_some(env!("ADAPTER"));
            json!([name, kernel, adapter, code])
        }
    })
}

/// Of a policy behind the seam what it is made of; null for the kernel's own classes and other programs.
fn code(scenario: &Scenario, policy: &PolicySpec) -> Result<Value, Failure> {
    if let Some(path) = policy.file() {
        let source = fileio::whole(path, fileio::LONGEST_TEXT)
            .map_err(|error| Failure::Input(format!("policy {}: {error}", policy.name)))?;
        return Ok(json!([source, HEADERS]));
    }
    if policy_native::policies().all(|(name, _)| name != policy.name) {
        return Ok(Value::Null);
    }
    let options = Options::parse(policy, &scenario.machine, scenario.slice)?;
    Ok(json!([code_of(&options), format!("{options:?}")]))
}

/// The digest of the code that options of this kind leave; of all of it where no policy of that kind has a
/// name.
fn code_of(options: &Options) -> &'static str {
    let place = KINDS.iter().position(|known| options.kind() == known.map(Some));
    let mut codes = env!("CODES").split(' ');
    place.and_then(|place| codes.nth(place)).unwrap_or(env!("ANY_CODE"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plan may name `/dev/zero` or a link to it as a policy's file.
    #[test]
    fn a_source_without_an_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("mine.c");
        let code = || code(&scenario(), &PolicySpec::parse(at.to_str().unwrap()).unwrap());
        std::os::unix::fs::symlink("/dev/zero", &at).unwrap();
        let why = code().unwrap_err();
        assert!(why.exit_code() == 2 && why.to_string().contains("without an end"), "{why}");
        std::fs::remove_file(&at).unwrap();
        std::fs::write(&at, "int a;").unwrap();
        code().expect("the control");
    }

    fn scenario() -> Scenario {
        let program = "[[program]]\nname = \"b\"\nkind = \"batch\"\n";
        let text = format!("# A.\nduration = \"1s\"\n[machine]\ncpus = 1\n{program}");
        Scenario::read(&text, "x.toml").unwrap()
    }

    #[test]
    fn every_policy_by_name_is_of_a_kind() {
        for (name, _) in policy_native::policies() {
            let policy = PolicySpec::plain(name);
            let machine = model::scenario::Machine::ONE_CPU;
            let options = Options::parse(&policy, &machine, None).unwrap();
            assert_ne!(code_of(&options), env!("ANY_CODE"), "{name}");
        }
    }
}
