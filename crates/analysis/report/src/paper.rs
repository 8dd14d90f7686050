//! The document of `rearguard paper`: a figure of a paper, ours beside the paper's.

use serde::{Deserialize, Serialize};

use crate::figure::Curve;
use crate::grid::{Cell, Grid, Tone};
use crate::human;

/// The `schema` of a [`PaperFigure`].
pub const PAPER_SCHEMA: &str = "rearguard.paper/1";

/// A figure or table of a paper, produced here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PaperFigure {
    /// [`PAPER_SCHEMA`].
    pub schema: String,
    /// The paper: `cts`, `gvts`, `tales` or `10ms`.
    pub paper: String,
    /// The figure's name within the paper.
    pub figure: String,
    /// What it shows, in a few words.
    pub title: String,
    /// Where it stands: paper, section, figure.
    pub section: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// The version of Rearguard.
    pub version: String,
    /// The seed of ideal queues.
    pub seed: Option<u64>,
    /// What we took where the paper says nothing, or does otherwise.
    pub assumptions: Vec<String>,
    /// What of the figure is not produced, and what it would take.
    pub missing: Vec<String>,
    /// Numbers, ours beside the paper's.
    pub values: Vec<PaperValue>,
    /// What the paper says in words, tested.
    pub claims: Vec<PaperClaim>,
    /// Ideal queues, where the figure has some.
    pub curves: Vec<Curve>,
    /// What is drawn.
    pub chart: Option<SeriesChart>,
}

/// A number of a paper and ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperValue {
    /// What it is, with its unit.
    pub what: String,
    /// Ours; `None` where we cannot produce it.
    pub ours: Option<f64>,
    /// The paper's; `None` where it prints none.
    pub paper: Option<f64>,
    /// The other end, where it prints a range that begins with `paper`.
    pub to: Option<f64>,
    /// Where the paper's number stands.
    pub from: String,
    /// Ours over the paper's; over the nearer end of a range, and 1 inside it.
    pub ratio: Option<f64>,
    /// How well the two agree.
    pub agreement: Agreement,
    /// Why they differ.
    pub why: String,
}

/// What a paper says in words, and whether it holds here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaperClaim {
    /// The claim.
    pub says: String,
    /// Where it stands.
    pub from: String,
    /// What was tested, `LEFT < RIGHT`.
    pub test: String,
    /// The left side's value; `None`: beyond every measurement, for lost requests.
    pub left: Option<f64>,
    /// The right side's value, likewise.
    pub right: Option<f64>,
    /// [`Agreement::Qualitative`] or [`Agreement::Not`].
    pub agreement: Agreement,
    /// Why it does not hold, or under which reservation it does.
    pub why: String,
}

/// How well ours agrees with a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// The number is within 20% of the paper's.
    #[serde(rename = "within-20-percent")]
    Within20Percent,
    /// What the paper says in words holds.
    Qualitative,
    /// It does not agree.
    Not,
    /// The paper prints no number.
    NotGiven,
    /// We have no number.
    NotProduced,
}

impl Agreement {
    /// All answers, the best first.
    pub const ALL: [Agreement; 5] = [
        Agreement::Within20Percent,
        Agreement::Qualitative,
        Agreement::Not,
        Agreement::NotGiven,
        Agreement::NotProduced,
    ];

    /// The word for it, for people.
    pub fn word(self) -> &'static str {
        match self {
            Agreement::Within20Percent => "within 20%",
            Agreement::Qualitative => "qualitative",
            Agreement::Not => "not",
            Agreement::NotGiven => "paper: not given",
            Agreement::NotProduced => "ours: not produced",
        }
    }

    fn tone(self) -> Tone {
        match self {
            Agreement::Within20Percent | Agreement::Qualitative => Tone::Good,
            Agreement::Not => Tone::Bad,
            Agreement::NotGiven | Agreement::NotProduced => Tone::Faint,
        }
    }
}

/// A chart of lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesChart {
    /// The words of the horizontal axis.
    pub x: String,
    /// The words of the upright axis.
    pub y: String,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the upright axis is logarithmic.
    pub log_y: bool,
    /// The lines, in the order of the legend.
    pub series: Vec<Series>,
}

/// A line of a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

impl PaperValue {
    /// What the paper prints.
    pub(crate) fn papers(&self, number: fn(f64) -> String) -> String {
        match (self.paper, self.to) {
            (Some(paper), Some(to)) => format!("{} to {}", number(paper), number(to)),
            (Some(paper), None) => number(paper),
            (None, _) => "not given".to_string(),
        }
    }
}

impl PaperClaim {
    /// Both sides as measured.
    pub(crate) fn here(&self) -> String {
        let side = |x: Option<f64>| x.map_or("beyond measurement".to_string(), figure);
        let fails = if self.agreement == Agreement::Not { " fails" } else { "" };
        format!("{} < {}{fails}", side(self.left), side(self.right))
    }
}

impl PaperFigure {
    /// The numbers and the claims, as tables; those that have no row are left out.
    pub(crate) fn grids(&self) -> Vec<Grid> {
        let mut values =
            Grid::new(["value", "ours", "paper", "ratio", "agreement"].map(String::from));
        values.rows = self.values.iter().map(value_row).collect();
        let mut claims = Grid::new(["the paper says", "here", "agreement"].map(String::from));
        claims.rows = self.claims.iter().map(claim_row).collect();
        [values, claims].into_iter().filter(|grid| !grid.rows.is_empty()).collect()
    }

    /// Reasons, assumptions and what is missing, a paragraph each.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let values = self.values.iter().map(|v| (&v.what, &v.why));
        let reasons = values.chain(self.claims.iter().map(|c| (&c.says, &c.why)));
        let reasons = reasons.filter(|(_, why)| !why.is_empty());
        let reasons = reasons.map(|(what, why)| format!("{what}: {why}"));
        let assumed = self.assumptions.iter().map(|words| format!("Assumed: {words}"));
        let missing = self.missing.iter().map(|words| format!("Not produced: {words}"));
        reasons.chain(assumed).chain(missing).collect()
    }
}

fn value_row(value: &PaperValue) -> Vec<Cell> {
    vec![
        Cell::plain(&value.what),
        Cell::plain(value.ours.map_or(human::UNKNOWN.to_string(), figure)),
        Cell::plain(value.papers(figure)),
        Cell::plain(value.ratio.map_or(human::UNKNOWN.to_string(), figure)),
        Cell::plain(value.agreement.word()).tone(value.agreement.tone()),
    ]
}

fn claim_row(claim: &PaperClaim) -> Vec<Cell> {
    vec![
        Cell::plain(&claim.says),
        Cell::plain(claim.here()),
        Cell::plain(claim.agreement.word()).tone(claim.agreement.tone()),
    ]
}

/// Four figures, in powers of ten where the number is tiny.
pub(crate) fn figure(x: f64) -> String {
    let size = x.abs();
    if size > 0.0 && size < 1e-3 {
        return format!("{x:.4e}");
    }
    let before = if size >= 1.0 { size.log10().floor() as usize + 1 } else { 0 };
    let text = format!("{x:.*}", 4usize.saturating_sub(before));
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn numbers_keep_four_figures() {
        let shown = [0.0, 1.0536e-5, 0.63397, -0.05, 10.593, 871.04, 2296.89, 1.0].map(figure);
        assert_eq!(shown, ["0", "1.0536e-5", "0.634", "-0.05", "10.59", "871", "2297", "1"]);
    }
}
