//! One comparison: plan, interleaved runs over an arm, analyses, result document.
#![forbid(unsafe_code)]
