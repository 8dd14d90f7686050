//! Reading latencies that other load generators wrote, a line a request.

use std::path::Path;

use csv::{ReaderBuilder, StringRecord};
use model::{Failure, Nanos};

use crate::files;

/// Latencies of requests in the order in which they were sent, as far as the file knows it.
#[derive(Debug, PartialEq)]
pub struct Latencies {
    /// What wrote them.
    pub tool: String,
    /// One a request; [`Nanos::NEVER`] for one that was not answered.
    pub latencies: Vec<Nanos>,
    /// When each was sent, from the first on; `None` where the file does not say.
    pub arrivals: Option<Vec<Nanos>>,
}

/// Which columns of a file mean what, and in which units.
struct Columns {
    tool: String,
    latency: (usize, Nanos),
    start: Option<(usize, Nanos)>,
    /// A status of 0 says that no answer came.
    status: Option<usize>,
    /// Lines with other words there are of other things.
    only: Option<(usize, &'static str)>,
    /// Whether the first line is no request.
    headed: bool,
}

const KNOWN: &str =
    "the CSV of oha, hey, k6 or vegeta, or the name of a column by --column and --unit";
const MILLI: Nanos = Nanos(1_000_000);
const SECOND: Nanos = Nanos(1_000_000_000);

/// Reads a file of oha, hey, k6 or vegeta, or any whose column and its unit are named.
///
/// A mistake is a [`Failure::Input`] that names file and line.
pub fn read(path: &Path, named: Option<(&str, Nanos)>) -> Result<Latencies, Failure> {
    let file = path.display();
    let wrong = |what: String| Failure::Input(format!("{file}: {what}"));
    let unread = |error: csv::Error| wrong(error.to_string());
    let text = files::read_measured(path)?;
    let mut builder = ReaderBuilder::new();
    let mut reader = builder.has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut records = reader.records();
    let first = records.next().ok_or_else(|| wrong(format!("nothing in it; expected {KNOWN}")))?;
    let first = first.map_err(unread)?;
    let columns = columns(&first, named).map_err(wrong)?;
    let mut requests = Vec::new();
    for record in std::iter::once(Ok(first)).chain(records).skip(usize::from(columns.headed)) {
        let record = record.map_err(unread)?;
        let line = record.position().map_or(0, csv::Position::line);
        let found = request(&columns, &record);
        requests.extend(found.map_err(|what| Failure::Input(format!("{file}:{line}: {what}")))?);
    }
    if requests.is_empty() {
        return Err(wrong("no request in it".to_string()));
    }
    Ok(finished(columns, requests))
}

/// What the first line says of all.
fn columns(first: &StringRecord, named: Option<(&str, Nanos)>) -> Result<Columns, String> {
    let place = |name: &str| first.iter().position(|cell| cell.trim() == name);
    let of = |tool: &str, latency, start, status| Columns {
        tool: tool.to_string(),
        latency,
        start,
        status,
        only: None,
        headed: true,
    };
    if let Some((name, unit)) = named {
        let names: Vec<&str> = first.iter().collect();
        let absent = || format!("no column `{name}`; there is {}", names.join(", "));
        return Ok(of(name, (place(name).ok_or_else(absent)?, unit), None, None));
    }
    let seconds = |name| place(name).map(|at| (at, SECOND));
    if let (Some(latency), Some(start)) = (seconds("request-duration"), seconds("request-start")) {
        return Ok(of("oha", latency, Some(start), None));
    }
    if let (Some(latency), Some(start)) = (seconds("response-time"), seconds("offset")) {
        return Ok(of("hey", latency, Some(start), None));
    }
    if let (Some(metric), Some(value)) = (place("metric_name"), place("metric_value")) {
        let only = Some((metric, "http_req_duration"));
        return Ok(Columns { only, ..of("k6", (value, MILLI), None, place("status")) });
    }
    let is_number = |at: usize| first.get(at).is_some_and(|cell| cell.parse::<u64>().is_ok());
    if first.len() >= 9 && (0..5).all(is_number) {
        let (latency, start) = ((2, Nanos(1)), Some((0, Nanos(1))));
        return Ok(Columns { headed: false, ..of("vegeta", latency, start, Some(1)) });
    }
    let begin: String = first.iter().next().unwrap_or_default().chars().take(40).collect();
    Err(format!("a first line that begins with `{}`; expected {KNOWN}", begin.escape_debug()))
}

/// When a request was sent, and its latency; none for a line of something else.
type Request = (Option<Nanos>, Nanos);

fn request(columns: &Columns, record: &StringRecord) -> Result<Option<Request>, String> {
    if columns.only.is_some_and(|(at, word)| record.get(at) != Some(word)) {
        return Ok(None);
    }
    let read = |(at, unit): (usize, Nanos)| {
        let text = record.get(at).unwrap_or_default().trim();
        let wrong = || format!("found `{}`; expected a time from 0 on", text.escape_debug());
        time(text, unit).ok_or_else(wrong)
    };
    let start = columns.start.map(read).transpose()?;
    let is_lost = columns.status.is_some_and(|at| record.get(at) == Some("0"));
    Ok(Some((start, if is_lost { Nanos::NEVER } else { read(columns.latency)? })))
}

/// A number of so many nanoseconds each. Whole ones are exact: since 1970 there were more than a double
/// holds.
fn time(text: &str, unit: Nanos) -> Option<Nanos> {
    if let Ok(whole) = text.parse::<u64>() {
        return whole.checked_mul(unit.0).filter(|ns| *ns < Nanos::NEVER.0).map(Nanos);
    }
    let ns = text.parse::<f64>().ok()? * unit.0 as f64;
    (0.0..1e18).contains(&ns).then(|| Nanos(ns.round() as u64))
}

fn finished(columns: Columns, mut requests: Vec<Request>) -> Latencies {
    requests.sort_by_key(|(start, _)| *start);
    let first = requests[0].0.unwrap_or_default();
    let arrivals = requests.iter().map(|(start, _)| Some(start.as_ref()?.saturating_sub(first)));
    Latencies {
        tool: columns.tool,
        arrivals: arrivals.collect(),
        latencies: requests.iter().map(|(_, latency)| *latency).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, named: Option<(&str, Nanos)>) -> Result<Latencies, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).expect("room");
        read(&path, named)
            .map_err(|failure| failure.to_string().replace(&path.display().to_string(), "a.csv"))
    }

    fn found(tool: &str, arrivals: &[u64], latencies: &[u64]) -> Result<Latencies, String> {
        let all = |times: &[u64]| times.iter().copied().map(Nanos).collect::<Vec<_>>();
        let arrivals = Some(all(arrivals)).filter(|arrivals| !arrivals.is_empty());
        Ok(Latencies { tool: tool.to_string(), arrivals, latencies: all(latencies) })
    }

    /// Lines as each tool's source or manual has them.
    #[test]
    fn every_tool_says_the_same_in_columns_and_units_of_its_own() {
        let oha = "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n\
                   0.001,0,0,0.0004,0.0005,12,200\n0.0005,0.1,0.2,0.0001,0.25,12,200\n";
        assert_eq!(of(oha, None), found("oha", &[0, 500_000], &[250_000_000, 500_000]));
        let hey = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n\
                   0.0005,0,0,0,0,0,200,1.5\n0.002,0,0,0,0,0,503,2.5\n";
        assert_eq!(of(hey, None), found("hey", &[0, 1_000_000_000], &[500_000, 2_000_000]));
        let k6 = "metric_name,timestamp,metric_value,check,error,error_code,group,method,name,proto,scenario,status,subproto,tls_version,url,extra_tags\n\
                  http_reqs,1595325560,1.000000,,,,,GET,http://a,HTTP/1.1,default,200,,,http://a,\n\
                  http_req_duration,1595325560,221.899000,,,,,GET,\"http://a,b\",HTTP/1.1,default,200,,,http://a,\n\
                  http_req_duration,1595325561,0.000000,,dial: refused,1212,,GET,http://a,,default,0,,,http://a,\n";
        assert_eq!(of(k6, None), found("k6", &[], &[221_899_000, Nanos::NEVER.0]));
        let vegeta = "1595325560000000001,200,500000,0,12,,AAAA,,0,GET,http://a,\n\
                      1595325560000000003,0,7,0,0,\"dial, refused\",,,1,GET,http://a,\n";
        assert_eq!(of(vegeta, None), found("vegeta", &[0, 2], &[500_000, Nanos::NEVER.0]));
        let own = "id,latency_us\n1,7\n2,8.5\n";
        assert_eq!(
            of(own, Some(("latency_us", Nanos(1_000)))),
            found("latency_us", &[], &[7_000, 8_500])
        );
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let why = read(Path::new("/dev/zero"), None).unwrap_err();
        assert!(why.exit_code() == 2 && why.to_string().contains("without an end"), "{why}");
        assert!(of("a\n1\n", Some(("a", Nanos(1)))).is_ok(), "the control");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let said = |text: &str, named| of(text, named).unwrap_err();
        assert_eq!(
            said("a,b\n1,2\n", Some(("c", Nanos(1)))),
            "a.csv: no column `c`; there is a, b"
        );
        assert!(
            said("a,b\n1,2\n", None)
                .starts_with("a.csv: a first line that begins with `a`; expected the CSV of oha")
        );
        assert!(said("", None).contains("nothing in it"));
        assert_eq!(said("a\n", Some(("a", Nanos(1)))), "a.csv: no request in it");
        for wrong in ["-1", "x", "NaN", "inf", "1e300", "18446744073709551615"] {
            let text = format!("a\n1\n{wrong}\n");
            assert_eq!(
                said(&text, Some(("a", Nanos(1)))),
                format!("a.csv:3: found `{wrong}`; expected a time from 0 on")
            );
        }
    }
}
