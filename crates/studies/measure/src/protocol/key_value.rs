//! What is asked of a key-value store: Tales section 3.1.2 has 90% reads, keys of 64 bytes and values of
//! 1,024.

use generator::Ask;
use model::seed::derive;

/// The keys and the mix of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyValue {
    /// The share of requests that read; the others write.
    pub reads: f64,
    /// How many keys there are; each is as likely.
    pub keys: u64,
    /// Bytes of a key, 1 to 250: one that is too short for its number is as long as that.
    pub key_bytes: usize,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Whether request n writes key n, to fill the store before a run.
    pub fills: bool,
}

impl Default for KeyValue {
    fn default() -> KeyValue {
        KeyValue { reads: 0.9, keys: 10_000, key_bytes: 64, value_bytes: 1_024, fills: false }
    }
}

impl KeyValue {
    /// Whether a request reads: drawn from its random number, the same whenever it is asked for.
    pub fn reads(&self, ask: &Ask) -> bool {
        !self.fills && ((drawn(ask) >> 32) as f64) < self.reads * 2f64.powi(32)
    }

    /// Its key, drawn likewise.
    pub fn key(&self, ask: &Ask) -> Vec<u8> {
        match self.fills {
            true => self.numbered(ask.id % self.keys.max(1)),
            false => self.numbered(((drawn(ask) & 0xffff_ffff) * self.keys) >> 32),
        }
    }

    /// The key of a number: its digits behind a row of letters.
    fn numbered(&self, number: u64) -> Vec<u8> {
        let digits = number.to_string();
        let mut key = vec![b'k'; self.key_bytes.saturating_sub(digits.len())];
        key.extend(digits.as_bytes());
        key
    }

    /// The value of every key.
    pub fn value(&self) -> Vec<u8> {
        vec![b'v'; self.value_bytes]
    }
}

fn drawn(ask: &Ask) -> u64 {
    derive(u64::from(ask.planned.random), &[ask.id])
}
