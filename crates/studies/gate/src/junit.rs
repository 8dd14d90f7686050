//! An outcome as JUnit's XML, which build servers show.

use model::Answer;

use crate::judge::{Judged, Outcome};
use crate::text::sentence;

/// One test a figure; a worse one has failed, and one that cannot be told says so.
pub fn junit(outcome: &Outcome) -> String {
    let failed = outcome.with(Answer::Worse).count();
    let cases: String = outcome.0.iter().map(case).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuite name=\"rearguard gate\" tests=\"{}\" failures=\"{failed}\">\n{cases}</testsuite>\n",
        outcome.0.len()
    )
}

fn case(judged: &Judged) -> String {
    let program = judged.program.as_ref().map_or(String::new(), |program| format!("{program} "));
    let name = escaped(&format!("{program}{}", judged.figure));
    let scenario = escaped(&judged.scenario);
    let said = escaped(&sentence(judged));
    let inside = match judged.answer {
        Answer::Worse => format!("<failure message=\"{said}\"/>"),
        Answer::Better | Answer::CannotTell => format!("<system-out>{said}</system-out>"),
    };
    format!("<testcase classname=\"{scenario}\" name=\"{name}\">{inside}</testcase>\n")
}

fn escaped(text: &str) -> String {
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let text: String = text.chars().filter(|c| !control(*c)).collect();
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}
