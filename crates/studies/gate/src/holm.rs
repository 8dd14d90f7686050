//! Many tests with one bound on any false alarm.

/// Which of some tests may be believed, by the probability of each, so that any false alarm at all is less
/// probable than `family`: Holm (1979), "A simple sequentially rejective multiple test procedure".
pub(crate) fn believed(p: &[f64], family: f64) -> Vec<bool> {
    let mut by_p: Vec<usize> = (0..p.len()).collect();
    by_p.sort_by(|x, y| p[*x].total_cmp(&p[*y]));
    let mut believed = vec![false; p.len()];
    for (rank, test) in by_p.into_iter().enumerate() {
        if p[test] > family / (p.len() - rank) as f64 {
            break;
        }
        believed[test] = true;
    }
    believed
}

#[cfg(test)]
mod tests {
    use super::believed;

    #[test]
    fn the_surest_pays_for_all() {
        assert_eq!(believed(&[0.01, 0.04, 0.03, 0.005], 0.05), [true, false, false, true]);
        assert_eq!(believed(&[0.04], 0.05), [true], "one test pays for itself alone");
        assert_eq!(believed(&[0.04, 1.0], 0.05), [false, false], "control: 0.04 of two");
        assert_eq!(believed(&[], 0.05), [false; 0]);
    }
}
