//! The measurements side by side.

use crate::guest::Measurement;
use crate::profile::Callback;

/// A measurement and its owner.
pub struct Row {
    /// The scheduler.
    pub policy: String,
    /// The machine.
    pub cpus: u32,
    /// The measurement.
    pub one: Measurement,
}

/// Prints a line of JSON.
pub fn json(policy: &str, cpus: u32, one: &Measurement) {
    let line = serde_json::json!({
        "policy": policy, "cpus": cpus, "processes": one.shape.processes, "pairs": one.shape.pairs,
        "instructions_per_round_trip": one.instructions, "callbacks": one.callbacks,
    });
    println!("{line}");
}

/// Prints a table: a line a load, a column a scheduler, beside the first; then the profiles.
pub fn print(policies: &[String], rows: &[Row]) {
    println!("instructions a pipe round trip, and relative to {}", policies[0]);
    print!("{:>5} {:>9} {:>7}", "CPUs", "processes", "queued");
    policies.iter().for_each(|policy| print!(" {policy:>20}"));
    println!();
    for row in rows.iter().filter(|row| row.policy == policies[0]) {
        let shape = row.one.shape;
        print!("{:>5} {:>9} {:>7}", row.cpus, shape.processes, shape.queued());
        for policy in policies {
            let same = |other: &&Row| {
                (&other.policy, other.cpus, other.one.shape) == (policy, row.cpus, shape)
            };
            let Some(other) = rows.iter().find(same) else {
                print!(" {:>20}", "-");
                continue;
            };
            let ratio = other.one.instructions / row.one.instructions;
            print!(" {:>13.0} {ratio:>6.2}", other.one.instructions);
        }
        println!();
    }
    rows.iter().filter(|row| !row.one.callbacks.is_empty()).for_each(print_profile);
}

fn print_profile(row: &Row) {
    println!(
        "\n{} on {} CPUs, {}: runs a round trip, instructions a run",
        row.policy, row.cpus, row.one.shape
    );
    let mut sum = 0.0;
    for Callback { name, runs, instructions } in &row.one.callbacks {
        println!("  {name:<20} {runs:>8.2} {instructions:>8.0}");
        sum += runs * instructions;
    }
    println!("  all of them: {sum:.0} of {:.0} instructions a round trip", row.one.instructions);
}
