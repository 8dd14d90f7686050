//! The ideal: what an A/S/c queue would have done, simulated and in closed form.
#![forbid(unsafe_code)]
