//! Every figure that can be produced, and the scenarios that they run. All are part of the program: it needs
//! no files.

use model::Failure;

/// A figure or table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The paper: `cts`, `gvts`, `tales` or `10ms`.
    pub paper: &'static str,
    /// Its name on the command line.
    pub figure: &'static str,
    /// Its definition.
    pub(crate) text: &'static str,
}

macro_rules! figures {
    ($($paper:literal $figure:literal),* $(,)?) => {
        &[$(Entry {
            paper: $paper,
            figure: $figure,
            text: include_str!(concat!("../figures/", $paper, "-", $figure, ".toml")),
        }),*]
    };
}

/// All figures, paper by paper.
pub const FIGURES: &[Entry] = figures![
    "tales" "1",
    "tales" "2",
    "tales" "3",
    "tales" "4",
    "tales" "5",
    "tales" "6",
    "tales" "7",
    "tales" "8",
    "tales" "9",
    "tales" "10",
    "tales" "table-1",
    "cts" "fan-out",
    "cts" "null-rpc",
    "cts" "long-service",
    "cts" "servers",
    "gvts" "1",
    "gvts" "2",
    "gvts" "3",
    "gvts" "4",
    "gvts" "5",
    "gvts" "7",
    "gvts" "8",
    "gvts" "9",
    "gvts" "10",
    "gvts" "11",
    "gvts" "12",
    "gvts" "13",
    "gvts" "14",
    "gvts" "15",
    "gvts" "16",
    "gvts" "17",
    "gvts" "18",
    "gvts" "19",
    "gvts" "20",
    "gvts" "table-1",
    "10ms" "fan-out",
    "10ms" "1",
    "10ms" "2",
    "10ms" "3",
];

macro_rules! scenarios {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../scenarios/", $name, ".toml")))),*]
    };
}

const SCENARIOS: &[(&str, &str)] = scenarios![
    "apache-like",
    "batch-share",
    "four-cpus",
    "gvts-fig10",
    "gvts-fig16",
    "gvts-fig17",
    "gvts-fig7",
    "gvts-fig8",
    "gvts-fig9",
    "gvts-loops",
    "gvts-loops-on-80",
    "gvts-memory-loops",
    "gvts-memory-loops-on-80",
    "long-service",
    "memcached-cores",
    "memcached-numa",
    "memcached-udp",
    "null-rpc",
    "short-rpc",
    "thrift-like",
    "varied-service",
];

/// The text of a shipped scenario.
pub(crate) fn scenario(name: &str) -> Option<&'static str> {
    SCENARIOS.iter().find(|(stem, _)| *stem == name).map(|(_, text)| *text)
}

/// The figures that a command line names: of one paper, or of `all`; one of them, or every one.
///
/// [`Failure::Input`] says what there is where nothing fits.
pub fn find(paper: &str, figure: Option<&str>) -> Result<Vec<Entry>, Failure> {
    let of_paper = |entry: &&Entry| paper == "all" || entry.paper == paper;
    let there: Vec<Entry> = FIGURES.iter().filter(of_paper).copied().collect();
    if there.is_empty() {
        return Err(Failure::Input(format!("{paper}: expected cts, gvts, tales, 10ms or all")));
    }
    let Some(figure) = figure else { return Ok(there) };
    let named = there.iter().filter(|entry| entry.figure == figure).copied();
    match (paper, named.collect::<Vec<_>>()) {
        ("all", _) => Err(Failure::Input("all: takes no figure; name the paper for one".into())),
        (_, found) if found.is_empty() => {
            let names: Vec<&str> = there.iter().map(|entry| entry.figure).collect();
            Err(Failure::Input(format!("{paper} {figure}: expected one of {}", names.join(", "))))
        }
        (_, found) => Ok(found),
    }
}
