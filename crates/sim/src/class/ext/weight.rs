pub fn of_nice(nice: i8) -> u32 {
    ((100.0 * 1.25f64.powi(-i32::from(nice))).round() as u32).clamp(1, 10_000)
}
