//! Distributions out of Rearguard's own documents, whichever command wrote them: every object with a `ccdf`.

use model::{Nanos, printable};
use serde_json::{Map, Value};
use stats::Estimate;

use super::curve::{Curve, Point};
use super::{Measured, Shape};

/// No program answers more requests a second.
const MOST_PER_S: f64 = 1e12;

/// All distributions of a document; an error where there is none.
pub(super) fn read(text: &str) -> Result<Vec<Measured>, String> {
    let document: Value = serde_json::from_str(text).map_err(|e| format!("no JSON: {e}"))?;
    let mut found = Vec::new();
    gather(&document, "", &mut found)?;
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

fn gather(value: &Value, name: &str, found: &mut Vec<Measured>) -> Result<(), String> {
    match value {
        Value::Array(items) => {
            let pooled =
                items.iter().any(|item| item["policy"].is_string() && item["seed"].is_null());
            let mut shown = items.iter().filter(|item| !pooled || item["seed"].is_null());
            shown.try_for_each(|item| gather(item, name, found))
        }
        Value::Object(object) => {
            let own = ["policy", "name"].iter().filter_map(|key| object.get(*key)?.as_str());
            let name = own.fold(name.to_string(), |name, own| format!("{name} {own}"));
            if let Some(own) = measured(object, name.trim()) {
                let whose = printable(&own.name);
                check(&own).map_err(|what| format!("`{whose}`: {what}: make the document anew"))?;
                found.push(own);
            }
            object.values().try_for_each(|value| gather(value, &name, found))
        }
        _ => Ok(()),
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

/// What no document that was written here holds.
fn check(one: &Measured) -> Result<(), &'static str> {
    let Shape::Curve(Curve { points, max_ns }) = &one.shape else { return Ok(()) };
    // Ends that are unknown are NaN.
    let is_share = |x: f64| x.is_nan() || (0.0..=1.0).contains(&x);
    let are_shares = |p: &Estimate| [p.value, p.low, p.high].into_iter().all(is_share);
    let is_time = |ns: f64| (0.0..u64::MAX as f64).contains(&ns);
    let falls = |a: &Point, b: &Point| {
        a.latency_ns <= b.latency_ns && a.proportion.value >= b.proportion.value
    };
    if !points.iter().map(|point| &point.proportion).chain(&one.counted).all(are_shares) {
        Err("a proportion that is not from 0 to 1")
    } else if !points.iter().map(|point| point.latency_ns).chain(*max_ns).all(is_time) {
        Err("a latency that is no time")
    } else if !points.is_sorted_by(falls) {
        Err("points of a `ccdf` whose latencies do not rise while proportions fall")
    } else if one.rate_per_s.is_some_and(|rate| !(0.0..=MOST_PER_S).contains(&rate)) {
        Err("a `rate_per_s` that is not from 0 to 1e12")
    } else {
        Ok(())
    }
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
        let found = super::super::Measured::read(&text, "a.json", None).expect("one");
        assert_eq!(found[0].name, "c?[2J? web");
    }

    #[test]
    fn numbers_that_no_run_can_have_are_refused() {
        let code = |old: &str, new: &str| {
            assert!(DOCUMENT.contains(old), "{old}");
            let text = DOCUMENT.replacen(old, new, 1);
            let refused = super::super::Measured::read(&text, "a.json", None).map(drop);
            refused.map_err(|why| {
                (why.exit_code(), why.to_string().starts_with("a.json: `cts web`: "))
            })
        };
        let point = r#"{ "latency_ns": 100, "proportion": 0.5"#;
        for (old, new) in [
            (r#""proportion": 0.5"#, r#""proportion": -1"#),
            (r#""high": 0.6"#, r#""high": 1e308"#),
            (r#""threshold_ns": 500"#, r#""threshold_ns": 500, "proportion": { "value": 2 }"#),
            (r#""latency_ns": 100"#, r#""latency_ns": 18446744073709551615"#),
            (r#""max": 900"#, r#""max": -1"#),
            (r#""rate_per_s": 100.0"#, r#""rate_per_s": -1"#),
            (point, &format!(r#"{{ "latency_ns": 101, "proportion": 0.6 }}, {point}"#)),
        ] {
            assert_eq!(code(old, new), Err((2, true)), "{new}");
        }
        let before = format!(r#"{{ "latency_ns": 99, "proportion": 0.6 }}, {point}"#);
        assert_eq!(code(point, &before), Ok(()), "the control");
    }

    #[test]
    fn what_holds_no_distribution_says_so() {
        assert!(read("{}").unwrap_err().contains("no document of rearguard"));
        assert!(read(r#"{"schema": "rearguard.top/1"}"#).unwrap_err().contains("rearguard.top/1"));
        assert!(read("{").unwrap_err().contains("no JSON"));
    }
}
