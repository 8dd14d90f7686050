//! What is said to servers and to nobody else.

use std::fmt;

/// Letters of a server's words that are shown at most.
const LONGEST_WORDS: usize = 200;

/// A password.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Its text.
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    /// The text, for the server.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    fn hidden_in(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_string() } else { text.replace(&self.0, "***") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("***")
    }
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// The name.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret>,
}

impl Login {
    /// A server's words as a message shows them: without the password, on one line, and not without end.
    pub(crate) fn told(&self, words: &[u8]) -> String {
        let words = String::from_utf8_lossy(words);
        let words = match &self.password {
            Some(password) => password.hidden_in(&words),
            None => words.into_owned(),
        };
        words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST_WORDS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_shown_without_the_password() {
        let secret = |text: &str| Some(Secret::new(text.to_string()));
        let told = |password, words: &str| Login { user: None, password }.told(words.as_bytes());
        assert_eq!(told(secret("a\tb"), "no a\tb\x1b[2J"), "no *** [2J");
        let long = format!("{}secret", "x".repeat(LONGEST_WORDS - 3));
        assert!(told(secret("secret"), &long).ends_with("x***"), "it is not cut in two");
        // The control.
        assert!(told(None, &long).ends_with("xsec"));
        assert_eq!(told(secret(""), "no"), "no");
    }
}
