//! Honest statistics of dependent samples: quantiles, intervals, shares, lag, outliers, verdicts.
#![forbid(unsafe_code)]
