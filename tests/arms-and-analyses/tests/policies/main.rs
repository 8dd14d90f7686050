//! What each policy promises, asked of simulated runs with the statistics and the ideal.

mod arrival;
mod chains;
mod changing_sets;
#[path = "../../../../crates/arms/sim/tests/common/mod.rs"]
mod common;
mod credit;
mod cts;
mod drawn_sets;
mod dwrr;
mod fairness;
mod files;
mod gvts;
mod production_node;
mod quotas;
mod rearguard;
mod sets;
mod shuffled;
mod tails;
mod weights;
