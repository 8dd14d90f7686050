//! The user and password of a target: `SCHEME://[USER[:PASSWORD]@]HOST`.

use super::url::{Scheme, decoded};
use crate::secret::{Login, Secret};

/// Protocols that say who asks.
pub const LOGIN: [&str; 2] = ["redis", "postgresql"];
/// What a database's URL asks begins so.
const QUERY: &str = "query=";

/// A URL's rest behind `://`, apart: user and password, and what follows the `@`.
pub fn split<'a>(protocol: &str, rest: &'a str) -> Result<(Login, &'a str), String> {
    let Some(at) = end(protocol, rest) else { return Ok((Login::default(), rest)) };
    let own = &rest[..at];
    if own.contains(['/', '?', '#', '@']) {
        return Err("in a password / ? # and @ are %2F %3F %23 and %40".to_string());
    }
    let (user, password) = own.split_once(':').map_or((own, None), |(u, p)| (u, Some(p)));
    // No message quotes either, as a colon may be forgotten.
    let text = |part: &str| decoded(part).map_err(|_| "a % of user or password is %25".to_string());
    let login = Login {
        user: Some(text(user)?).filter(|user| !user.is_empty()),
        password: password.map(text).transpose()?.map(Secret::new),
    };
    Ok((login, &rest[at + 1..]))
}

/// A command's word without the password of a URL in it.
pub fn without_password(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_string() };
    let scheme_of = scheme.rsplit('=').next().unwrap_or_default();
    let Some(at) = end(Scheme::new(scheme_of).protocol, rest) else { return word.to_string() };
    let Some((user, _)) = rest[..at].split_once(':') else { return word.to_string() };
    let after = if user.is_empty() { &rest[at + 1..] } else { &rest[at..] };
    format!("{scheme}://{user}{after}")
}

/// Where the `@` behind user and password is, also where a slash in a password was not written as %2F.
fn end(protocol: &str, rest: &str) -> Option<usize> {
    // A socket's path may hold any letter.
    if rest.starts_with('/') {
        return None;
    }
    // Nothing else in such a URL has one, but for a socket's path behind it, and queries.
    if LOGIN.contains(&protocol) {
        let (rest, _) = rest.split_once(QUERY).unwrap_or((rest, ""));
        return rest.rfind("@/").or_else(|| rest.rfind('@'));
    }
    let (host, _) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_cut = || host.split_once(':').is_some_and(|(_, port)| !is_port(port));
    let is_ipv6 = host.starts_with('[');
    host.rfind('@').or_else(|| rest.rfind('@').filter(|_| is_cut() && !is_ipv6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_are_read() {
        let cases = [
            ("http", "h:1/p@q", None, None, "h:1/p@q"),
            ("http", "[::1]:1/p@q", None, None, "[::1]:1/p@q"),
            ("http", "u@h/p@q", Some("u"), None, "h/p@q"),
            ("redis", "/run/a:@b@/s", None, None, "/run/a:@b@/s"),
            ("redis", "u@h", Some("u"), None, "h"),
            ("redis", ":p%40%3a@h:1", None, Some("p@:"), "h:1"),
            ("redis", "u:p:q@/run/s@t", Some("u"), Some("p:q"), "/run/s@t"),
            ("redis", "u:@h", Some("u"), Some(""), "h"),
            ("postgresql", "u@h/?query=a@/b", Some("u"), None, "h/?query=a@/b"),
        ];
        for (protocol, text, user, password, rest) in cases {
            let (login, found) = split(protocol, text).expect(text);
            let secret = password.map(|text| Secret::new(text.to_string()));
            assert_eq!((login.user.as_deref(), login.password), (user, secret), "{text}");
            assert_eq!(found, rest);
        }
    }

    #[test]
    fn no_message_and_no_command_has_a_password() {
        let texts = ["u:se/cret@h", "u:se?cret@h", "u:se#cret@h", "u:se@cret@h", "u:se%cret@h"];
        for (protocol, text) in texts.map(|text| ["redis", "http"].map(|p| (p, text))).concat() {
            let refused = split(protocol, text).expect_err(text);
            assert!(!refused.contains(":se") && !refused.contains("cret"), "{refused}");
        }
        for (word, shown) in [
            ("redis://u:secret@h/1?keys=2", "redis://u@h/1?keys=2"),
            ("redis://u:12/secret@h", "redis://u@h"),
            ("redis://:secret@h", "redis://h"),
            ("--target=redis+unix://u:se/c@ret@/run/s", "--target=redis+unix://u@/run/s"),
            ("rediss://u:12/secret@h", "rediss://u@h"),
            ("postgresql+tls+unix://u:se/c@ret@/run/s", "postgresql+tls+unix://u@/run/s"),
            ("redis://u@h", "redis://u@h"),
            ("http://h:1/p@q", "http://h:1/p@q"),
            ("a:b@c", "a:b@c"),
        ] {
            assert_eq!(without_password(word), shown);
        }
    }
}
