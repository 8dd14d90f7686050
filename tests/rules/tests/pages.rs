//! The pages: every link leads somewhere, every page is in the table of contents, prose is short.

use std::fs;
use std::path::Path;

use rules::pages::{anchors, links, long_paragraphs, wide_prose};
use rules::sources::{Source, root, sources};

fn pages() -> Vec<Source> {
    let is_page = |source: &Source| !source.path.contains('/') || source.path.starts_with("docs/");
    sources(&["md"]).into_iter().filter(is_page).collect()
}

fn assert_none(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// What is wrong with a link that stands in the page at `path`.
fn fault(path: &str, target: &str) -> Option<&'static str> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = root().join(Path::new(path).parent().expect("a folder"));
    let file = if file.is_empty() { root().join(path) } else { folder.join(file) };
    match anchor {
        _ if !file.exists() => Some("leads nowhere"),
        "" => None,
        _ => {
            let text = fs::read_to_string(file).unwrap_or_default();
            (!anchors(&text).contains(anchor)).then_some("names no heading of that page")
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    let faults = pages().into_iter().flat_map(|Source { path, text }| {
        let wrong = links(&text).into_iter().filter_map(|link| {
            let why = fault(&path, &link.target)?;
            Some(format!("{path}:{}: `{}` {why}", link.line, link.target))
        });
        wrong.collect::<Vec<_>>()
    });
    assert_none(faults.collect());
}

#[test]
fn every_page_that_the_sources_name_exists() {
    let faults = sources(&["rs", "c", "h", "py", "md", "toml"]).into_iter().flat_map(|source| {
        let named = source.text.split("docs/").skip(1).filter_map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_/.".contains(c));
            let name = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
            Some(format!("docs/{name}")).filter(|name| name.ends_with(".md"))
        });
        let missing = named.filter(|name| !root().join(name).exists());
        missing.map(|name| format!("{}: there is no {name}", source.path)).collect::<Vec<_>>()
    });
    assert_none(faults.collect());
}

#[test]
fn the_table_of_contents_has_every_page_once() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("docs/SUMMARY.md");
    let listed = links(&summary);
    let times =
        |page: &str| listed.iter().filter(|link| page == format!("docs/{}", link.target)).count();
    let below = pages().into_iter().map(|source| source.path);
    let below = below.filter(|path| path.starts_with("docs/") && path != "docs/SUMMARY.md");
    let faults = below.filter(|path| times(path) != 1);
    assert_none(faults.map(|path| format!("{path} is not in docs/SUMMARY.md once")).collect());
}

#[test]
fn paragraphs_and_lines_are_short() {
    let faults = pages().into_iter().flat_map(|Source { path, text }| {
        let long = long_paragraphs(&text);
        let long = long.iter().map(|(at, words)| format!("{path}:{at}: {words} words"));
        let wide = wide_prose(&text);
        let wide = wide.iter().map(|at| format!("{path}:{at}: wider than 110 columns"));
        long.chain(wide).collect::<Vec<_>>()
    });
    assert_none(faults.collect());
}

#[test]
fn the_rules_of_pages_catch_their_faults() {
    let page = "# A `b`: c\n\nSee [x](y.md#z) and `[no](link)`.\n\n```\n[no](link)\n```\n| [t](u) |\n\n# A b c\n";
    let found: Vec<_> = links(page).into_iter().map(|link| (link.line, link.target)).collect();
    assert_eq!(found, [(3, "y.md#z".to_string()), (8, "u".to_string())]);
    assert_eq!(anchors(page).into_iter().collect::<Vec<_>>(), ["a-b-c", "a-b-c-1"]);
    assert_eq!(fault("README.md", "nowhere.md"), Some("leads nowhere"));
    assert_eq!(fault("README.md", "#nowhere"), Some("names no heading of that page"));
    let many = "word ".repeat(50) + "\n";
    assert_eq!(long_paragraphs(&format!("{many}{many}\n{many}* {many}")), [(1, 100)]);
    assert_eq!(long_paragraphs(&format!("```\n{many}{many}```\n")), []);
    assert_eq!(wide_prose(&format!("{many}| {many}\n")), [1]);
}
