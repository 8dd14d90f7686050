//! What a nice value weighs.

/// The weight of a thread of nice 0.
pub const NICE_0_WEIGHT: u32 = 1_024;
/// The `cpu.weight` that weighs as much as a thread of nice 0 beside it.
pub const GROUP_WEIGHT: u32 = 100;
/// What an idle group weighs where a thread of nice 0 has 1,024 (`WEIGHT_IDLEPRIO`).
pub const IDLE_WEIGHT: u32 = 3;

/// The weight of a nice value from -20 to 19: a step of 1 is a factor of 1.25, 1,024 at nice 0.
///
/// That is the rule behind the kernel's table, whose rounded entries differ from it by less than 1%. Values
/// out of range count as the nearest one in it.
pub fn nice_weight(nice: i8) -> u32 {
    let steps = i64::from(nice.clamp(-20, 19));
    let (five, four) =
        (5u64.pow(steps.unsigned_abs() as u32), 4u64.pow(steps.unsigned_abs() as u32));
    let (up, down) = if steps < 0 { (five, four) } else { (four, five) };
    ((u64::from(NICE_0_WEIGHT) * up + down / 2) / down) as u32
}

/// The weight of a thread of a nice value against groups: 100 at nice 0.
pub fn thread_weight(nice: i8) -> f64 {
    f64::from(nice_weight(nice)) * f64::from(GROUP_WEIGHT) / f64::from(NICE_0_WEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_nice_is_a_factor_of_five_quarters() {
        let known =
            [(-20, 88_818), (-5, 3_125), (-1, 1_280), (0, 1_024), (1, 819), (5, 336), (19, 15)];
        for (nice, weight) in known {
            assert_eq!(nice_weight(nice), weight, "nice {nice}");
        }
        for nice in -20..19 {
            assert!(nice_weight(nice) > nice_weight(nice + 1), "nice {nice}");
        }
    }

    #[test]
    fn out_of_range_is_the_nearest_in_it() {
        assert_eq!(nice_weight(-21), nice_weight(-20));
        assert_eq!(nice_weight(i8::MAX), nice_weight(19));
    }
}
