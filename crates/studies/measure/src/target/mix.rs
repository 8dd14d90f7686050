//! A mix of requests: a line a kind, its weight before it.

use std::collections::HashMap;

use model::{printable, units};

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

/// Characters of a name at most: a terminal of 80 columns has room for its figures, too.
const LONGEST_NAME: usize = 36;

/// A kind of request.
#[derive(Clone, Debug)]
pub struct Kind {
    /// What people know it by: of its line, shortened.
    pub name: String,
    /// How often it is asked, beside those of the others.
    pub weight: u64,
    /// How it is asked.
    pub speech: Speech,
}

/// Where the bodies behind an @ come from.
pub type Bodies<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// The kinds of a text in place of `base`'s one; what is wrong with its line.
pub fn kinds(base: &Speech, text: &str, bodies: Bodies) -> Result<Vec<Kind>, String> {
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
        let speech = speech(base, rest.trim_start(), bodies).map_err(wrong)?;
        if let Speech::Http(http) = &speech {
            room = room.checked_sub(http.body_bytes()).ok_or_else(|| {
                wrong(format!("bodies have more than {} MiB together", LONGEST_BODY >> 20))
            })?;
        }
        kinds.push((at, Kind { name: name(base, rest), weight, speech }));
        if kinds.len() > MOST {
            return Err(wrong(format!("more than {MOST} kinds")));
        }
    }
    if kinds.is_empty() { Err("it has no request".to_string()) } else { Ok(told_apart(kinds)) }
}

/// Method, path and a body's file, or all of a query or a template. What a body says is no name: results are
/// shown around, and it may be a secret.
fn name(base: &Speech, request: &str) -> String {
    let mut words: Vec<&str> = request.split_whitespace().collect();
    if let Speech::Http(_) = base {
        let has_file = words.get(2).is_some_and(|word| word.starts_with('@'));
        words.truncate(if has_file { 3 } else { 2 });
    }
    let name = printable(&words.join(" "));
    match name.char_indices().nth(LONGEST_NAME) {
        None => name,
        Some(_) => name.chars().take(LONGEST_NAME - 3).chain("...".chars()).collect(),
    }
}

/// Kinds of these lines; those of one name have their line in it.
fn told_apart(kinds: Vec<(usize, Kind)>) -> Vec<Kind> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    kinds.iter().for_each(|(_, kind)| *counts.entry(kind.name.clone()).or_default() += 1);
    let numbered = |(line, kind): (usize, Kind)| match counts[&kind.name] {
        1 => kind,
        _ => Kind { name: format!("{} (line {line})", kind.name), ..kind },
    };
    kinds.into_iter().map(numbered).collect()
}

fn speech(base: &Speech, line: &str, bodies: Bodies) -> Result<Speech, String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::http::HttpOptions;

    fn names(text: &str) -> Vec<String> {
        let base = Speech::Http(Http::new("h", "/", HttpOptions::default()));
        let kinds = kinds(&base, text, &|_| Ok(Vec::new())).expect("a mix");
        kinds.into_iter().map(|kind| kind.name).collect()
    }

    #[test]
    fn a_name_is_of_its_line_without_a_body_and_no_other_kind_has_it() {
        let long = format!("1 GET /{}\n", "a".repeat(90));
        let text = format!("1 POST  /b secret words\n\n1 POST /b @b.json\n1 POST /b more\n{long}");
        let shortened = format!("GET /{}...", "a".repeat(28));
        assert_eq!(
            names(&text),
            ["POST /b (line 1)", "POST /b @b.json", "POST /b (line 4)", &shortened]
        );
        assert_eq!(shortened.len(), LONGEST_NAME);
        // The control: alone a kind needs no line.
        assert_eq!(names("1 POST /b secret"), ["POST /b"]);
    }

    #[test]
    fn a_name_does_nothing_to_a_terminal() {
        let base = crate::target::speech::templated("tcp", "", "close").expect("a template");
        let kinds = kinds(&base, "1 a\u{1b}[2J\tb", &|_| Ok(Vec::new())).expect("a mix");
        assert_eq!(kinds[0].name, "a?[2J b");
    }
}
