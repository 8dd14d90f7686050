//! Margins (interim).

/// How far a proportion or mean may be off to each side.
pub(crate) struct Margins {
    pub below: f64,
    pub above: f64,
}

pub(crate) fn margins(centred: Vec<f64>, requests: f64) -> Margins {
    let batches: Vec<f64> = centred.chunks(4).map(|four| four.iter().sum()).collect();
    let n = batches.len() as f64;
    let square: f64 = batches.iter().map(|d| d * d).sum();
    let error = 2.04 * (square * n / (n - 1.0)).sqrt() / requests;
    Margins { below: error, above: error }
}
