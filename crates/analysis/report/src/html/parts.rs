//! Pieces of a page: tables, keys of charts, definition lists, the page around them.

use super::svg::escape;
use crate::grid::{Block, Cell, Grid, Tone};

/// The page around a body of finished HTML.
pub fn page(title: &str, body: &str) -> String {
    let style = [super::chart::STYLE, include_str!("page.css")].concat();
    // The body goes in last: nothing in it is taken for a place to fill.
    include_str!("page.html")
        .replace("{{title}}", &escape(title))
        .replace("{{style}}", &style)
        .replacen("{{body}}", body, 1)
}

/// A chart with its caption.
pub fn figure(chart: &str, caption: &str) -> String {
    format!("<figure>\n{chart}<figcaption>{}</figcaption>\n</figure>\n", escape(caption))
}

/// A block's table and notes; its heading is the page's affair.
pub fn table(block: &Block) -> String {
    grid(&block.grid) + &block.notes.iter().map(note).collect::<String>()
}

/// One line below a table.
pub fn note(note: &Cell) -> String {
    format!("<p class=\"note {}\">{}</p>\n", tone(note.tone), escape(&note.text))
}

fn grid(grid: &Grid) -> String {
    let heads = grid
        .columns
        .iter()
        .map(|column| format!("<th scope=\"col\">{}</th>", escape(&column.title)));
    let rows = grid
        .rows
        .iter()
        .map(|row| format!("<tr>{}</tr>\n", row.iter().map(cell).collect::<String>()));
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\"><table>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table></div>\n",
        heads.collect::<String>(),
        rows.collect::<String>()
    )
}

fn cell(cell: &Cell) -> String {
    let interval = match cell.interval.as_str() {
        "" => String::new(),
        interval => format!("<small>{}</small>", escape(interval)),
    };
    let class = match tone(cell.tone) {
        "" => String::new(),
        class => format!(" class=\"{class}\""),
    };
    format!("<td{class}>{}{interval}</td>", escape(&cell.text))
}

fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Faint => "quiet",
    }
}

/// The key of a chart: (class of the curve, name, remark).
pub fn key(entries: &[(String, String, String)]) -> String {
    let entry = |(class, name, remark): &(String, String, String)| {
        let (name, remark) = (escape(name), escape(remark));
        format!("<li class=\"{class}\"><i></i>{name} <span>{remark}</span></li>\n")
    };
    format!("<ul class=\"key\">\n{}</ul>\n", entries.iter().map(entry).collect::<String>())
}

/// Facts by name, those without a value left out.
pub fn facts(facts: &[(&str, String)]) -> String {
    let known = facts.iter().filter(|(_, value)| !value.is_empty());
    let row = |(name, value): &(&str, String)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value))
    };
    format!("<dl>\n{}</dl>\n", known.map(row).collect::<String>())
}

/// A heading of a section.
pub fn heading(words: &str) -> String {
    format!("<h2>{}</h2>\n", escape(words))
}

/// A paragraph; nothing for no words.
pub fn paragraph(class: &str, words: &str) -> String {
    if words.is_empty() {
        return String::new();
    }
    format!("<p class=\"{class}\">{}</p>\n", escape(words))
}

/// Text that keeps its lines.
pub fn verbatim(class: &str, text: &str) -> String {
    format!("<pre class=\"{class}\"><code>{}</code></pre>\n", escape(text))
}
