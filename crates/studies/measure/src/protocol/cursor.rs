//! Reading bytes that may not all be there yet.

use super::Stop;

/// Lines longer than this are garbage: no status line of these protocols is.
const LONGEST_LINE: usize = 4_096;

/// A place in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At the first byte.
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// Bytes that were read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next `length` bytes.
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Stop> {
        let end = self.at.checked_add(length).ok_or(Stop::Garbage)?;
        let taken = self.bytes.get(self.at..end).ok_or(Stop::More(end))?;
        self.at = end;
        Ok(taken)
    }

    /// The next bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        Ok(self.take(N)?.try_into().expect("N bytes were taken"))
    }

    /// Exactly these bytes.
    pub fn expect(&mut self, wanted: &[u8]) -> Result<(), Stop> {
        if self.take(wanted.len())? == wanted { Ok(()) } else { Err(Stop::Garbage) }
    }

    /// The bytes up to the next CR LF, which is passed over.
    pub fn line(&mut self) -> Result<&'a [u8], Stop> {
        let rest = &self.bytes[self.at..];
        match rest.windows(2).take(LONGEST_LINE).position(|pair| pair == b"\r\n") {
            Some(length) => {
                self.at += length + 2;
                Ok(&rest[..length])
            }
            None if rest.len() > LONGEST_LINE => Err(Stop::Garbage),
            None => Err(Stop::More(self.bytes.len() + 1)),
        }
    }
}

/// A decimal number, minus sign allowed.
pub fn decimal(digits: &[u8]) -> Result<i64, Stop> {
    let is_number = |text: &&str| !text.starts_with('+');
    let text = str::from_utf8(digits).ok().filter(is_number);
    text.and_then(|text| text.parse().ok()).ok_or(Stop::Garbage)
}
