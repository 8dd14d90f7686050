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
mod markdown;
mod paper;
mod table;

pub use document::Document;
pub use figure::{Curve, ExactLatency, FIGURE_SCHEMA, Figure, IDEAL_SCHEMA, Ideal};
pub use html::{figure_html, figure_picture, html, paper_html, paper_picture, picture};
pub use json::json;
pub use markdown::paper_markdown;
pub use paper::{
    Agreement, PAPER_SCHEMA, PaperClaim, PaperFigure, PaperValue, Series, SeriesChart,
};
pub use table::{figure_table, paper_table, table};
