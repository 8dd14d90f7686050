//! One message sent, and what the receiver says to it.

use std::time::{Duration, SystemTime};

use chrono::DateTime;
use model::printable;
use prost::Message;
use ureq::http::HeaderMap;
use ureq::{Agent, Body, Error, Timeout};

use super::proto::Answer;

/// OTLP's own encoding. Some receivers have no other one.
const PROTOBUF: &str = "application/x-protobuf";
/// Statuses after which the specification allows another try.
const LATER: [u16; 4] = [429, 502, 503, 504];
/// Bytes of an answer that are read.
const LONGEST_ANSWER: u64 = 64 << 10;
/// Characters of it that are told.
const TOLD: usize = 120;

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The receiver has it.
    Taken,
    /// It never will have it, for this reason.
    Refused(String),
    /// It may be sent again: why, and when at the earliest if it says so.
    Later(String, Option<Duration>),
}

/// Sends a message.
pub fn post(client: &Agent, url: &str, headers: &HeaderMap, message: &[u8]) -> Outcome {
    let request = client.post(url).header("Content-Type", PROTOBUF);
    let request = headers.iter().fold(request, |all, (name, value)| all.header(name, value));
    let sent = request.send(message);
    let mut response = match sent {
        Ok(response) => response,
        Err(error) => return Outcome::Later(told(&error), None),
    };
    let status = response.status().as_u16();
    let kind = response.headers().get("Content-Type").and_then(|kind| kind.to_str().ok());
    let is_protobuf = kind.is_some_and(|kind| kind.starts_with(PROTOBUF));
    let wait = wait(response.headers());
    let body = read(response.body_mut());
    match status {
        200..300 if is_protobuf => accepted(&body),
        200..300 => Outcome::Taken,
        status if LATER.contains(&status) => Outcome::Later(format!("it answers {status}"), wait),
        status => Outcome::Refused(refusal(status, &body, is_protobuf)),
    }
}

/// What is left out of an answer says nothing about the message.
fn read(body: &mut Body) -> Vec<u8> {
    body.with_config().limit(LONGEST_ANSWER).read_to_vec().unwrap_or_default()
}

/// A receiver may take a part. The rest is not to be sent again.
fn accepted(body: &[u8]) -> Outcome {
    let Ok(answer) = Answer::decode(body) else {
        return Outcome::Refused("its answer is none of OTLP's".to_string());
    };
    match answer.partial_success.filter(|partial| partial.rejected > 0) {
        Some(partial) => {
            Outcome::Refused(format!("it rejects a part: {}", line(&partial.error_message)))
        }
        None => Outcome::Taken,
    }
}

fn refusal(status: u16, body: &[u8], is_protobuf: bool) -> String {
    let words = if is_protobuf { String::new() } else { line(&String::from_utf8_lossy(body)) };
    let separator = if words.is_empty() { "" } else { ": " };
    format!("it answers {status}{separator}{words}")
}

/// The begin of a text of others.
fn line(text: &str) -> String {
    printable(text.lines().next().unwrap_or_default().trim()).chars().take(TOLD).collect()
}

/// `Retry-After`, which has seconds or a date.
fn wait(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("Retry-After")?.to_str().ok()?;
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = SystemTime::from(DateTime::parse_from_rfc2822(text).ok()?);
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

fn told(error: &Error) -> String {
    match error {
        Error::Io(error) => error.to_string(),
        Error::Timeout(Timeout::Resolve | Timeout::Connect) => "it cannot be reached".to_string(),
        Error::Timeout(_) => "it does not answer in time".to_string(),
        error => error.to_string(),
    }
}
