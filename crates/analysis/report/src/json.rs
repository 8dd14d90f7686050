//! The document as JSON.

use serde::Serialize;

/// Indented JSON with a final newline; keys stand in the order of the types, so that equal documents are
/// equal bytes.
pub fn json<T: Serialize>(document: &T) -> String {
    let mut text = serde_json::to_string_pretty(document)
        .expect("plain structures of strings and numbers always serialise");
    text.push('\n');
    text
}
