//! Reading a trace of requests for the ideal.

use std::path::Path;

use model::{Failure, Nanos};

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
            Failure::Input(format!("{file}:{number}: found `{line}`; {expected}"))
        })
    });
    read.collect()
}

fn request(line: &str, service: Nanos) -> Option<(Nanos, Nanos)> {
    let words = line.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    let numbers = words.map(|word| word.parse().map(Nanos).ok()).collect::<Option<Vec<_>>>()?;
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
        for wrong in ["-7", "7us", "7 8 9", "seven"] {
            assert_eq!(request(wrong, service), None, "{wrong}");
        }
    }
}
