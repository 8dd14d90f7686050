//! What is due to the threads that want a CPU.

/// The share of one CPU that is due to each weight on `cpus` CPUs: in proportion, but no thread runs on two
/// at once, and what that leaves goes to the others.
pub fn due(weights: &[f64], cpus: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
    let mut left = cpus;
    let mut sum: f64 = weights.iter().sum();
    let mut shares = vec![0.0; weights.len()];
    for at in order {
        let share = if sum > 0.0 { (left * weights[at] / sum).clamp(0.0, 1.0) } else { 0.0 };
        shares[at] = share;
        left -= share;
        sum -= weights[at];
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_share_in_proportion() {
        assert_eq!(due(&[300.0, 100.0], 1.0), [0.75, 0.25]);
        assert!(due(&[], 4.0).is_empty());
    }

    #[test]
    fn no_thread_is_due_more_than_a_cpu_and_the_rest_is_shared() {
        assert_eq!(due(&[1.0, 1000.0, 1.0, 2.0], 3.0), [0.5, 1.0, 0.5, 1.0]);
        assert_eq!(due(&[7.0, 1.0], 4.0), [1.0, 1.0]);
    }
}
