//! In which form a client gets metrics: text, unless it would rather have protobuf and there is some.

use std::str;
use std::sync::Arc;

use mediatype::{MediaType, MediaTypeList, Name, ReadParams};

const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The one format of a scrape that has exponential buckets.
const PROTOBUF: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
/// Lines of a request's head. Of one that has more nothing is read.
const MOST_HEADERS: usize = 64;

/// The same metrics in each form that there is.
#[derive(Clone, Default)]
pub struct Forms {
    pub text: Arc<str>,
    pub protobuf: Option<Arc<[u8]>>,
}

impl Forms {
    /// What answers a request: its type and its bytes.
    pub fn answer(&self, request: &[u8]) -> (&'static str, &[u8]) {
        match &self.protobuf {
            Some(bytes) if wants_protobuf(request) => (PROTOBUF, bytes),
            _ => (TEXT, self.text.as_bytes()),
        }
    }
}

/// Whether the best that a request accepts is protobuf. What it says wrongly it has not said.
fn wants_protobuf(request: &[u8]) -> bool {
    let mut room = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut room);
    if !head.parse(request).is_ok_and(|read| read.is_complete()) {
        return false;
    }
    let accepts = head.headers.iter().filter(|line| line.name.eq_ignore_ascii_case("accept"));
    let accepts = accepts.filter_map(|line| str::from_utf8(line.value).ok());
    let ranges = accepts.flat_map(MediaTypeList::new).filter_map(Result::ok);
    // Of equals the first one wins, as in Prometheus' own libraries.
    let best = ranges.filter_map(|range| Some((quality(&range)?, is_protobuf(&range)?)));
    let best = best.fold((0, false), |best, next| if next.0 > best.0 { next } else { best });
    best.1
}

/// Which form a range is for, if it is for any. Protobuf is only for clients that name it.
fn is_protobuf(range: &MediaType) -> Option<bool> {
    let is = |kind: &str, sub: &str| range.ty == *kind && range.subty == *sub;
    let has = |name, shall: &str| {
        param(range, name).is_some_and(|value| value.eq_ignore_ascii_case(shall))
    };
    if is("application", "vnd.google.protobuf") {
        let is_ours =
            has("proto", "io.prometheus.client.MetricFamily") && has("encoding", "delimited");
        return is_ours.then_some(true);
    }
    let texts = [("application", "openmetrics-text"), ("application", "*"), ("text", "plain")];
    let texts = texts.into_iter().chain([("text", "*"), ("*", "*")]);
    texts.into_iter().any(|(kind, sub)| is(kind, sub)).then_some(false)
}

fn param(range: &MediaType, name: &'static str) -> Option<String> {
    range.get_param(Name::new_unchecked(name)).map(|value| value.unquoted_str().into_owned())
}

/// How much a range is wanted, in thousandths: RFC 9110 allows three digits. None: what is given is no such
/// number.
fn quality(range: &MediaType) -> Option<u16> {
    let Some(given) = param(range, "q") else { return Some(1_000) };
    let (whole, part) = given.split_once('.').unwrap_or((&given, ""));
    let is_number = part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || !["0", "1"].contains(&whole) {
        return None;
    }
    let thousandths = format!("{whole}{part:0<3}").parse().ok();
    thousandths.filter(|quality| *quality <= 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of Prometheus 2.40 to 2.44, with native histograms.
    const PROMETHEUS_2: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
        encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,\
        application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    /// Of Prometheus 3 with `scrape_native_histograms`, and without.
    const PROMETHEUS_3: [&str; 2] = [
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,\
         application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
         application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
         application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
    ];
    const NAMED: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";

    fn wants(accept: &str) -> bool {
        wants_protobuf(format!("GET / HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n\r\n").as_bytes())
    }

    #[test]
    fn a_prometheus_with_native_histograms_gets_protobuf_and_another_one_text() {
        assert!(wants(PROMETHEUS_2) && wants(PROMETHEUS_3[0]));
        assert!(!wants(PROMETHEUS_3[1]));
        for text in ["*/*", "", "text/html, */*;q=0.8", "application/json", "application/*"] {
            assert!(!wants(text), "{text}");
        }
        assert!(!wants_protobuf(b"GET /metrics HTTP/1.0\r\n\r\n"));
    }

    #[test]
    fn qualities_decide_and_of_equals_the_first() {
        let with = |rest: &str| format!("{NAMED}{rest}");
        for (accept, is_protobuf) in [
            (with(""), true),
            (with(";q=0.3, text/plain;q=0.2"), true),
            (with(";q=0.2, text/plain;q=0.3"), false),
            (format!("text/plain;q=0.3, {}", with(";q=0.301")), true),
            (with(", text/plain"), true),
            (format!("text/plain, {NAMED}"), false),
            (with(";q=0"), false),
            (with(";q=0.000, image/png"), false),
            (with(";Q=1.000,*/*;q=0.999"), true),
            (with(";encoding=text"), false),
            ("application/vnd.google.protobuf, text/plain;q=0.1".to_string(), false),
            ("application/vnd.google.protobuf;proto=a.B;encoding=delimited".to_string(), false),
            (NAMED.to_uppercase().replace(';', " ; "), true),
            (NAMED.replace("delimited", "\"delimited\""), true),
            (format!("image/png;name=\"a, {NAMED}, b\", text/plain"), false),
        ] {
            assert_eq!(wants(&accept), is_protobuf, "{accept}");
        }
    }

    #[test]
    fn several_lines_are_one_list() {
        let asked =
            |kind: &str| format!("GET / HTTP/1.1\r\naccept: {kind}\r\nACCEPT: {NAMED}\r\n\r\n");
        assert!(wants_protobuf(asked("text/plain;q=0.5").as_bytes()));
        assert!(!wants_protobuf(asked("text/plain").as_bytes()));
    }

    #[test]
    fn what_is_malformed_is_not_said() {
        for quality in
            ["nan", "inf", "-1", "1.001", "2", "1e9", "0.0001", ".5", "", "0x1", "½", "\"1"]
        {
            assert!(!wants(&format!("{NAMED};q={quality}, text/plain;q=0.001")), "{quality}");
        }
        for junk in [",,,;;;==\"\"", "\"", "/", "a/b;q", "\\\"", "é/é", "a/b;q=\"\\"] {
            assert!(!wants(junk), "{junk}");
            assert!(
                wants(&format!("{NAMED},{junk}")),
                "the control: {junk} spoils nothing before it"
            );
        }
        let asked = |line: &[u8]| [b"GET / HTTP/1.1\r\n".as_slice(), line, b"\r\n\r\n"].concat();
        assert!(!wants_protobuf(&asked(b"Accept: \xff\xfe")));
        let cut = format!("GET / HTTP/1.1\r\nAccept: {NAMED}\r\n");
        assert!(!wants_protobuf(cut.as_bytes()), "no blank line");
        let many = format!("GET / HTTP/1.1\r\n{}Accept: {NAMED}\r\n\r\n", "a: b\r\n".repeat(64));
        assert!(!wants_protobuf(many.as_bytes()));
        let long = format!("{}, {NAMED}", "a/b;q=0.1, ".repeat(10_000));
        assert!(wants(&long), "the length alone is nothing: the reader of requests bounds it");
    }

    #[test]
    fn without_protobuf_all_get_text() {
        let asked = format!("GET / HTTP/1.1\r\nAccept: {PROMETHEUS_2}\r\n\r\n");
        let mut forms = Forms { text: "a 1\n".into(), protobuf: None };
        assert_eq!(forms.answer(asked.as_bytes()), (TEXT, b"a 1\n".as_slice()));
        forms.protobuf = Some(Arc::from(b"\x01".as_slice()));
        assert_eq!(forms.answer(asked.as_bytes()), (PROTOBUF, b"\x01".as_slice()), "the control");
        assert_eq!(forms.answer(b"GET / HTTP/1.0\r\n\r\n"), (TEXT, b"a 1\n".as_slice()));
    }
}
