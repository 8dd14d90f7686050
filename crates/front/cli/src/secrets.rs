//! Command lines without secrets: they stand in documents, traces and pages.

use ::measure::without_password;

/// What stands for it.
const HIDDEN: &str = "***";
/// Options that take headers.
const OPTIONS: [&str; 2] = ["--header", "--otlp-header"];
/// Words in names of headers whose values are secrets.
const SECRET: [&str; 6] = ["auth", "cookie", "token", "key", "secret", "password"];

/// The words of a command, without secrets.
pub fn without_secrets(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut is_header = false;
    let mut shown = |word: String| {
        let was_header = std::mem::replace(&mut is_header, OPTIONS.contains(&word.as_str()));
        let word = without_password(&word);
        match word.split_once('=') {
            Some((option, header)) if OPTIONS.contains(&option) => {
                format!("{option}={}", hidden(header))
            }
            _ if was_header => hidden(&word),
            _ => word,
        }
    };
    words.map(&mut shown).collect()
}

fn hidden(header: &str) -> String {
    let name = header.split(':').next().unwrap_or_default().to_ascii_lowercase();
    match header.split_once(':') {
        Some((said, _)) if SECRET.iter().any(|word| name.contains(word)) => {
            format!("{said}: {HIDDEN}")
        }
        _ => header.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(words: &[&str]) -> String {
        without_secrets(words.iter().map(|word| word.to_string())).join(" ")
    }

    #[test]
    fn values_of_secret_headers_are_hidden_and_others_are_not() {
        for header in ["Authorization: Bearer abc", "Cookie: abc", "x-api-KEY:abc"] {
            assert!(!shown(&["rearguard", "--header", header]).contains("abc"), "{header}");
            assert!(!shown(&[&format!("--header={header}")]).contains("abc"), "{header}");
            assert!(!shown(&["watch", "--otlp-header", header]).contains("abc"), "{header}");
        }
        let url = ["measure", "--target", "redis://u:abc@h/1", "--target=redis://:abc@h"];
        assert_eq!(shown(&url), "measure --target redis://u@h/1 --target=redis://h");
        // The controls.
        let plain = ["measure", "--header", "Accept: abc", "--body", "key: abc", "--header=A: abc"];
        assert_eq!(shown(&plain), plain.join(" "));
        assert_eq!(shown(&["--header", "@auth.txt", "--live"]), "--header @auth.txt --live");
    }
}
