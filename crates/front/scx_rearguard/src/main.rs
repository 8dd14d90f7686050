//! `scx_rearguard`: puts a policy into the running kernel. `rearguard load` starts it.
#![forbid(unsafe_code)]

#[cfg(test)]
mod documented;
mod load;
mod plan;
mod service;

use std::process::ExitCode;

use clap::Parser;
use model::Failure;

fn main() -> ExitCode {
    match load::run(&load::Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // The reader is gone: that is no news.
            if failure != Failure::ClosedOutput {
                anstream::eprintln!("{}: {failure}", loader::NAME);
            }
            ExitCode::from(failure.exit_code())
        }
    }
}
