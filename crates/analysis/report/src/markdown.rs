//! Documents, and figures of papers, as pages of Markdown.

use crate::capacity::CapacityRun;
use crate::difference::Difference;
use crate::document::Document;
use crate::explain::Explained;
use crate::grid::{Block, Cell, Grid};
use crate::measured::Measured;
use crate::paper::{PaperFigure, figure as number};
use crate::proof::Proof;
use crate::whatif::WhatIf;
use crate::{blocks, curves, human};

/// How wide a line of prose may be.
const COLUMNS: usize = 110;

/// A section a figure: its tables, what they rest on, what is missing.
pub fn paper_markdown(figures: &[PaperFigure]) -> String {
    summary(figures) + &figures.iter().map(section).collect::<String>()
}

/// A document as a page of Markdown.
pub trait Written {
    /// What it is of.
    fn title(&self) -> String;
    /// The answers, a sentence each.
    fn answers(&self) -> Vec<String> {
        Vec::new()
    }
    /// Its tables.
    fn tables(&self) -> Vec<Block>;
    /// The command line that made it.
    fn command(&self) -> &[String];
}

/// The answers first, then the tables with what they rest on, and the command.
pub fn markdown(document: &dyn Written) -> String {
    let answers = document.answers().iter().map(|words| item(&escaped(words))).collect::<String>();
    let block = |block: &Block| {
        let notes = block.notes.iter().map(|note| item(&escaped(&note.text))).collect::<String>();
        let notes = if notes.is_empty() { notes } else { "\n".to_string() + &notes };
        format!("\n## {}\n\n{}{notes}", escaped(&block.heading), table(&block.grid))
    };
    let tables = document.tables().iter().map(block).collect::<String>();
    let answers = if answers.is_empty() { answers } else { "\n".to_string() + &answers };
    let command = human::command(document.command());
    format!("# {}\n{answers}{tables}\n`{command}`\n", escaped(&document.title()))
}

/// Without what Markdown would take for markup, links and pictures of other servers among it.
fn escaped(text: &str) -> String {
    let line = text.replace(['\n', '\r'], " ").replace('<', "&lt;").replace('|', "\\|");
    line.replace("](", "]\\(")
}

macro_rules! written {
    ($($document:ty: $title:expr, $answers:expr, $tables:expr);* $(;)?) => {
        $(impl Written for $document {
            fn title(&self) -> String {
                $title(self)
            }

            fn answers(&self) -> Vec<String> {
                $answers(self)
            }

            fn tables(&self) -> Vec<Block> {
                $tables(self)
            }

            fn command(&self) -> &[String] {
                &self.command
            }
        })*
    };
}

written!(
    Document: |own: &Self| format!("{} on {}", own.scenario, own.arm), |_| Vec::new(), blocks::blocks;
    Measured: |own: &Self| own.target.clone(), Measured::headlines,
        |own: &Self| {
            [own.block()].into_iter().chain(own.kind_block()).chain(own.stage_block()).collect()
        };
    CapacityRun: CapacityRun::title, CapacityRun::sentences, |own: &Self| vec![own.block()];
    Difference: Difference::title, Difference::sentences, Difference::blocks;
    Proof: Proof::title, Proof::sentences, Proof::blocks;
    WhatIf: WhatIf::title, WhatIf::sentences, WhatIf::blocks;
    Explained: Explained::title,
        |own: &Self| own.services.iter().map(|one| one.sentence()).collect(),
        |own: &Self| own.services.iter().flat_map(|one| one.blocks()).collect();
);

/// How many of all numbers and claims agree.
fn summary(figures: &[PaperFigure]) -> String {
    let values = figures.iter().flat_map(|figure| &figure.values).map(|value| value.agreement);
    let claims = figures.iter().flat_map(|figure| &figure.claims).map(|claim| claim.agreement);
    let all: Vec<_> = values.chain(claims).collect();
    let mut grid = Grid::new(["agreement", "values and claims"].map(String::from));
    for agreement in crate::Agreement::ALL {
        let count = all.iter().filter(|one| **one == agreement).count();
        grid.rows.push(vec![Cell::plain(agreement.word()), Cell::plain(count.to_string())]);
    }
    table(&grid)
}

fn section(figure: &PaperFigure) -> String {
    let name = format!("{} {}", figure.paper, figure.figure);
    let mut text =
        format!("\n## {}\n\n{}. `rearguard paper {name}`\n", figure.title, figure.section);
    if !figure.curves.is_empty() {
        text += &format!("\n{}", table(&curves::grid(&figure.curves)));
    }
    for grid in [values(figure), claims(figure)] {
        if !grid.rows.is_empty() {
            text += &format!("\n{}", table(&grid));
        }
    }
    let assumed = figure.assumptions.iter().map(|words| item(&format!("Assumed: {words}")));
    let missing = figure.missing.iter().map(|words| item(&format!("Not produced: {words}")));
    let below: String = assumed.chain(missing).collect();
    if below.is_empty() { text } else { text + "\n" + &below }
}

/// An item of a list, in lines of at most [`COLUMNS`].
fn item(words: &str) -> String {
    let (mut text, mut column) = ("*".to_string(), 1);
    for word in words.split(' ') {
        let length = word.chars().count();
        let fits = column + 1 + length <= COLUMNS;
        text += if fits { " " } else { "\n  " };
        text += word;
        column = if fits { column + 1 } else { 2 } + length;
    }
    text + "\n"
}

fn values(figure: &PaperFigure) -> Grid {
    let titles = ["value", "ours", "paper", "where", "ratio", "agreement", "reason"];
    let mut grid = Grid::new(titles.map(String::from));
    let shown = |x: Option<f64>| x.map_or(human::UNKNOWN.to_string(), number);
    for value in &figure.values {
        let (what, word) = (value.what.clone(), value.agreement.word().to_string());
        let row = [
            what,
            shown(value.ours),
            value.papers(number),
            value.from.clone(),
            shown(value.ratio),
            word,
            value.why.clone(),
        ];
        grid.rows.push(row.map(Cell::plain).to_vec());
    }
    grid
}

fn claims(figure: &PaperFigure) -> Grid {
    let titles = ["the paper says", "where", "tested as", "here", "agreement", "reason"];
    let mut grid = Grid::new(titles.map(String::from));
    for claim in &figure.claims {
        let here = claim.here();
        let test = format!("`{}`", claim.test);
        let word = claim.agreement.word().to_string();
        let row = [claim.says.clone(), claim.from.clone(), test, here, word, claim.why.clone()];
        grid.rows.push(row.map(Cell::plain).to_vec());
    }
    grid
}

fn table(grid: &Grid) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let titles = line(grid.columns.iter().map(|column| column.title.clone()).collect());
    let rule = line(grid.columns.iter().map(|_| "---".to_string()).collect());
    let rows = grid.rows.iter().map(|row| line(row.iter().map(cell).collect()));
    titles + &rule + &rows.collect::<String>()
}

fn cell(cell: &Cell) -> String {
    let text = escaped(&cell.text);
    if cell.interval.is_empty() { text } else { format!("{text} {}", cell.interval) }
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, Written, item, markdown};
    use crate::grid::{Block, Cell, Grid};

    #[test]
    fn items_keep_their_words_in_lines_of_the_page() {
        let words = "some words of a remark ".repeat(20);
        let text = item(words.trim());
        assert!(
            text.lines().all(|line| line.len() <= COLUMNS) && text.lines().count() > 4,
            "{text}"
        );
        let back: Vec<_> = text.split_whitespace().skip(1).collect();
        assert_eq!(back.join(" "), words.trim());
        assert_eq!(item("short"), "* short\n");
    }

    /// What a trace of another's may call its programs.
    const NAME: &str = "<img src=x>\n# ![p](http://x/p.png) a|b";

    struct Foreign;

    impl Written for Foreign {
        fn title(&self) -> String {
            NAME.to_string()
        }

        fn answers(&self) -> Vec<String> {
            vec![NAME.to_string()]
        }

        fn tables(&self) -> Vec<Block> {
            let notes = vec![Cell::plain(NAME.to_string())];
            vec![Block { heading: NAME.to_string(), grid: Grid::new([]), notes }]
        }

        fn command(&self) -> &[String] {
            &[]
        }
    }

    #[test]
    fn a_name_is_no_markup_wherever_it_stands() {
        let page = markdown(&Foreign);
        let shown = "&lt;img src=x> # ![p]\\(http://x/p.png) a\\|b";
        assert_eq!(page.matches(shown).count(), 4, "{page}");
        assert!(!page.contains('<') && page.contains(&format!("* {shown}\n")), "{page}");
    }
}
