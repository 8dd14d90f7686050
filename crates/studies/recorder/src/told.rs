//! The verdict on one request, in a line.

use explain::MOST_OF_TIME;
use model::Nanos;
use report::explain::{ExplainedService, plain};
use serde::{Deserialize, Serialize};

/// What made a request slow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// All of it, in a line.
    pub line: String,
    /// As in `rearguard.explain/1`, or `own request`: it needed the time itself.
    pub class: String,
    /// `sure`, `likely` or `cannot tell`.
    pub confidence: String,
    /// The greatest source, if it can be told.
    pub source: Option<String>,
    /// The greatest culprit of that.
    pub culprit: Option<String>,
    /// What the culprit belongs to: `unit build.service`, `container web of pod prod/shop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl Told {
    /// It cannot be told, for this reason.
    pub fn cannot(why: &str) -> Told {
        Told {
            line: format!("cannot tell: {why}"),
            class: "unknown".to_string(),
            confidence: "cannot tell".to_string(),
            ..Told::default()
        }
    }

    /// Of an explanation of this request alone; `ran` is for how long its thread had a CPU from the read to
    /// the answer.
    pub fn of(explained: &ExplainedService, ran: Nanos) -> Told {
        let verdict = &explained.verdict;
        let percent = format!("{:.0}% of its time", 100.0 * verdict.share);
        match (verdict.class.as_str(), verdict.confidence.as_str()) {
            // What a thread did for one request is seen, however few there are to tell the load by.
            ("load", _) if verdict.note.is_some() => Told::of_load(explained, ran),
            (_, "cannot tell") => Told::cannot(&verdict.lack("its")),
            ("load", _) => Told::of_load(explained, ran),
            (class, confidence) => {
                let culprit = match (&verdict.source, verdict.culprit_words()) {
                    (Some(source), Some(culprit)) => format!(" by {}: {culprit}", plain(source)),
                    _ => String::new(),
                };
                let probably = if confidence == "sure" { "" } else { "probably " };
                Told {
                    line: format!("{probably}{class}{culprit} ({percent})"),
                    class: class.to_string(),
                    confidence: confidence.to_string(),
                    source: verdict.source.clone(),
                    culprit: verdict.culprit.clone(),
                    owner: verdict.owner.clone(),
                }
            }
        }
    }

    /// The ideal queue would not have been faster: the request needed the time, or those before it did.
    fn of_load(explained: &ExplainedService, ran: Nanos) -> Told {
        let split = &explained.slow_ns;
        let part = |ns: f64| ns / split.latency.max(1.0);
        let sure = |class: &str, line: String| Told {
            line,
            class: class.to_string(),
            confidence: "sure".to_string(),
            ..Told::default()
        };
        let inherent = split.sources.inherent;
        match () {
            () if part(ran.0 as f64) >= MOST_OF_TIME => {
                sure("own request", format!("own request: its thread worked {ran} for it alone"))
            }
            () if part(inherent) >= MOST_OF_TIME => {
                let waited = Nanos(inherent as u64);
                sure("load", format!("load: it waited {waited} for requests before it"))
            }
            () if part(ran.0 as f64 + inherent) >= MOST_OF_TIME => {
                let waited = Nanos(inherent as u64);
                sure("load", format!("load: {ran} for itself, {waited} for requests before it"))
            }
            // The service time is partly the mean of what the service's threads did beside requests.
            () => Told::cannot("its service worked, and not on requests alone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use report::document::Sources;
    use report::explain::{Split, Verdict};

    use super::*;

    fn explained(class: &str, confidence: &str, inherent: f64) -> ExplainedService {
        let verdict = Verdict {
            class: class.to_string(),
            share: 0.75,
            confidence: confidence.to_string(),
            source: Some("idle_elsewhere".to_string()),
            culprit: Some("hog[7]".to_string()),
            ..Verdict::default()
        };
        let sources = Sources { inherent, ..Sources::default() };
        let slow_ns = Split { latency: 1e7, sources, ..Split::default() };
        ExplainedService { verdict, slow_ns, ..ExplainedService::default() }
    }

    #[test]
    fn a_culprit_is_named_where_it_is_known_and_only_there() {
        let told = |confidence| Told::of(&explained("neighbours", confidence, 0.0), Nanos::ZERO);
        assert_eq!(told("sure").line, "neighbours by idle elsewhere: hog[7] (75% of its time)");
        assert!(told("likely").line.starts_with("probably neighbours"));
        let mut owned = explained("neighbours", "sure", 0.0);
        owned.verdict.owner = Some("container web of pod prod/shop".to_string());
        let line = "neighbours by idle elsewhere: hog[7] in container web of pod prod/shop (75% of its time)";
        assert_eq!(Told::of(&owned, Nanos::ZERO).line, line);
        let unknown = told("cannot tell");
        assert!(unknown.line.starts_with("cannot tell: "), "{}", unknown.line);
        assert_eq!((unknown.culprit, unknown.source), (None, None));
    }

    #[test]
    fn what_is_lacking_is_told_and_agrees_with_the_share() {
        for (class, share, lack) in [
            ("own code", 0.3, "no cause has most of its time, own code has 30.0%"),
            ("own code", 1.0, "own code has 100.0% of its time, but too few requests were seen"),
            ("unknown", 0.75, "no event accounts for 75.0% of its time"),
        ] {
            let mut explained = explained(class, "cannot tell", 0.0);
            explained.verdict.share = share;
            let line = Told::of(&explained, Nanos::ZERO).line;
            assert_eq!(line, format!("cannot tell: {lack}"));
        }
    }

    #[test]
    fn what_the_ideal_would_have_too_is_told_apart() {
        let told = |inherent, ran| Told::of(&explained("load", "sure", inherent), Nanos(ran)).class;
        assert_eq!(told(0.0, 9_000_000), "own request");
        assert_eq!(told(9e6, 1_000), "load");
        assert_eq!(told(4e6, 3_000_000), "load");
        assert_eq!(told(1e6, 1_000), "unknown", "its service time is another thread's work");
    }
}
