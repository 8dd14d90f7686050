//! The rules of the house as functions from a text to its faults, so that each can be shown to catch
//! something.
#![forbid(unsafe_code)]

pub mod layers;
pub mod licences;
pub mod pages;
pub mod size;
pub mod sources;
pub mod vocabulary;
pub mod words;
