//! Reads `policy/policies.def` and writes it as Rust.

use std::fmt::Write;

/// A line of the table: the macro's name and its arguments.
struct Row {
    kind: String,
    args: Vec<String>,
}

/// The whole table as Rust.
pub fn generate(text: &str) -> String {
    let rows = rows(text);
    let mut out = String::new();
    words(&mut out, &rows);
    structure(&mut out, &rows);
    options(&mut out, &rows);
    policies(&mut out, &rows);
    out
}

/// The invocations of the table's macros; comments and directives are left out.
fn rows(text: &str) -> Vec<Row> {
    let table =
        text.split("*/").map(|part| part.split("/*").next().unwrap_or("")).collect::<String>();
    let lines = table.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" ");
    let mut rows = Vec::new();
    let mut rest = lines.as_str();
    while let Some(at) = rest.find("RG_") {
        let open = at + rest[at..].find('(').expect("a macro of policies.def has arguments");
        let (args, length) = arguments(&rest[open + 1..]);
        rows.push(Row { kind: rest[at + 3..open].to_string(), args });
        rest = &rest[open + 1 + length..];
    }
    rows
}

/// The arguments up to the closing bracket, and how long they are.
fn arguments(text: &str) -> (Vec<String>, usize) {
    let (mut args, mut quoted) = (vec![String::new()], false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            ')' if !quoted => {
                let args = args.iter().map(|arg| arg.trim().to_string()).collect();
                return (args, at);
            }
            ',' if !quoted => args.push(String::new()),
            _ => args.last_mut().expect("one at least").push(c),
        }
    }
    panic!("policies.def: a bracket is not closed");
}

/// A duration in ns.
fn ns(text: &str) -> u64 {
    if text == "never" {
        return u64::MAX;
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).expect("a duration has a unit");
    let unit = match &text[digits..] {
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        unit => panic!("policies.def: unknown unit {unit}"),
    };
    text[..digits].parse::<u64>().expect("digits") * unit
}

fn words(out: &mut String, rows: &[Row]) {
    for Row { args, .. } in rows.iter().filter(|row| row.kind == "VALUE") {
        let [option, word, number, ..] = &args[..] else { panic!("policies.def: a value") };
        writeln!(out, "#[allow(dead_code)]\npub(crate) const {option}_{word}: u32 = {number};")
            .expect("a string");
    }
}

/// `struct rg_options`: fields of 64 bits, facts of the machine, fields of 32 bits.
fn structure(out: &mut String, rows: &[Row]) {
    let (mut wide, mut narrow, mut set) = (String::new(), String::new(), String::new());
    for Row { kind, args } in rows {
        let name = &args[0];
        match kind.as_str() {
            "DURATIONS" => wide += &format!("    pub(crate) {name}_ns: [u64; ROWS],\n"),
            "DURATION" | "LIMIT" => {
                wide += &format!("    pub(crate) {name}_ns: u64,\n");
                set += &format!("            \"{name}\" => self.{name}_ns = value,\n");
            }
            "CHOICE" | "SWITCH" => {
                narrow += &format!("    pub(crate) {name}: u32,\n");
                set += &format!("            \"{name}\" => self.{name} = value as u32,\n");
            }
            _ => {}
        }
    }
    write!(
        out,
        "/// The options of one policy instance: `struct rg_options` of `policy/state.h`.\n\
         #[repr(C)]\n#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]\npub struct Options {{\n\
         {wide}    pub(crate) cpus: u32,\n    pub(crate) stride: u32,\n    pub(crate) quotas: u32,\n{narrow}}}\n\n\
         impl Options {{\n    pub(crate) fn set(&mut self, name: &str, value: u64) {{\n        match name {{\n\
         {set}            _ => {{}}\n        }}\n    }}\n}}\n\n"
    )
    .expect("a string");
}

fn options(out: &mut String, rows: &[Row]) {
    *out += "/// The options by name, in the order of the table.\npub static OPTIONS: &[OptionRow] = &[\n";
    for Row { kind, args } in rows {
        let values = match kind.as_str() {
            "DURATION" | "DURATIONS" => {
                let default = if args[1] == "none" { 0 } else { ns(&args[1]) };
                let (least, most) = (ns(&args[2]), ns(&args[3]));
                format!(
                    "Duration {{ default: Nanos({default}), least: Nanos({least}), most: Nanos({most}) }}"
                )
            }
            "LIMIT" => {
                let (off, fixed) = (ns(&args[2]), ns(&args[3]));
                let (on, half) = (args[1] == "on", &args[4]);
                format!(
                    "Limit {{ on: {on}, off: Nanos({off}), fixed: Nanos({fixed}), half_slices: {half} }}"
                )
            }
            "SWITCH" => {
                let default = u32::from(args[1] == "on");
                format!(
                    "Choice {{ default: Some({default}), words: &[(\"off\", 0), (\"on\", 1)] }}"
                )
            }
            "CHOICE" => choice(args, rows),
            _ => continue,
        };
        writeln!(out, "    OptionRow {{ name: {:?}, values: Values::{values} }},", args[0])
            .expect("a string");
    }
    *out += "];\n\n";
}

fn choice(args: &[String], rows: &[Row]) -> String {
    let mine = rows.iter().filter(|row| row.kind == "VALUE" && row.args[0] == args[1]);
    let (mut words, mut default) = (String::new(), "None".to_string());
    for Row { args: value, .. } in mine {
        let (word, number) = (value[1].to_lowercase(), &value[2]);
        words += &format!("({word:?}, {number}), ");
        if value[1] == args[2] {
            default = format!("Some({number})");
        }
    }
    format!("Choice {{ default: {default}, words: &[{words}] }}")
}

fn policies(out: &mut String, rows: &[Row]) {
    *out += "/// The policies, ours first.\npub static POLICIES: &[PolicyRow] = &[\n";
    for Row { args, .. } in rows.iter().filter(|row| row.kind == "POLICY") {
        let pairs = args[1].split(':').filter_map(|pair| pair.split_once('='));
        let options: Vec<(&str, &str)> = pairs.collect();
        let (name, help) = (&args[0], &args[2]);
        writeln!(out, "    PolicyRow {{ name: {name:?}, help: {help:?}, options: &{options:?} }},")
            .expect("a string");
    }
    *out += "];\n";
}
