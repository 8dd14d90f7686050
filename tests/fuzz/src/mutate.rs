//! Inputs made of others.

use rand::{Rng, RngExt};

/// What stands where something else was meant: bounds of numbers and of formats.
const TOKENS: [&[u8]; 16] = [
    b"0",
    b"-1",
    b"65536",
    b"4294967295",
    b"18446744073709551615",
    b"1e308",
    b"NaN",
    b"\"1ns\"",
    b"\"",
    b"[[",
    b"\n",
    b"{}",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0\0\0\0\x80",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\x1b[2J",
];

/// An input of a few changes to one of the pool.
pub fn one(pool: &[Vec<u8>], longest: usize, rng: &mut impl Rng) -> Vec<u8> {
    let mut bytes = pool[rng.random_range(0..pool.len())].clone();
    for _ in 0..rng.random_range(1..=6) {
        change(&mut bytes, pool, rng);
    }
    bytes.truncate(longest);
    bytes
}

fn change(bytes: &mut Vec<u8>, pool: &[Vec<u8>], rng: &mut impl Rng) {
    let from = rng.random_range(0..=bytes.len());
    let to = (from + rng.random_range(0..32)).min(bytes.len());
    match rng.random_range(0..8) {
        0 => drop(bytes.drain(from..to)),
        1 => bytes[from..to].iter_mut().take(1).for_each(|byte| *byte = rng.random()),
        2 => {
            bytes[from..to].iter_mut().take(1).for_each(|byte| *byte ^= 1 << rng.random_range(0..8))
        }
        3 => drop(bytes.splice(from..from, TOKENS[rng.random_range(0..TOKENS.len())].to_vec())),
        4 => number(bytes, from, rng),
        5 => {
            let copy = bytes[from..to].to_vec();
            drop(bytes.splice(from..from, copy));
        }
        6 => {
            let other = &pool[rng.random_range(0..pool.len())];
            let begin = rng.random_range(0..=other.len());
            let end = (begin + rng.random_range(0..200)).min(other.len());
            drop(bytes.splice(from..to, other[begin..end].to_vec()));
        }
        _ => bytes.truncate(from.max(8)),
    }
}

/// Another number where the next one stands.
fn number(bytes: &mut Vec<u8>, from: usize, rng: &mut impl Rng) {
    let digits = |byte: &u8| byte.is_ascii_digit();
    let Some(begin) = bytes[from..].iter().position(digits).map(|at| from + at) else { return };
    let length = bytes[begin..].iter().take_while(|byte| digits(byte)).count();
    let number = rng.random::<u64>() >> rng.random_range(0..64);
    drop(bytes.splice(begin..begin + length, number.to_string().into_bytes()));
}
