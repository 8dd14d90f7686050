//! The scheduler's C source compiled natively, behind a safe trait.
#![forbid(unsafe_code)]
