//! From a policy's name to the program that is its scheduler.

use std::path::PathBuf;

use model::{Failure, Nanos, PolicySpec, Scenario};

use crate::program::{find, in_folders};

/// What the names of programs that are sched_ext schedulers begin with.
pub const PROGRAM: &str = "scx_";

/// The command of a policy's scheduler: our loader for ours and for those in files, else the program of that
/// name among `programs` or in PATH. `None`: it is none of these. Options of ours are checked here and not
/// only by the loader.
pub fn named(
    spec: &PolicySpec,
    scenario: &Scenario,
    programs: &[PathBuf],
) -> Result<Option<Vec<String>>, Failure> {
    if let Some(path) = spec.file() {
        policy_native::FileOptions::parse(spec, &scenario.machine, scenario.slice)?;
        let spec = PolicySpec { name: path.display().to_string(), ..spec.clone() };
        let slice = scenario.slice.filter(|_| !spec.options.contains_key("slice"));
        return ours(&spec, slice).map(Some);
    }
    if spec.name.starts_with(PROGRAM) {
        return other(programs, spec).map(Some);
    }
    if !policy_native::policies().any(|(name, _)| name == spec.name) {
        return Ok(None);
    }
    let options = policy_native::Options::parse(spec, &scenario.machine, scenario.slice)?;
    scenario.check_levels(spec)?;
    ours(spec, scenario.slice.map(|_| options.slice())).map(Some)
}

/// Our loader with a policy, and with the slice where the scenario has a say in it.
fn ours(spec: &PolicySpec, slice: Option<Nanos>) -> Result<Vec<String>, Failure> {
    let program = find()?.to_string_lossy().into_owned();
    let slice = slice.map(|slice| ["--slice".to_string(), format!("{}ns", slice.0)]);
    Ok([program, spec.to_string()].into_iter().chain(slice.into_iter().flatten()).collect())
}

/// The program of that name, and `--key value` for each option.
fn other(programs: &[PathBuf], spec: &PolicySpec) -> Result<Vec<String>, Failure> {
    let given = programs.iter().find(|path| path.file_name() == Some(spec.name.as_ref()));
    let path =
        given.cloned().or_else(|| in_folders(None, &spec.name)).filter(|path| path.is_file());
    let path = path.and_then(|path| std::path::absolute(path).ok()).ok_or_else(|| {
        Failure::Input(format!(
            "policy `{0}`: no such program in PATH: install it (`cargo install {0}`), or name it with --with",
            spec.name
        ))
    })?;
    let options = spec.options.iter().flat_map(|(key, value)| [format!("--{key}"), value.clone()]);
    Ok(std::iter::once(path.to_string_lossy().into_owned()).chain(options).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "# One thread spins.\nduration = '1s'\nseeds = [1]\n[machine]\ncpus = 1\n\
                            [[program]]\nname = 'spin'\nkind = 'batch'\nthreads = 1\n";

    fn command(policy: &str, programs: &[&str]) -> Result<Option<Vec<String>>, Failure> {
        let programs: Vec<PathBuf> = programs.iter().map(PathBuf::from).collect();
        named(&PolicySpec::parse(policy)?, &Scenario::read(SCENARIO, "test.toml")?, &programs)
    }

    #[test]
    fn other_schedulers_are_programs_with_their_options() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("scx_mine");
        std::fs::write(&program, "").unwrap();
        let path = program.to_str().unwrap();
        let found = command("scx_mine:slice-us=500", &[path]).unwrap().unwrap();
        assert_eq!(found, [path, "--slice-us", "500"]);
        let absent = command("scx_mine", &[]).unwrap_err();
        assert!(absent.exit_code() == 2 && absent.to_string().contains("--with"), "{absent}");
    }

    #[test]
    fn groups_that_our_policies_do_not_see_are_refused() {
        let deep = |levels: usize| {
            let path = |level| vec!["g"; level].join("/");
            let groups = (1..=levels).map(|level| format!("[[group]]\nname = '{}'\n", path(level)));
            let text = SCENARIO.to_string() + &groups.collect::<String>();
            Scenario::read(&text, "test.toml").expect("a scenario")
        };
        let refused = |levels, policy: &str| {
            let policy = PolicySpec::parse(policy).expect("a policy");
            named(&policy, &deep(levels), &[]).err().filter(|failure| failure.exit_code() == 2)
        };
        let said = refused(9, "cts").expect("nine levels").to_string();
        assert!(
            said.contains("`g/g/g/g/g/g/g/g/g`") && said.contains("leave a level out"),
            "{said}"
        );
        assert_eq!(refused(8, "cts"), None, "the control");
        assert_eq!(refused(9, "default"), None, "the kernel's own sees all");
    }

    #[test]
    fn the_kernels_own_classes_are_none_and_our_options_are_checked() {
        assert_eq!(command("fifo-like", &[]).unwrap(), None);
        assert_eq!(command("cts:order=none", &[]).unwrap_err().exit_code(), 2);
    }
}
