//! The table and the JSON, held against files; `RG_BLESS=1` writes these anew.

mod fixture;

use std::path::Path;

fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("RG_BLESS").is_some() {
        std::fs::write(&path, text).expect("a writable source tree");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{name} differs (RG_BLESS=1 accepts it):\n{text}");
}

fn plain(text: &str) -> String {
    let mut left = String::new();
    let mut parts = text.split('\u{1b}');
    left.push_str(parts.next().unwrap_or_default());
    parts.for_each(|part| left.push_str(part.split_once('m').expect("a colour").1));
    left
}

#[test]
fn the_table_is_as_it_was() {
    let document = fixture::comparison();
    golden("table-120.txt", &plain(&report::table(&document, 120)));
    golden("table-80.txt", &plain(&report::table(&document, 80)));
}
