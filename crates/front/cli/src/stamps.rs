//! Reading a trace of requests for the ideal.

use std::path::Path;

use model::{Failure, Nanos, printable};

/// The greatest number: beyond, sums would have no room. It is 146 years, and so has room for the time since
/// 1970.
const MOST_NS: u64 = 1 << 62;
/// Characters of a line that are shown.
const SHOWN: usize = 60;

/// A line of such a file.
pub struct Stamp {
    line: usize,
    /// When the request comes.
    pub arrival: Nanos,
    /// How long it is served, where the line says it.
    pub service: Option<Nanos>,
}

/// Reads a line a request: its arrival and, where it is known, its service time in whole nanoseconds, parted
/// by white space or a comma. Empty lines and lines that start with `#` are passed over.
///
/// A mistake is a [`Failure::Input`] that names file and line.
pub fn read_stamps(path: &Path) -> Result<Vec<Stamp>, Failure> {
    let file = path.display();
    let text = fileio::text(path, fileio::LONGEST_LIST)
        .map_err(|error| Failure::Input(format!("{file}: {error}")))?;
    let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
    let requests = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let read = requests.map(|(number, line)| {
        stamp(number, line).ok_or_else(|| {
            let expected = "expected an arrival and, after white space or a comma, a service time, both in whole ns";
            let line = printable(line).chars().take(SHOWN).collect::<String>();
            Failure::Input(format!("{file}:{number}: found `{line}`; {expected}, of at most {MOST_NS}"))
        })
    });
    read.collect()
}

/// Arrivals and service times: the file's own, or `given` for a file that has none. What both say, or
/// neither, or a part of the lines, has no one answer and is refused.
pub fn read_requests(path: &Path, given: Option<Nanos>) -> Result<Vec<(Nanos, Nanos)>, Failure> {
    let (stamps, file) = (read_stamps(path)?, path.display());
    let refused = |why: String| Err(Failure::Input(format!("{file}{why}")));
    let own = stamps.first().and_then(|first| first.service);
    let differs = |stamp: &&Stamp| stamp.service.is_some() != own.is_some();
    if let Some(Stamp { line, .. }) = stamps.iter().find(differs) {
        let (here, before) = if own.is_some() { ("no", "have one") } else { ("a", "have none") };
        let remedy = "give one to all lines, or to none";
        return refused(format!(
            ":{line}: {here} service time, and those before {before}: {remedy}"
        ));
    }
    match (own, given) {
        (Some(_), Some(_)) => refused(": it has service times: leave --service-time out".into()),
        (None, None) if !stamps.is_empty() => refused(
            ": it does not say how long requests are served: expected --service-time, for example 50us"
                .into(),
        ),
        _ => {
            let service = |stamp: &Stamp| stamp.service.or(given).unwrap_or_default();
            Ok(stamps.iter().map(|stamp| (stamp.arrival, service(stamp))).collect())
        }
    }
}

fn stamp(line: usize, text: &str) -> Option<Stamp> {
    let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    let number = |word: &str| word.parse().ok().filter(|ns| *ns <= MOST_NS).map(Nanos);
    let numbers = words.map(number).collect::<Option<Vec<_>>>()?;
    match numbers[..] {
        [arrival] => Some(Stamp { line, arrival, service: None }),
        [arrival, service] => Some(Stamp { line, arrival, service: Some(service) }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_request() {
        let read = |text: &str| stamp(1, text).map(|one| (one.arrival, one.service));
        assert_eq!(read("7"), Some((Nanos(7), None)));
        assert_eq!(read("7 9"), Some((Nanos(7), Some(Nanos(9)))));
        assert_eq!(read("7,\t9"), Some((Nanos(7), Some(Nanos(9)))));
        assert_eq!(read("4611686018427387904"), Some((Nanos(MOST_NS), None)));
        for wrong in
            ["-7", "7us", "7 8 9", "seven", "4611686018427387905", "7 18446744073709551615"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
