//! Traces as files, made of simulated runs: read back, compared, exported.

mod common;
mod diff;
mod file;
mod machine;
mod parquet;
mod perfetto;
