//! Distributions out of Rearguard's own documents, whichever command wrote them: every object with a `ccdf`.

use model::Nanos;
use serde_json::{Map, Value};
use stats::Estimate;

use super::curve::{Curve, Point};
use super::{Measured, Shape};

/// All distributions of a document; an error where there is none.
pub(super) fn read(text: &str) -> Result<Vec<Measured>, String> {
    let document: Value = serde_json::from_str(text).map_err(|e| format!("no JSON: {e}"))?;
    let mut found = Vec::new();
    gather(&document, "", &mut found);
    match (found.is_empty(), &document["schema"]) {
        (false, _) => Ok(found),
        (true, Value::String(schema)) => Err(format!(
            "a {schema} without a latency distribution; expected the --json of compare, measure, ideal or cluster"
        )),
        _ => Err(
            "no document of rearguard; expected the --json of compare, measure, ideal or cluster"
                .to_string(),
        ),
    }
}

fn gather(value: &Value, name: &str, found: &mut Vec<Measured>) {
    match value {
        Value::Array(items) => {
            let pooled =
                items.iter().any(|item| item["policy"].is_string() && item["seed"].is_null());
            let shown = items.iter().filter(|item| !pooled || item["seed"].is_null());
            shown.for_each(|item| gather(item, name, found));
        }
        Value::Object(object) => {
            let own = ["policy", "name"].iter().filter_map(|key| object.get(*key)?.as_str());
            let name = own.fold(name.to_string(), |name, own| format!("{name} {own}"));
            found.extend(measured(object, name.trim()));
            object.values().for_each(|value| gather(value, &name, found));
        }
        _ => {}
    }
}

fn measured(object: &Map<String, Value>, name: &str) -> Option<Measured> {
    let points: Vec<Point> = object.get("ccdf")?.as_array()?.iter().filter_map(point).collect();
    let latency = object.get("latency_ns");
    let max_ns = latency.and_then(|latency| latency["max"].as_f64());
    let threshold = object.get("outlier").and_then(|outlier| outlier["threshold_ns"].as_u64());
    let number = |key: &str| object.get(key).and_then(Value::as_f64);
    (!points.is_empty()).then(|| Measured {
        name: name.to_string(),
        requests: object.get("requests").and_then(Value::as_u64),
        rate_per_s: number("rate_per_s"),
        threshold: threshold.map(Nanos),
        counted: object.get("outlier").and_then(|outlier| estimate(&outlier["proportion"])),
        shape: Shape::Curve(Curve { points, max_ns }),
    })
}

fn point(value: &Value) -> Option<Point> {
    let proportion = with_ends(&value["proportion"], value)?;
    Some(Point { latency_ns: value["latency_ns"].as_f64()?, proportion })
}

fn estimate(value: &Value) -> Option<Estimate> {
    with_ends(&value["value"], value)
}

fn with_ends(value: &Value, ends: &Value) -> Option<Estimate> {
    let end = |key: &str| ends[key].as_f64().unwrap_or(f64::NAN);
    Some(Estimate { value: value.as_f64()?, low: end("low"), high: end("high") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{ "schema": "rearguard.compare/1", "scenario": "s", "results": [
        { "policy": "cts", "seed": null, "programs": [
            { "name": "web", "rate_per_s": 100.0, "latency_ns": { "max": 900 }, "outlier": { "threshold_ns": 500 },
              "ccdf": [ { "latency_ns": 100, "proportion": 0.5, "low": 0.4, "high": 0.6 } ], "ideal_ccdf": [] },
            { "name": "hog", "ccdf": [] } ] },
        { "policy": "cts", "seed": 1, "programs": [
            { "name": "web", "ccdf": [ { "latency_ns": 100, "proportion": 0.9, "low": 0.4, "high": 1.0 } ] } ] } ] }"#;

    #[test]
    fn pooled_runs_are_found_and_single_seeds_left_out() {
        let found = read(DOCUMENT).expect("a distribution");
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["cts web"]);
        assert_eq!((found[0].rate_per_s, found[0].threshold), (Some(100.0), Some(Nanos(500))));
        assert_eq!(found[0].proportion(Nanos(100)).value, 0.5);
        let counted = DOCUMENT.replace(
            r#""threshold_ns": 500"#,
            r#""threshold_ns": 500, "proportion": { "value": 0.03, "low": 0.02, "high": null }"#,
        );
        let at = |text: &str, threshold| read(text).unwrap()[0].proportion(threshold);
        let own = at(&counted, Nanos(500));
        assert!(own.value == 0.03 && own.low == 0.02 && own.high.is_nan(), "as it was counted");
        let beside = Nanos(501);
        assert_ne!(at(&counted, beside).value, 0.03, "the control: elsewhere the curve is asked");
        let alone = DOCUMENT.replace("\"seed\": null", "\"seed\": 2");
        assert_eq!(
            read(&alone).expect("both").len(),
            2,
            "control: without a pooled one both count"
        );
    }

    #[test]
    fn names_are_fit_for_a_terminal() {
        let text = DOCUMENT.replace("cts", "c\\u001b[2J\\u202e");
        let found = super::super::Measured::read(&text, "a.json", Nanos(1)).expect("one");
        assert_eq!(found[0].name, "c?[2J? web");
    }

    #[test]
    fn what_holds_no_distribution_says_so() {
        assert!(read("{}").unwrap_err().contains("no document of rearguard"));
        assert!(read(r#"{"schema": "rearguard.top/1"}"#).unwrap_err().contains("rearguard.top/1"));
        assert!(read("{").unwrap_err().contains("no JSON"));
    }
}
