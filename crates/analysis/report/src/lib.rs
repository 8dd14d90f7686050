//! The result document and its faces: JSON, table, HTML.
//!
//! Knows neither the arm that measured nor the statistics that were applied: what it shows is in the
//! document.
#![forbid(unsafe_code)]

mod blocks;
pub mod capacity;
mod cluster;
mod curves;
pub mod difference;
mod disturbance;
pub mod document;
pub mod explain;
mod fan_out;
mod figure;
mod grid;
mod html;
mod human;
mod json;
mod kinds;
mod looks;
mod markdown;
mod measured;
pub mod overhead;
mod paper;
pub mod proof;
pub mod stages;
mod table;
mod tables;
pub mod whatif;

pub use blocks::{HEADLINE, ROUND};
pub use cluster::{
    CLUSTER_SCHEMA, ClusterCase, ClusterRun, ClusterTurn, ClusterVerdict, SubRequests,
};
pub use disturbance::{Disturbance, SharedCpus};
pub use document::Document;
pub use fan_out::{FAN_OUT_SCHEMA, FanOut, FanOutRow};
pub use figure::{Curve, ExactLatency, FIGURE_SCHEMA, Figure, IDEAL_SCHEMA, Ideal, MeasuredBeside};
pub use html::{
    capacity_html, capacity_picture, cluster_html, cluster_picture, difference_html,
    explained_html, fan_out_html, fan_out_picture, figure_html, figure_picture, html, measure_html,
    measure_picture, overhead_html, paper_html, paper_picture, picture, proof_html, stages_html,
    what_if_html,
};
pub use json::json;
pub use kinds::{KindResult, OTHERS};
pub use looks::MeasureLooks;
pub use markdown::{Written, markdown, paper_markdown};
pub use measured::{
    MEASURE_SCHEMA, MeasurePlan, MeasureService, Measured, SATURATE_SCHEMA, Saturated,
    SelfCheckResult,
};
pub use paper::{
    Agreement, PAPER_SCHEMA, PaperClaim, PaperFigure, PaperValue, Series, SeriesChart,
};
pub use table::{
    capacity_table, cluster_table, difference_table, explained_table, fan_out_table, figure_table,
    measure_table, overhead_table, paper_table, proof_table, saturated_table, stages_table, table,
    what_if_table,
};
pub use tables::{TABLES_SCHEMA, Tables};
