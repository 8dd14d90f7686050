//! The result document and its faces: JSON, table, HTML.
#![forbid(unsafe_code)]
