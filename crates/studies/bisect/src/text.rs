//! An outcome for people.

use gate::{FAMILY, Least, Way, aligned, said};

use crate::search::{Found, Side};
use crate::study::{Ends, Outcome, Tested};
use crate::versions::Version;

/// What was asked of each version, and what that comes to.
pub fn told(versions: &[Version], outcome: &Outcome, least: Least) -> String {
    let (Some(ends), Some(found)) = (&outcome.ends, outcome.found) else {
        return format!(
            "cannot tell: {} is worse than {} in no figure by {least} or more, as far as these runs show; \
             more seeds show more\n",
            versions[versions.len() - 1].short(),
            versions[0].short()
        );
    };
    let head = ["version", "runs", &what(ends), "side", ""].map(str::to_string);
    let rows = outcome.tested.iter().map(|one| row(versions, ends, one));
    let rows: Vec<[String; 5]> = [head].into_iter().chain(rows).collect();
    format!(
        "{}\n{}\n{}\n",
        aligned(&rows),
        first(versions, found),
        sureness(versions, outcome, ends)
    )
}

fn what(ends: &Ends) -> String {
    match ends {
        Ends::Figure(Way { judged, .. }) => {
            let program = judged.program.as_ref().map_or(String::new(), |one| format!(" of {one}"));
            format!("{}{program} in {}", judged.figure, judged.scenario)
        }
        Ends::Fails(_) => "runs at all".to_string(),
    }
}

fn row(versions: &[Version], ends: &Ends, one: &Tested) -> [String; 5] {
    let version = &versions[one.version];
    let value = match (ends, one.side) {
        (Ends::Figure(way), _) => one.value.map(|value| said(&way.judged.figure, value)),
        (Ends::Fails(_), Side::Good) => Some("yes".to_string()),
        (Ends::Fails(_), Side::Worse) => Some("no".to_string()),
        (Ends::Fails(_), Side::Unknown) => None,
    };
    let side = match one.side {
        Side::Good => "good",
        Side::Worse => "worse",
        Side::Unknown => "cannot tell",
    };
    // What a compiler says has lines; all of them were told when it happened.
    let why = one.why.as_ref().and_then(|why| why.lines().next());
    let about = why.or(version.subject.as_deref());
    [
        version.short().to_string(),
        one.runs.to_string(),
        value.unwrap_or_else(|| "-".to_string()),
        side.to_string(),
        about.unwrap_or_default().to_string(),
    ]
}

/// The first that is worse, or those among which it is.
fn first(versions: &[Version], found: Found) -> String {
    let named = |version: &Version| {
        let subject = version.subject.as_ref().map_or(String::new(), |one| format!(" {one}"));
        format!("{}{subject}", version.short())
    };
    if found.is_one() {
        return format!("first worse: {}", named(&versions[found.worse]));
    }
    let among: Vec<String> = versions[found.good + 1..=found.worse].iter().map(named).collect();
    format!("cannot tell which of these is the first that is worse:\n  {}", among.join("\n  "))
}

/// How sure that is, and of what.
fn sureness(versions: &[Version], outcome: &Outcome, ends: &Ends) -> String {
    let ran = outcome.tested.iter().filter(|one| one.runs > 0).count();
    let of = format!("{ran} of {} versions were run", versions.len());
    match ends {
        Ends::Figure(_) => format!(
            "{of}; any wrong side among them has a probability of {}% at most; a version that turned back \
             what an earlier one did may hide",
            100.0 * FAMILY
        ),
        Ends::Fails(why) => format!(
            "{of}; each either ran or failed, which says nothing of failures that are rare; the last said: {why}"
        ),
    }
}
