//! Random replies to the requests of every protocol: first to the decoders alone, then by servers over
//! sockets. The same seed, the same replies.
//!
//! `RG_REPLIES` says how many (20,000; a million take minutes), `RG_SEED` which.

mod decoders;
mod mangle;
mod server;
mod servers;
mod spoken;

/// A number of the environment, for longer runs than these.
fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().expect(name))
}

fn seed() -> u64 {
    number("RG_SEED", 1)
}
