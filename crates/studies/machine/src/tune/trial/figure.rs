//! A number out of a measurement's JSON document.

use serde_json::Value;

/// The number at `key`: names with dots between, the last part of its path. A number with its interval
/// (`value`, `low`, `high`) counts by its value.
pub fn read(text: &str, key: &str) -> Result<f64, String> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| format!("its stdout is not one JSON document ({error}): add --json"))?;
    let mut found = Vec::new();
    collect(&document, &mut Vec::new(), key, &mut found);
    match &found[..] {
        [(_, figure)] if *figure > 0.0 => Ok(*figure),
        [(path, figure)] => Err(format!("`{path}` is {figure}, which has no ratio to others")),
        [] => Err(format!("no number at `{key}` in its document: name one with --key")),
        many => {
            let paths: Vec<&str> = many.iter().map(|(path, _)| path.as_str()).collect();
            Err(format!("several numbers at `{key}`: name one with --key: {}", paths.join(", ")))
        }
    }
}

fn collect(value: &Value, path: &mut Vec<String>, key: &str, found: &mut Vec<(String, f64)>) {
    let here = path.join(".");
    if here == key || here.ends_with(&format!(".{key}")) {
        let number = value.get("value").unwrap_or(value);
        found.extend(number.as_f64().map(|figure| (here, figure)));
    }
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(name, child)| (name.clone(), child)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(n, c)| (n.to_string(), c)).collect(),
        _ => return,
    };
    for (name, child) in children {
        path.push(name);
        collect(child, path, key, found);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{"results": [{"latency_ns": {"p99": {"value": 5, "low": 1}, "max": 9}, "ideal_ns": {"p99": 2}}],
        "idle": 0, "name": "p99"}"#;

    #[test]
    fn a_number_is_found_by_the_end_of_its_path() {
        assert_eq!(read(DOCUMENT, "latency_ns.p99"), Ok(5.0));
        assert_eq!(read(DOCUMENT, "results.0.ideal_ns.p99"), Ok(2.0));
        assert_eq!(read(DOCUMENT, "max"), Ok(9.0));
    }

    #[test]
    fn what_is_no_figure_is_said() {
        for (key, word) in [
            ("p99", "results.0.ideal_ns.p99, results.0.latency_ns.p99"),
            ("p50", "no number at `p50`"),
            ("name", "no number"),
            ("idle", "has no ratio"),
        ] {
            let error = read(DOCUMENT, key).unwrap_err();
            assert!(error.contains(word), "{key}: {error}");
        }
        assert!(read("p99 is 5", "p99").unwrap_err().contains("--json"));
    }
}
