//! Whole nanoseconds by weights, without a remainder.

/// Bits of a weight that count, fewer where the product with the total would have no room: from 43 bits on
/// (2 hours).
const BITS: u32 = 84;

/// Divides `total` in proportion to the weights, by the method of largest remainders. Each part is its exact
/// share rounded down or up, and the parts sum to the total. Of equal remainders the first gets more. `None`
/// where all weights are zero.
pub(crate) fn apportion(total: u64, weights: &[u128]) -> Option<Vec<u64>> {
    let greatest: u128 = weights.iter().sum();
    let bits = BITS.min(u64::BITS - 1 + total.leading_zeros());
    let surplus = (u128::BITS - greatest.leading_zeros()).saturating_sub(bits);
    let weights: Vec<u128> = weights.iter().map(|weight| weight >> surplus).collect();
    let whole: u128 = weights.iter().sum();
    if whole == 0 {
        return None;
    }
    let product = |weight: &u128| u128::from(total) * weight;
    let mut parts: Vec<u64> = weights.iter().map(|w| (product(w) / whole) as u64).collect();
    let missing = total - parts.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(product(&weights[at]) % whole));
    order.iter().take(missing as usize).for_each(|&at| parts[at] += 1);
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::apportion;

    #[test]
    fn parts_sum_to_the_whole_and_lie_at_their_share() {
        assert_eq!(apportion(10, &[1, 1, 1]), Some(vec![4, 3, 3]));
        assert_eq!(apportion(7, &[0, 3, 0, 1]), Some(vec![0, 5, 0, 2]));
        assert_eq!(apportion(0, &[5, 1]), Some(vec![0, 0]));
        assert_eq!(apportion(3, &[0, 0]), None);
        let huge = 1 << 100;
        assert_eq!(apportion(1 << 62, &[huge, huge]), Some(vec![1 << 61, 1 << 61]));
        assert_eq!(apportion(1 << 40, &[huge, huge]), Some(vec![1 << 39, 1 << 39]));
    }
}
