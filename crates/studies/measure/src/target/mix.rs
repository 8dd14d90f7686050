//! A mix of requests: a line a kind, its weight before it.

use model::units;

use super::speech::Speech;
use crate::protocol::http::{Http, LONGEST_BODY};
use crate::protocol::postgresql::Postgresql;
use crate::protocol::template::{REQUEST_FORM, Request, Template};

/// Kinds at most.
const MOST: usize = 10_000;
/// A greater weight tells nothing.
const GREATEST: u64 = 1_000_000_000;
/// How a line of HTTP is written.
const HTTP_FORM: &str = "expected WEIGHT METHOD /PATH, and TEXT or @FILE for a body";

/// Where the bodies behind an @ come from.
pub type Bodies<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// The kinds of a text in place of `base`'s one; what is wrong with its line.
pub fn kinds(base: &Speech, text: &str, bodies: Bodies) -> Result<Vec<(u64, Speech)>, String> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let said = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let mut room = LONGEST_BODY;
    let mut kinds = Vec::new();
    for (at, line) in said {
        let wrong = |why: String| format!("line {at}: {why}");
        let (weight, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let weight = units::count(weight).ok().filter(|weight| (1..=GREATEST).contains(weight));
        let weight =
            weight.ok_or_else(|| wrong("a weight from 1 to 1,000M comes first".to_string()))?;
        let kind = kind(base, rest.trim_start(), bodies).map_err(wrong)?;
        if let Speech::Http(http) = &kind {
            room = room.checked_sub(http.body_bytes()).ok_or_else(|| {
                wrong(format!("bodies have more than {} MiB together", LONGEST_BODY >> 20))
            })?;
        }
        kinds.push((weight, kind));
        if kinds.len() > MOST {
            return Err(wrong(format!("more than {MOST} kinds")));
        }
    }
    if kinds.is_empty() { Err("it has no request".to_string()) } else { Ok(kinds) }
}

fn kind(base: &Speech, line: &str, bodies: Bodies) -> Result<Speech, String> {
    let template = |taken: &dyn Fn(&Request) -> bool| {
        let request = Request::read(line).filter(|_| !line.is_empty());
        request.filter(taken).ok_or_else(|| REQUEST_FORM.to_string())
    };
    match base {
        Speech::Http(base) => http(base, line, bodies).map(Speech::Http),
        Speech::Template(base, transport) => {
            let kind = Template { request: template(&|_| true)?, ..base.clone() };
            Ok(Speech::Template(kind, *transport))
        }
        Speech::Postgresql(base) => {
            let query = template(&|query| !query.has(0))?;
            Ok(Speech::Postgresql(Postgresql { query, ..base.clone() }))
        }
        _ => {
            Err("--requests is for http://, postgresql://, tcp://, udp:// and unix://".to_string())
        }
    }
}

fn http(base: &Http, line: &str, bodies: Bodies) -> Result<Http, String> {
    let wrong = || HTTP_FORM.to_string();
    let (method, rest) = line.split_once(char::is_whitespace).ok_or_else(wrong)?;
    let rest = rest.trim_start();
    let (path, body) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_plain = path.starts_with('/') && !path.bytes().any(|byte| byte.is_ascii_control());
    let method = method.parse().map_err(|_| wrong())?;
    let body = match (body.trim_start(), body.trim_start().strip_prefix('@')) {
        ("", _) => None,
        (_, Some(file)) => Some(bodies(file)?),
        (text, None) => Some(text.as_bytes().to_vec()),
    };
    if is_plain { Ok(base.asking(path, method, body)) } else { Err(wrong()) }
}
