//! The table for people at a terminal.

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use crate::blocks::blocks;
use crate::capacity::CapacityRun;
use crate::cluster::{self, ClusterRun};
use crate::curves;
use crate::difference::Difference;
use crate::document::Document;
use crate::explain::Explained;
use crate::fan_out::{self, FanOut};
use crate::figure::Figure;
use crate::grid::{Block, Cell, Column, Grid, Room, Tone};
use crate::human;
use crate::measured::{Measured, Saturated};
use crate::overhead::Overhead;
use crate::paper::PaperFigure;
use crate::proof::Proof;
use crate::stages::StagesDocument;
use crate::whatif::WhatIf;

const GAP: &str = "  ";

/// The comparison as aligned text for a terminal of `width` columns.
///
/// Confidence intervals are left out, the least telling first, until the table fits. Tones are ANSI escapes:
/// print through `anstream`, which drops them where standard output is no terminal or `NO_COLOR` is set.
pub fn table(document: &Document, width: usize) -> String {
    let mut text = opening(document, width);
    for block in blocks(document) {
        text.push('\n');
        text.push_str(&show(&block, width));
    }
    text
}

/// Ideal queues as aligned text for a terminal of `width` columns, in the manner of [`table`].
pub fn figure_table(figure: &Figure, width: usize) -> String {
    let heading = Block { heading: figure.title.clone(), ..curves::block(figure) };
    let caption = human::folded(&figure.caption, width).into_iter();
    let faint = |line: String| styled(&line, tone_style(Tone::Faint)) + "\n";
    show(&heading, width) + &caption.map(faint).collect::<String>()
}

/// A cluster's cases as aligned text for a terminal of `width` columns.
pub fn cluster_table(run: &ClusterRun, width: usize) -> String {
    show(&cluster::block(run), width)
}

/// What policies carry as aligned text for a terminal of `width` columns: the answers first.
pub fn capacity_table(run: &CapacityRun, width: usize) -> String {
    answers(&run.sentences(), width) + "\n" + &show(&run.block(), width)
}

/// Two results held against each other as aligned text for a terminal of `width` columns: the answers first.
pub fn difference_table(difference: &Difference, width: usize) -> String {
    first_answers(&difference.sentences(), &difference.blocks(), width)
}

/// A foretelling as aligned text for a terminal of `width` columns: the answers first.
pub fn what_if_table(document: &WhatIf, width: usize) -> String {
    first_answers(&document.sentences(), &document.blocks(), width)
}

/// Schedulers on a user's own machine as aligned text for a terminal of `width` columns: the answers first.
pub fn proof_table(proof: &Proof, width: usize) -> String {
    first_answers(&proof.sentences(), &proof.blocks(), width)
}

fn first_answers(sentences: &[String], blocks: &[Block], width: usize) -> String {
    let blocks = blocks.iter().map(|block| "\n".to_string() + &folded(block, width));
    answers(sentences, width) + &blocks.collect::<String>()
}

fn answers(sentences: &[String], width: usize) -> String {
    let lines = sentences.iter().flat_map(|words| human::folded(words, width));
    let bold = |line: String| styled(&line, Style::new().bold()) + "\n";
    lines.map(bold).collect()
}

/// A block whose notes are folded.
fn folded(block: &Block, width: usize) -> String {
    let lines = block.notes.iter().flat_map(|note| {
        let lines = human::folded(&note.text, width).into_iter();
        lines.map(|line| Cell::plain(line).tone(note.tone))
    });
    show(&Block { notes: lines.collect(), ..block.clone() }, width)
}

/// A service's outliers as aligned text for a terminal of `width` columns.
pub fn fan_out_table(document: &FanOut, width: usize) -> String {
    show(&fan_out::block(document), width)
}

/// A paper's figure as aligned text: ideal queues where it has some, then ours beside the paper's.
pub fn paper_table(figure: &PaperFigure, width: usize) -> String {
    let title = format!("{} ({})", figure.title, figure.section);
    let mut text = styled(&title, Style::new().bold()) + "\n";
    let queues = (!figure.curves.is_empty()).then(|| curves::grid(&figure.curves));
    for grid in queues.into_iter().chain(figure.grids()) {
        text += &(self::grid(&grid, width) + "\n");
    }
    for line in figure.remarks().iter().flat_map(|remark| human::folded(remark, width)) {
        text += &(styled(&line, tone_style(Tone::Faint)) + "\n");
    }
    text
}

/// An explanation as aligned text for a terminal of `width` columns.
pub fn explained_table(explained: &Explained, width: usize) -> String {
    let mut text = styled(&explained.title(), Style::new().bold()) + "\n";
    text += &(styled(&explained.machine, tone_style(Tone::Faint)) + "\n");
    let sentences: Vec<String> = explained.services.iter().map(|one| one.sentence()).collect();
    text += &answers(&sentences, width);
    let blocks = explained.services.iter().flat_map(|service| service.blocks());
    text + &blocks.map(|block| "\n".to_string() + &folded(&block, width)).collect::<String>()
}

/// A measured server as aligned text.
pub fn measure_table(measured: &Measured, width: usize) -> String {
    let mut text = styled(&measured.target, Style::new().bold()) + "\n";
    for line in [measured.shows(), measured.machine.clone()] {
        text += &(styled(&line, tone_style(Tone::Faint)) + "\n");
    }
    text += &answers(&measured.headlines(), width);
    text = text + "\n" + &show(&measured.block(), width);
    let more = measured.kind_block().into_iter().chain(measured.stage_block());
    text + &more.map(|block| "\n".to_string() + &show(&block, width)).collect::<String>()
}

/// A server's capacity as aligned text.
pub fn saturated_table(found: &Saturated) -> String {
    let time = &found.service_time;
    let mut grid = Grid::new(["connections", "requests/s"].map(String::from));
    let row = |(connections, rate): &(u32, f64)| {
        let rate = human::count(Some(rate.round() as u64));
        vec![Cell::plain(connections.to_string()), Cell::plain(rate)]
    };
    grid.rows = time.steps.iter().map(row).collect();
    let notes = vec![Cell::plain(time.note())];
    show(&Block { heading: format!("saturation of {}", found.target), grid, notes }, usize::MAX)
}

/// Stages as aligned text for a terminal of `width` columns.
pub fn stages_table(document: &StagesDocument, width: usize) -> String {
    show(&document.block(), width)
}

/// What watching costs as aligned text for a terminal of `width` columns.
pub fn overhead_table(document: &Overhead, width: usize) -> String {
    show(&document.block(), width)
}

fn opening(document: &Document, width: usize) -> String {
    let many = if document.seeds.len() == 1 { "seed" } else { "seeds" };
    let seeds = human::list(&document.seeds);
    let line = format!("{} on {}, {many} {seeds}", document.scenario, document.arm);
    let mut text = styled(&line, Style::new().bold());
    text.push('\n');
    for line in human::folded(&document.shows, width)
        .into_iter()
        .chain([document.machine.description.clone()])
    {
        if !line.is_empty() {
            text.push_str(&styled(&line, tone_style(Tone::Faint)));
            text.push('\n');
        }
    }
    if !document.discarded.is_empty() {
        let line = format!(
            "runs that failed their own checks and were repeated: {}",
            document.discarded.len()
        );
        text.push_str(&styled(&line, tone_style(Tone::Bad)));
        text.push('\n');
    }
    for line in document.others().iter().flat_map(|line| human::folded(line, width)) {
        text.push_str(&styled(&line, tone_style(Tone::Faint)));
        text.push('\n');
    }
    text
}

fn show(block: &Block, width: usize) -> String {
    let mut text = styled(&block.heading, Style::new().bold());
    text.push('\n');
    text.push_str(&grid(&block.grid, width));
    for note in &block.notes {
        text.push_str(&styled(&note.text, tone_style(note.tone)));
        text.push('\n');
    }
    text
}

/// A column as it will be printed: the widths of its values and of its intervals.
struct Widths {
    text: usize,
    interval: usize,
}

impl Widths {
    fn total(&self) -> usize {
        self.text + if self.interval > 0 { 1 + self.interval } else { 0 }
    }
}

fn grid(grid: &Grid, width: usize) -> String {
    let levels = [Some(Room::Ample), Some(Room::Usual), Some(Room::First), None];
    let layouts = levels.map(|level| layout(grid, level));
    let fits = |layout: &&Vec<Widths>| {
        let columns: usize = layout.iter().map(Widths::total).sum();
        columns + GAP.len() * layout.len().saturating_sub(1) <= width
    };
    match (layouts.iter().find(fits), grid.narrower()) {
        (Some(widths), _) => rows(grid, widths),
        (None, Some(narrower)) => self::grid(&narrower, width),
        (None, None) => rows(grid, &layouts[levels.len() - 1]),
    }
}

fn rows(grid: &Grid, widths: &[Widths]) -> String {
    let titles = grid.columns.iter().map(|column| Cell::plain(&column.title).tone(Tone::Faint));
    let titles = row(&titles.collect::<Vec<_>>(), widths);
    titles + &grid.rows.iter().map(|cells| row(cells, widths)).collect::<String>()
}

fn layout(grid: &Grid, level: Option<Room>) -> Vec<Widths> {
    let widths = |(at, column): (usize, &Column)| {
        let shows = level.is_some_and(|level| column.room >= level);
        let widest = |part: fn(&Cell) -> &str| {
            grid.rows.iter().map(|row| part(&row[at]).width()).max().unwrap_or(0)
        };
        let interval = if shows { widest(|cell| &cell.interval) } else { 0 };
        let beside = if interval > 0 { 1 + interval } else { 0 };
        let title = column.title.width().saturating_sub(beside);
        Widths { text: widest(|cell| &cell.text).max(title), interval }
    };
    grid.columns.iter().enumerate().map(widths).collect()
}

fn row(cells: &[Cell], widths: &[Widths]) -> String {
    let mut line = String::new();
    for (at, (cell, widths)) in cells.iter().zip(widths).enumerate() {
        let text = padded(cell, widths, at == 0);
        let text = if at + 1 == cells.len() { text.trim_end() } else { &text };
        line.push_str(if at > 0 { GAP } else { "" });
        line.push_str(&styled(text, tone_style(cell.tone)));
    }
    line + "\n"
}

/// Names stand left. Values stand right, and intervals left of each other, so that both are aligned. A cell
/// without an interval in a column that has some (a title) takes the room of both.
fn padded(cell: &Cell, widths: &Widths, left: bool) -> String {
    let fill = |text: &str, width: usize| " ".repeat(width.saturating_sub(text.width()));
    let (text, total) = (&cell.text, widths.total());
    if left {
        return format!("{text}{}", fill(text, total));
    }
    if widths.interval == 0 || text.width() > widths.text {
        return format!("{}{text}", fill(text, total));
    }
    let interval = format!("{}{}", cell.interval, fill(&cell.interval, widths.interval));
    format!("{}{text} {interval}", fill(text, widths.text))
}

fn styled(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

fn tone_style(tone: Tone) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match tone {
        Tone::Plain => Style::new(),
        Tone::Good => colour(AnsiColor::Green),
        Tone::Bad => colour(AnsiColor::Red),
        Tone::Faint => Style::new().dimmed(),
    }
}
