//! What each program may call, read from the object: the programs of some kernels may not call everything.

use std::collections::{BTreeMap, BTreeSet};

use object::{File, Object, ObjectSection, ObjectSymbol, Relocation, RelocationTarget, Section};
use object::{SectionIndex, SymbolKind};

/// BPF's call, whose source register is 1 where it calls a function of the same section.
const CALL: u8 = 0x85;
const LOCAL: u8 = 1;
/// Bytes.
const INSTRUCTION: u64 = 8;

/// What functions call, and hand over as callbacks of timers and loops.
pub struct Calls {
    /// By function.
    called: BTreeMap<String, BTreeSet<String>>,
    /// By program: the section, which says what it is attached to.
    programs: BTreeMap<String, String>,
}

/// A function, and where it stands.
struct Function {
    name: String,
    section: SectionIndex,
    from: u64,
    to: u64,
}

impl Calls {
    /// Reads the object of a policy.
    pub fn of(bytes: &[u8]) -> Calls {
        let file = File::parse(bytes).expect("an ELF object");
        let functions: Vec<Function> = file.symbols().filter_map(|own| function(&own)).collect();
        let mut calls = Calls { called: BTreeMap::new(), programs: BTreeMap::new() };
        for own in &functions {
            let section = file.section_by_index(own.section).expect("it is in the object");
            let name = section.name().expect("UTF-8").to_string();
            if name != ".text" {
                calls.programs.insert(own.name.clone(), name);
            }
            calls.called.insert(own.name.clone(), called(&file, &section, own, &functions));
        }
        calls
    }

    /// Programs whose section begins so.
    pub fn programs(&self, section: &str) -> Vec<&str> {
        let own = self.programs.iter().filter(|(_, name)| name.starts_with(section));
        own.map(|(program, _)| program.as_str()).collect()
    }

    /// Whether a program may come to call a function.
    pub fn reaches(&self, program: &str, function: &str) -> bool {
        let (mut seen, mut next) = (BTreeSet::new(), vec![program]);
        while let Some(name) = next.pop() {
            if name == function {
                return true;
            }
            let new = self.called.get(name).into_iter().flatten().map(String::as_str);
            next.extend(new.filter(|name| seen.insert(*name)));
        }
        false
    }
}

fn function<'a>(symbol: &impl ObjectSymbol<'a>) -> Option<Function> {
    let from = symbol.address();
    let section = symbol.section_index().filter(|_| symbol.kind() == SymbolKind::Text)?;
    let name = symbol.name().expect("UTF-8").to_string();
    Some(Function { name, section, from, to: from + symbol.size() })
}

fn called(file: &File, section: &Section, own: &Function, all: &[Function]) -> BTreeSet<String> {
    let code = section.data().expect("instructions");
    let moved: BTreeMap<u64, Relocation> = section.relocations().collect();
    let at = |section, to| {
        let is_there = |one: &&Function| one.section == section && (one.from..one.to).contains(&to);
        all.iter().find(is_there).map(|one| one.name.clone())
    };
    let target = |offset: u64| {
        let word = code[offset as usize..].first_chunk::<8>().expect("an instruction");
        let [kind, registers, _, _, immediate @ ..] = *word;
        let immediate: i64 = i32::from_le_bytes(immediate).into();
        let calls = |base: u64| base.wrapping_add_signed((immediate + 1) * INSTRUCTION as i64);
        match moved.get(&offset).map(Relocation::target) {
            Some(RelocationTarget::Symbol(index)) => {
                let symbol = file.symbol_by_index(index).expect("it is in the object");
                if symbol.kind() != SymbolKind::Section {
                    return symbol.name().ok().map(str::to_string);
                }
                let to = if kind == CALL { calls(0) } else { immediate as u64 };
                at(symbol.section_index()?, to)
            }
            Some(_) => None,
            None if kind == CALL && registers >> 4 == LOCAL => at(own.section, calls(offset)),
            None => None,
        }
    };
    (own.from..own.to).step_by(INSTRUCTION as usize).filter_map(target).collect()
}
