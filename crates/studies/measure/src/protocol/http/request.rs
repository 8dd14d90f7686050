//! What a web server is asked, and with which status it is to answer.

use std::str::FromStr;

use model::Failure;

/// A longer body is refused: every connection keeps one.
pub const LONGEST_BODY: usize = 16 << 20;
/// What goes along where the user does not say otherwise.
const USUAL: [(&str, &str); 2] = [("User-Agent", "rearguard"), ("Accept", "*/*")];
/// What the body and the connection say by themselves.
const OWN: [&str; 3] = ["content-length", "transfer-encoding", "upgrade"];
/// Methods that want a body: they say its length though they have none (RFC 9110, section 8.6).
const WITH_BODY: [&str; 3] = ["POST", "PUT", "PATCH"];

/// A request beyond its URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpOptions {
    /// The method; none: GET, or POST with a body.
    pub method: Option<Method>,
    /// Headers, in their order.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// The statuses that are no complaint; none: 200 to 299.
    pub expected: Option<Statuses>,
    /// Requests at a time over a connection; none: 1, as all that HTTP/1.1 has.
    pub streams: Option<u32>,
}

/// A method's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method(String);

/// A header's name and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    name: String,
    value: String,
}

/// Statuses, as ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(Vec<(u16, u16)>);

impl HttpOptions {
    /// The method's name.
    pub fn method(&self) -> &str {
        let usual = if self.body.is_some() { "POST" } else { "GET" };
        self.method.as_ref().map_or(usual, |method| &method.0)
    }

    /// Whether a status is wanted.
    pub fn expects(&self, status: u16) -> bool {
        let usual = || (200..300).contains(&status);
        self.expected.as_ref().map_or_else(usual, |all| all.contain(status))
    }

    /// What is wrong with a status.
    pub fn complaint(&self, status: u16) -> Option<&'static str> {
        match status {
            status if self.expects(status) => None,
            100..200 => Some("HTTP 1xx"),
            200..300 => Some("HTTP 2xx"),
            300..400 => Some("HTTP 3xx"),
            404 => Some("HTTP 404"),
            400..500 => Some("HTTP 4xx"),
            503 => Some("HTTP 503"),
            _ => Some("HTTP 5xx"),
        }
    }

    /// Names and values of all headers, `Host` first.
    pub fn said<'a>(&'a self, host: &'a str) -> Vec<(&'a str, String)> {
        let is_said = |name: &str| self.headers.iter().any(|header| header.is(name));
        let usual = [("Host", host)].into_iter().chain(USUAL);
        let own = self.headers.iter().map(|header| (&*header.name, header.value.clone()));
        let usual = usual.filter(|(name, _)| !is_said(name));
        let mut said: Vec<_> =
            usual.map(|(name, value)| (name, value.to_string())).chain(own).collect();
        if self.body.is_some() || WITH_BODY.contains(&self.method()) {
            said.push(("Content-Length", self.body.as_ref().map_or(0, Vec::len).to_string()));
        }
        said
    }

    /// The bytes of a request.
    pub fn request(&self, host: &str, path: &str) -> Vec<u8> {
        let mut head = format!("{} {path} HTTP/1.1\r\n", self.method());
        let said = self.said(host);
        said.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        head.push_str("\r\n");
        let mut request = head.into_bytes();
        request.extend(self.body.iter().flatten());
        request
    }
}

impl Header {
    /// Whether it has a name, in whatever case.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

impl Statuses {
    fn contain(&self, status: u16) -> bool {
        self.0.iter().any(|(least, most)| (*least..=*most).contains(&status))
    }
}

impl FromStr for Method {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Method, Failure> {
        let wrong = |why| Failure::Input(format!("--method `{text}`: {why}"));
        match text {
            "CONNECT" => Err(wrong("a tunnel has no answer to wait for")),
            _ if is_token(text) => Ok(Method(text.to_string())),
            _ => Err(wrong("expected a name such as POST")),
        }
    }
}

impl FromStr for Header {
    type Err = Failure;

    /// What is wrong is told without the value, which may be a secret.
    fn from_str(text: &str) -> Result<Header, Failure> {
        let (name, value) = text.split_once(':').unwrap_or_default();
        let wrong = |why| Failure::Input(format!("--header {name}: {why}"));
        let value = value.trim_matches([' ', '\t']);
        if !is_token(name) {
            return Err(Failure::Input("--header: expected 'Name: value'".to_string()));
        }
        if OWN.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(wrong("it is not to be given: --body says how long the body is"));
        }
        if value.bytes().any(|byte| byte != b'\t' && byte.is_ascii_control()) {
            return Err(wrong("a value has no control characters"));
        }
        Ok(Header { name: name.to_string(), value: value.to_string() })
    }
}

/// The characters of names (RFC 9110, section 5.6.2).
fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

impl FromStr for Statuses {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Statuses, Failure> {
        let ranges: Option<Vec<(u16, u16)>> = text.split(',').map(range).collect();
        ranges.map(Statuses).ok_or_else(|| {
            Failure::Input(format!(
                "--expect-status `{text}`: expected statuses such as 201, or 2xx,404"
            ))
        })
    }
}

fn range(text: &str) -> Option<(u16, u16)> {
    let is_status = |status: &u16| (100..600).contains(status);
    let number = |text: &str| text.parse().ok().filter(is_status);
    match text.strip_suffix("xx") {
        Some(class) => number(&format!("{class}00")).map(|first| (first, first + 99)),
        None => number(text).map(|one| (one, one)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Result<Header, String> {
        text.parse().map_err(|failure: Failure| failure.to_string())
    }

    #[test]
    fn headers_are_read_and_their_values_are_in_no_message() {
        let read = header("X-Token:\t secret ").expect("a header");
        assert!(read.is("x-token") && read.value == "secret");
        assert_eq!(header("A:").expect("an empty value").value, "");
        for (text, why) in [
            ("secret", "'Name: value'"),
            (": secret", "'Name: value'"),
            ("A B: secret", "'Name: value'"),
            ("A: secret\r\nB: c", "control"),
            ("content-length: secret", "--body"),
            ("Transfer-Encoding: secret", "--body"),
        ] {
            let refused = header(text).expect_err(text);
            assert!(refused.contains(why) && !refused.contains("secret"), "{text}: {refused}");
        }
    }

    #[test]
    fn statuses_are_read_by_one_and_by_class() {
        let expects = |text: &str, status| {
            let expected = Some(text.parse().expect(text));
            HttpOptions { expected, ..HttpOptions::default() }.expects(status)
        };
        assert!(expects("404", 404) && !expects("404", 200));
        assert!(expects("2xx,404", 299) && expects("2xx,404", 404) && !expects("2xx,404", 300));
        for wrong in ["", "99", "600", "2x", "xx", "9xx", "200,", "+20", "-1xx", "200-299"] {
            assert!(wrong.parse::<Statuses>().is_err(), "{wrong}");
        }
    }
}
