//! Good answers made bad.

use model::seed::derive;

/// Numbers that lengths may be taken for.
const LENGTHS: [&[u8]; 7] =
    [b"0", b"-1", b"-9", b"33554433", b"4294967295", b"9223372036854775807", b"ffffffffffffffff"];
/// Bytes that are put in at most.
const MOST: usize = 40;

/// Throws of a seed.
pub struct Dice {
    seed: u64,
    thrown: u64,
}

impl Dice {
    /// Those of a seed, for one purpose.
    pub fn new(seed: u64, purpose: &[u64]) -> Dice {
        Dice { seed: derive(seed, purpose), thrown: 0 }
    }

    /// A number below this one, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        self.thrown += 1;
        (derive(self.seed, &[self.thrown]) % end as u64) as usize
    }

    fn bytes(&mut self) -> Vec<u8> {
        let count = self.below(MOST);
        (0..count).map(|_| self.below(256) as u8).collect()
    }

    /// Two places in so many bytes, the first not behind the second.
    fn span(&mut self, length: usize) -> std::ops::Range<usize> {
        let (one, other) = (self.below(length + 1), self.below(length + 1));
        one.min(other)..one.max(other)
    }
}

/// An answer with up to four faults.
pub fn mangled(good: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..=dice.below(4) {
        let span = dice.span(bytes.len());
        match dice.below(8) {
            0 if !bytes.is_empty() => {
                let at = dice.below(bytes.len());
                bytes[at] = dice.below(256) as u8;
            }
            1 => bytes.truncate(span.start),
            2 => drop(bytes.drain(span)),
            3 => {
                let twice = bytes[span.clone()].to_vec();
                bytes.splice(span.end..span.end, twice);
            }
            4 => drop(bytes.splice(span, dice.bytes())),
            5 => bytes = dice.bytes(),
            _ => exaggerate(&mut bytes, dice),
        }
    }
    bytes
}

/// Another length: for a number in digits, or for bytes that may be one.
fn exaggerate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let is_digit = |at: &usize| bytes[*at].is_ascii_digit();
    let digits: Vec<usize> = (0..bytes.len()).filter(is_digit).collect();
    if let (Some(most), 0..3) = (digits.len().checked_sub(1), dice.below(4)) {
        let at = digits[dice.below(most + 1)];
        bytes.splice(at..=at, LENGTHS[dice.below(LENGTHS.len())].iter().copied());
    } else {
        let span = dice.span(bytes.len());
        let end = span.end.min(span.start + 4);
        bytes[span.start..end].fill([0, 0x7f, 0x80, 0xff][dice.below(4)]);
    }
}
