//! Names of fields by where they lie, as clang lays the policy's types out.

use std::collections::BTreeMap;

/// A field that is no structure, or an array.
struct Field {
    offset: u32,
    path: String,
    /// An array of these structures.
    of: Option<String>,
}

#[derive(Default)]
struct Record {
    fields: Vec<Field>,
    size: u32,
}

/// All types of a unit.
#[derive(Default)]
pub struct Layouts {
    records: BTreeMap<String, Record>,
}

impl Layouts {
    /// Reads what `clang -fdump-record-layouts` prints.
    pub fn read(text: &str) -> Layouts {
        let mut layouts = Layouts::default();
        for part in text.split("*** Dumping AST Record Layout").skip(1) {
            let mut lines = part.lines().filter_map(|line| line.split_once(" | "));
            let Some((_, name)) = lines.next() else { continue };
            let mut record = Record::default();
            let mut path: Vec<&str> = Vec::new();
            for (offset, declared) in lines {
                match offset.trim().parse() {
                    Ok(offset) => record.add(offset, declared, &mut path),
                    Err(_) => record.size = size(declared),
                }
            }
            layouts.records.insert(name.trim().to_string(), record);
        }
        layouts
    }

    /// The field of a structure at a byte.
    pub fn field(&self, structure: &str, at: u32) -> String {
        let record = self.records.get(structure);
        let field = record.and_then(|record| record.fields.iter().rfind(|f| f.offset <= at));
        let Some(field) = field else { return format!("byte {at}") };
        match field.of.as_ref().and_then(|of| Some((of, self.records.get(of)?))) {
            Some((of, element)) => {
                let within = (at - field.offset) % element.size.max(1);
                format!("{}[].{}", field.path, self.field(of, within))
            }
            None => field.path.clone(),
        }
    }
}

/// `[sizeof=16, align=8]`.
fn size(text: &str) -> u32 {
    let digits = text.split("sizeof=").nth(1).unwrap_or_default();
    digits.split(',').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

impl Record {
    /// A line such as `    struct rg_vtime vtime`, two blanks a level.
    fn add<'a>(&mut self, offset: u32, declared: &'a str, path: &mut Vec<&'a str>) {
        let level = (declared.len() - declared.trim_start().len()) / 2;
        let Some((kind, name)) = declared.trim().rsplit_once(' ') else { return };
        path.truncate(level.saturating_sub(1));
        path.push(name);
        let array = kind.split_once('[').map(|(of, _)| of.to_string());
        let whole = path.join(".");
        if array.is_none() && kind.starts_with("struct ") && !kind.ends_with('*') {
            return;
        }
        let of = array.clone().filter(|of| of.starts_with("struct "));
        let path = if array.is_some() && of.is_none() { format!("{whole}[]") } else { whole };
        self.fields.push(Field { offset, path, of });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = "
*** Dumping AST Record Layout
         0 | struct in
         0 |   u32 a
         4 |   u32 b
           | [sizeof=8, align=4]

*** Dumping AST Record Layout
         0 | struct out
         0 |   struct in one
         0 |     u32 a
         4 |     u32 b
         8 |   struct in[4] many
        40 |   u32[2] plain
           | [sizeof=48, align=4]
";

    #[test]
    fn fields_are_named_by_their_bytes() {
        let layouts = Layouts::read(DUMP);
        let names: Vec<String> =
            [0, 4, 8, 20, 40, 44].map(|at| layouts.field("struct out", at)).into();
        assert_eq!(names, ["one.a", "one.b", "many[].a", "many[].b", "plain[]", "plain[]"]);
        assert_eq!(layouts.field("struct none", 3), "byte 3");
    }
}
