//! What runs: a machine full of threads that spin, with services above them that wake up all the time.

use std::fmt::Write;

use model::scenario::Machine;
use model::{Failure, Scenario};

/// A machine as `CPUS`, `CPUSxCACHES` or `CPUSxCACHESxNODES`.
pub fn machine(text: &str) -> Result<Machine, String> {
    let numbers: Result<Vec<u32>, _> = text.split('x').map(str::parse).collect();
    let (cpus, llcs, nodes) = match numbers.as_deref() {
        Ok([cpus]) => (*cpus, 1, 1),
        Ok([cpus, llcs]) => (*cpus, *llcs, 1),
        Ok([cpus, llcs, nodes]) => (*cpus, *llcs, *nodes),
        _ => return Err("expected CPUS, CPUSxCACHES or CPUSxCACHESxNODES, such as 64x8x2".into()),
    };
    let divides = |part: u32, whole: u32| part > 0 && whole.is_multiple_of(part);
    let fits = (1..=crate::lines::CPUS).contains(&cpus);
    if !fits || !divides(llcs, cpus) || !divides(nodes, llcs) {
        return Err(format!(
            "expected 1 to {} CPUs in equal caches, and these in equal nodes",
            crate::lines::CPUS
        ));
    }
    Ok(Machine { cpus, smt: 1, llcs, nodes })
}

/// A service with a thread a connection for every eight CPUs, at half the machine together, in groups of
/// their own; a batch process with a thread a CPU, and timers that wake up beside.
pub fn scenario(machine: &Machine, millis: u64) -> Result<Scenario, Failure> {
    let Machine { cpus, llcs, nodes, .. } = *machine;
    let services = (cpus / 8).clamp(1, 16);
    let mut text = format!(
        "# What goes from CPU to CPU?\nduration = \"{millis}ms\"\nwarm_up = \"100ms\"\nseeds = [1]\n\
         [machine]\ncpus = {cpus}\nllcs = {llcs}\nnodes = {nodes}\n[[group]]\nname = \"batch\"\n"
    );
    for at in 0..services {
        let connections = (4 * cpus / services).max(4);
        let utilisation = 0.5 / f64::from(services);
        write!(
            text,
            "[[group]]\nname = \"web-{at}\"\n[[program]]\nname = \"web-{at}\"\nkind = \"service\"\n\
             group = \"web-{at}\"\narchitecture = \"thread-per-connection\"\nconnections = {connections}\n\
             service_time = {{ mean = \"500us\", law = \"lognormal\", cv = 1 }}\n\
             arrivals = {{ law = \"poisson\", utilisation = {utilisation} }}\n"
        )
        .expect("a string");
    }
    write!(
        text,
        "[[program]]\nname = \"batch\"\nkind = \"batch\"\ngroup = \"batch\"\nthreads = {cpus}\n\
         [[program]]\nname = \"timers\"\nkind = \"periodic\"\nthreads = {cpus}\nrun = \"50us\"\n\
         period = \"10ms\"\n"
    )
    .expect("a string");
    Scenario::read(&text, "coherence.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_read() {
        let read = |text| machine(text).map(|m| (m.cpus, m.llcs, m.nodes));
        assert_eq!(read("2"), Ok((2, 1, 1)));
        assert_eq!(read("64x8x2"), Ok((64, 8, 2)));
        for wrong in ["", "0", "x", "16x3", "16x4x8", "512", "1x1x1x1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_machine_has_a_scenario() {
        for text in ["2", "16x4x2", "256x32x8"] {
            let machine = machine(text).expect(text);
            let scenario = scenario(&machine, 100).expect(text);
            assert_eq!(scenario.machine, machine);
        }
    }
}
