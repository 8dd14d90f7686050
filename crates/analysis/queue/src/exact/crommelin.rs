//! M/D/c: Poisson arrivals, fixed services of 1.
//!
//! Crommelin (1932) found the distribution of waits as an alternating sum that loses all digits at high load;
//! Franx (2001) found one with positive terms alone, from the distribution of the queue's length. That has a
//! generating function with c - 1 known zeros, whose coefficients a Fourier transform reads off.

use std::f64::consts::TAU;

use rustfft::FftPlanner;
use rustfft::num_complex::Complex64;

use super::falls_to;

/// More workers are not worked out: the Poisson weights of their load would leave the range of doubles.
const MOST_WORKERS: u32 = 512;
/// Nor are queues that can grow longer than this: utilisations above about 0.9999.
const LONGEST_QUEUE: usize = 1 << 18;

/// An M/D/c queue, first come, first served.
#[derive(Clone, Debug, PartialEq)]
pub struct MDc {
    workers: usize,
    /// Arrivals a service time.
    load: f64,
    mean: f64,
    /// The probability that at most n requests wait, by n.
    queue_at_most: Vec<f64>,
}

impl MDc {
    /// `None` unless there are 1 to 512 workers and the utilisation is above 0 and at most about 0.9999.
    pub fn new(workers: u32, utilisation: f64) -> Option<MDc> {
        let known = (1..=MOST_WORKERS).contains(&workers) && utilisation > 0.0 && utilisation < 1.0;
        let load = f64::from(workers) * utilisation;
        let length = if known { queue_length(workers, load)? } else { return None };
        let zeros = zeros(workers, load);
        Some(MDc {
            workers: workers as usize,
            load,
            mean: 1.0 + mean_queue(workers, load, &zeros) / load,
            queue_at_most: queue_at_most(workers, load, &zeros, length),
        })
    }

    /// The mean latency.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The probability that a request has to wait.
    pub fn wait_probability(&self) -> f64 {
        1.0 - self.wait_at_most(0.0)
    }

    /// The proportion of latencies above `t`.
    pub fn beyond(&self, t: f64) -> f64 {
        if t < 1.0 { 1.0 } else { 1.0 - self.wait_at_most(t - 1.0) }
    }

    /// The latency that a proportion `p`, 0 to below 1, does not exceed.
    pub fn quantile(&self, p: f64) -> f64 {
        falls_to(1.0 - p, 1.0, |t| self.beyond(t))
    }

    /// Franx (2001): P(W <= x) = sum over j < uc of Q(uc - 1 - j) e^-y y^j / j!, y = load (u - x), u =
    /// floor(x) + 1.
    fn wait_at_most(&self, x: f64) -> f64 {
        let u = x.floor() + 1.0;
        let y = self.load * (u - x);
        let terms = u as usize * self.workers;
        let mut weight = (-y).exp();
        let mut sum = 0.0;
        for j in 0..terms {
            let place = (terms - 1 - j).min(self.queue_at_most.len() - 1);
            sum += self.queue_at_most[place] * weight;
            weight *= y / (j + 1) as f64;
        }
        sum
    }
}

/// A length, as a power of two, that the queue exceeds with a probability below 1e-17: the tail falls by the
/// root z > 1 of z^c = e^(a (z - 1)) with each request. `None` where that is beyond [`LONGEST_QUEUE`].
fn queue_length(workers: u32, load: f64) -> Option<usize> {
    let workers = f64::from(workers);
    let excess = |z: f64| load * (z - 1.0) - workers * z.ln();
    let mut high = workers / load + 1.0;
    while excess(high) < 0.0 {
        high *= 2.0;
    }
    let mut low = workers / load;
    for _ in 0..60 {
        let middle = low.midpoint(high);
        if excess(middle) < 0.0 { low = middle } else { high = middle }
    }
    let length = (40.0 / low.ln() + workers + 64.0) as usize;
    (length <= LONGEST_QUEUE).then(|| length.next_power_of_two())
}

/// The roots of z^c = e^(a (z - 1)) inside the unit circle, but for z = 1: each a fixed point of its branch.
fn zeros(workers: u32, load: f64) -> Vec<Complex64> {
    let c = f64::from(workers);
    let branch = |k: u32| Complex64::from_polar(1.0, TAU * f64::from(k) / c);
    let solve = |k: u32| {
        let mut z = Complex64::ZERO;
        for _ in 0..100_000 {
            let next = branch(k) * ((z - 1.0) * (load / c)).exp();
            let moved = (next - z).norm();
            z = next;
            if moved < 1e-16 {
                break;
            }
        }
        z
    };
    (1..workers).map(solve).collect()
}

/// The mean number of waiting requests, from the derivative of the generating function at 1.
fn mean_queue(workers: u32, load: f64, zeros: &[Complex64]) -> f64 {
    let c = f64::from(workers);
    let sum: Complex64 = zeros.iter().map(|zero| (1.0 - zero).inv()).sum();
    // Where hardly a request waits, rounding may leave less than none.
    (sum.re - (c * (c - 1.0) - load * load) / (2.0 * (c - load))).max(0.0)
}

/// The distribution of the number of waiting requests, summed up: coefficients of
/// (c - a)(z - 1) / (z^c - e^(a (z - 1))) times the product of (z - z_k) / (1 - z_k).
fn queue_at_most(workers: u32, load: f64, zeros: &[Complex64], length: usize) -> Vec<f64> {
    let spare = f64::from(workers) - load;
    let value = |m: usize| {
        if m == 0 {
            return Complex64::ONE;
        }
        let z = Complex64::from_polar(1.0, TAU * m as f64 / length as f64);
        let fraction = (z - 1.0) * spare / (z.powu(workers) - ((z - 1.0) * load).exp());
        zeros.iter().fold(fraction, |product, zero| product * ((z - zero) / (1.0 - zero)))
    };
    let mut values: Vec<Complex64> = (0..length).map(value).collect();
    FftPlanner::new().plan_fft_forward(length).process(&mut values);
    let mut sum = 0.0;
    let at_most = values.iter().map(|term| {
        sum += term.re / length as f64;
        sum
    });
    at_most.collect()
}
