//! The reference page has each option and policy of `policy/policies.def`.

use policy_native::{OPTIONS, POLICIES};

const PAGE: &str = include_str!("../../../../docs/reference/policies.md");

/// What the page lacks of what the table has.
fn missing(page: &str) -> Vec<String> {
    let row = |name: &str, values: &[&str]| {
        let values: Vec<String> = values.iter().map(|word| format!("`{word}`")).collect();
        format!("| `{name}` | {}", values.join(", "))
    };
    let options = OPTIONS.iter().map(|option| row(option.name, &option.words()));
    let policies = POLICIES.iter().map(|policy| format!("`{}`", policy.name));
    options.chain(policies).filter(|text| !page.contains(text.as_str())).collect()
}

#[test]
fn the_page_has_every_option_with_its_values_the_default_first() {
    assert_eq!(missing(PAGE), [""; 0]);
}

#[test]
fn a_page_with_another_default_is_found_out() {
    let stale = PAGE.replace("| `requeue` | `head`, `tail` |", "| `requeue` | `tail`, `head` |");
    assert_eq!(missing(&stale), ["| `requeue` | `head`, `tail`"]);
}
