//! Reading a trace of requests for the ideal.

use std::path::Path;

use model::{Failure, Nanos, printable};

/// The greatest number: beyond, sums would have no room. It is 146 years, and so has room for the time since
/// 1970.
const MOST_NS: u64 = 1 << 62;
/// Characters of a line that are shown.
const SHOWN: usize = 60;

/// Reads a line a request: its arrival and its service time in whole nanoseconds, parted by white space or a
/// comma; a line without the second takes `service`. Empty lines and lines that start with `#` are passed
/// over.
///
/// A mistake is a [`Failure::Input`] that names file and line.
pub fn read_stamps(path: &Path, service: Nanos) -> Result<Vec<(Nanos, Nanos)>, Failure> {
    let file = path.display();
    let text = fileio::text(path, fileio::LONGEST_LIST)
        .map_err(|error| Failure::Input(format!("{file}: {error}")))?;
    let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
    let requests = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let read = requests.map(|(number, line)| {
        request(line, service).ok_or_else(|| {
            let expected = "expected an arrival and, after white space or a comma, a service time, both in whole ns";
            let line = printable(line).chars().take(SHOWN).collect::<String>();
            Failure::Input(format!("{file}:{number}: found `{line}`; {expected}, of at most {MOST_NS}"))
        })
    });
    read.collect()
}

fn request(line: &str, service: Nanos) -> Option<(Nanos, Nanos)> {
    let words = line.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    let number = |word: &str| word.parse().ok().filter(|ns| *ns <= MOST_NS).map(Nanos);
    let numbers = words.map(number).collect::<Option<Vec<_>>>()?;
    match numbers[..] {
        [arrival] => Some((arrival, service)),
        [arrival, service] => Some((arrival, service)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_request() {
        let service = Nanos(50);
        assert_eq!(request("7", service), Some((Nanos(7), service)));
        assert_eq!(request("7 9", service), Some((Nanos(7), Nanos(9))));
        assert_eq!(request("7,\t9", service), Some((Nanos(7), Nanos(9))));
        let last = "4611686018427387904";
        assert_eq!(request(last, service), Some((Nanos(MOST_NS), service)));
        for wrong in
            ["-7", "7us", "7 8 9", "seven", "4611686018427387905", "7 18446744073709551615"]
        {
            assert_eq!(request(wrong, service), None, "{wrong}");
        }
    }
}
