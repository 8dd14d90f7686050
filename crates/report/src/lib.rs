//! The result document and its faces: JSON, table, HTML.
//!
//! Knows neither the arm that measured nor the statistics that were applied: what it shows is in the document.
#![forbid(unsafe_code)]

mod blocks;
mod curves;
pub mod document;
mod figure;
mod grid;
mod html;
mod human;
mod json;
mod table;

pub use document::Document;
pub use figure::{Curve, ExactLatency, FIGURE_SCHEMA, Figure, IDEAL_SCHEMA, Ideal};
pub use html::{figure_html, figure_picture, html, picture};
pub use json::json;
pub use table::{figure_table, table};
