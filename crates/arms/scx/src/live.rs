//! Promises that are made, changed and dropped while a policy is in force.

use std::collections::BTreeMap;
use std::iter;

use libbpf_rs::{MapCore, MapFlags, ProgramInput};
use loader::{Answer, Ask, PromiseStatus};
use model::Failure;
use model::scenario::Machine;

use crate::admit::Admitted;
use crate::loaded::Loaded;
use crate::promised::Promised;
use crate::skeleton::BpfSkel;
use crate::stats::Keeping;

/// What refusals name.
const SET: &str = "promise set";

impl Loaded {
    /// Does what a client asks for.
    pub fn answer(&mut self, ask: &Ask) -> Answer {
        let done = match ask {
            Ask::Set(word) => self.set_promise(word).map(Answer::Done),
            Ask::Drop(name) => self.drop_promise(name).map(Answer::Done),
            Ask::List => Ok(Answer::Promises(self.promises())),
        };
        done.unwrap_or_else(|failure| Answer::refused(&failure))
    }

    /// Keeps promises of cgroups that were removed and made again, as those of restarted units are.
    pub fn follow_promises(&mut self) -> Result<(), Failure> {
        let Some(present) = self.present.as_mut() else { return Ok(()) };
        for own in self.promised.iter_mut().flatten() {
            let before = own.id;
            own.follow();
            if own.id != before {
                before.map_or(Ok(()), |id| void(&mut present.admitted.skeleton, id))?;
                apply(&mut present.admitted, own)?;
            }
        }
        Ok(())
    }

    fn set_promise(&mut self, word: &str) -> Result<String, Failure> {
        let (promised, present) = (self.promised.as_deref(), self.present.as_mut());
        let (Some(promised), Some(present)) = (promised, present) else { return Err(left()) };
        let promised = Promised::with(promised, SET, word)?;
        let new = promised.last().expect("the new one");
        if !new.id.is_some_and(|id| is_scheduled(&present.admitted.skeleton, id)) {
            return Err(Failure::Input(format!(
                "{SET} {word}: no group to the kernel's schedulers: write +cpu into cgroup.subtree_control above it, or \
                 give the unit a CPUWeight="
            )));
        }
        apply(&mut present.admitted, new)?;
        let done = format!("promised: {new}");
        self.promised = Some(promised);
        Ok(done)
    }

    fn drop_promise(&mut self, name: &str) -> Result<String, Failure> {
        let (promised, present) = (self.promised.as_mut(), self.present.as_mut());
        let (Some(promised), Some(present)) = (promised, present) else { return Err(left()) };
        let at = promised.iter().position(|own| own.is_of(name)).ok_or_else(|| {
            let names: Vec<&str> = promised.iter().map(|own| own.name.as_str()).collect();
            let names = if names.is_empty() { "no group".into() } else { names.join(", ") };
            Failure::Input(format!("promise drop {name}: it has no promise; now has one: {names}"))
        })?;
        promised[at].id.map_or(Ok(()), |id| void(&mut present.admitted.skeleton, id))?;
        Ok(format!("no promise any more: {}", promised.remove(at)))
    }

    /// How each promise was kept since it was made, or since its cgroup came back.
    fn promises(&self) -> Vec<PromiseStatus> {
        let Some(present) = &self.present else { return Vec::new() };
        let groups = present.admitted.rows(true).groups();
        let keeping: BTreeMap<u64, Keeping> =
            groups.into_values().map(|group| (group.id, group.keeping)).collect();
        let of = |id| keeping.get(&id).copied().unwrap_or_default();
        let promised = self.promised.iter().flatten();
        let cpus = present.admitted.topology.machine().cpus;
        promised.map(|own| status(own, own.id.map(of).unwrap_or_default(), cpus)).collect()
    }
}

fn left() -> Failure {
    Failure::Run("the policy is not in force any more".into())
}

fn status(own: &Promised, of: Keeping, cpus: u32) -> PromiseStatus {
    let promise = own.promise;
    let span_s = own.since.elapsed().as_secs_f64();
    PromiseStatus {
        group: own.name.clone(),
        within_ns: promise.within.0,
        outliers: f64::from(promise.outliers_per_million) / 1e6,
        at_most: f64::from(promise.at_most_per_million) / 1e6,
        present: of.within_ns != 0,
        span_s,
        wakes: of.wakes,
        late: of.late,
        budget_used: of.used_ns as f64 / 1e9 / span_s.max(1e-9) / f64::from(cpus.max(1)),
    }
}

/// Whether a cgroup is one of the groups that the policy knows.
fn is_scheduled(skeleton: &BpfSkel, id: u64) -> bool {
    let row = skeleton.maps.rg_group_rows.lookup(&id.to_ne_bytes(), MapFlags::ANY);
    row.is_ok_and(|row| row.is_some())
}

/// Tells programs, whether they are in force or not, what cgroups are promised.
pub fn write(skeleton: &BpfSkel, promised: &[Promised], machine: &Machine) -> Result<(), Failure> {
    let mut there = promised.iter().filter_map(|own| Some((own, own.id?)));
    there.try_for_each(|(own, id)| {
        let words = [own.promise.within.0, own.promise.share(machine)];
        let value: Vec<u8> = iter::chain(words[0].to_ne_bytes(), words[1].to_ne_bytes()).collect();
        let map = &skeleton.maps.rg_promised_groups;
        map.update(&id.to_ne_bytes(), &value, MapFlags::ANY).map_err(|error| refused(own, &error))
    })
}

/// Puts a promise into force, if its cgroup is there.
fn apply(admitted: &mut Admitted, own: &Promised) -> Result<(), Failure> {
    let skeleton = &mut admitted.skeleton;
    write(skeleton, std::slice::from_ref(own), &admitted.topology.machine())?;
    own.id.map_or(Ok(()), |id| tell(skeleton, id)).map_err(|error| refused(own, &error))
}

/// Takes it out of force.
fn void(skeleton: &mut BpfSkel, id: u64) -> Result<(), Failure> {
    // The group may never have had one here, which is as good.
    let _ = skeleton.maps.rg_promised_groups.delete(&id.to_ne_bytes());
    tell(skeleton, id)
        .map_err(|error| Failure::Run(format!("the kernel kept a promise in force ({error:#})")))
}

/// Has a program look at what a cgroup is promised now.
fn tell(skeleton: &mut BpfSkel, id: u64) -> libbpf_rs::Result<()> {
    let mut id = id.to_ne_bytes();
    let input = ProgramInput { context_in: Some(&mut id), ..ProgramInput::default() };
    skeleton.progs.rearguard_promise.test_run(input).map(drop)
}

fn refused(own: &Promised, error: &libbpf_rs::Error) -> Failure {
    Failure::Run(format!("promise to {own}: the kernel did not take it ({error:#})"))
}
