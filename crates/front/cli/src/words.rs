//! The words of the command line.

use std::ffi::{OsStr, OsString};

/// The words, with `--least -1%` as `--least=-1%`: a value with a minus would be taken for an option that
/// there is not. So the value's own parser says what is expected. What follows `--` is another command's.
pub fn joined(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let (mut words, mut is_ours) = (Vec::<OsString>::new(), true);
    for word in given {
        let is_value = is_ours && is_negative(&word);
        match words.last_mut().filter(|last| is_value && is_option(last)) {
            Some(option) => {
                option.push("=");
                option.push(word);
            }
            None => {
                is_ours &= word != "--";
                words.push(word);
            }
        }
    }
    words
}

/// Whether it begins as a number below 0 does. No option has such a name.
fn is_negative(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    matches!(bytes, [b'-', b'0'..=b'9', ..] | [b'-', b'.', b'0'..=b'9', ..])
}

/// Whether it is the name of an option whose value may follow.
fn is_option(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    bytes.len() > 2 && bytes.starts_with(b"--") && !bytes.contains(&b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_below_0_belongs_to_its_option() {
        let told = |line: &str| {
            let words = joined(line.split(' ').map(OsString::from));
            words.join(OsStr::new(" ")).into_string().expect("UTF-8")
        };
        assert_eq!(told("x --least -1% --seeds -.5"), "x --least=-1% --seeds=-.5");
        // The controls: these are words of their own.
        for line in ["x --json -o", "x --a=b -1", "x -v -1", "x --least - 1", "x 1 -1"] {
            assert_eq!(told(line), line);
        }
        assert_eq!(told("x --in a -- y --at -1"), "x --in a -- y --at -1", "another command's");
        assert_eq!(told("x -- -1"), "x -- -1");
    }
}
