//! The policy's callbacks in this machine's kernel, past its verifier and compiler.

use std::path::Path;

use libbpf_rs::{
    ErrorKind, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, ProgramInput,
    libbpf_sys,
};
use policy_native::PolicyOptions;

/// What a callback did: `output` of script.bpf.h.
#[derive(Debug)]
pub struct Output {
    pub acts: u64,
    /// The number of the first act that is not the native one, plus 1, and what it was.
    pub differs: u64,
    pub act: [u64; 5],
    pub result: u64,
}

/// The programs with one policy's choices.
pub struct Program {
    object: Object,
}

/// Why no programs can be loaded here; `None`: they can.
pub fn why_not() -> Option<&'static str> {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as u64,
        ..Default::default()
    };
    let map = MapHandle::create(MapType::Array, None::<&str>, 4, 4, 1, &options);
    if matches!(map.map_err(|error| error.kind()), Err(ErrorKind::PermissionDenied)) {
        return Some("this process may not load BPF programs (root may)");
    }
    let is_old = release() < OLDEST || !Path::new("/sys/kernel/btf/vmlinux").exists();
    is_old.then_some("no scheduler could be loaded into this kernel (6.12 or newer, with BTF)")
}

/// The first kernel with sched_ext.
const OLDEST: (u32, u32) = (6, 12);

/// This kernel's version.
pub fn release() -> (u32, u32) {
    version(&std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default())
}

/// The version of a kernel by its release.
pub fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split('.').map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

impl Program {
    /// Loads them.
    pub fn load(object: &Path, options: &PolicyOptions) -> Result<Program, libbpf_rs::Error> {
        let mut open = ObjectBuilder::default().open_file(object)?;
        let mut constants =
            open.maps_mut().find(|map| map.name() == ".rodata.options").expect("options");
        constants.set_initial_value(options.as_bytes())?;
        Ok(Program { object: open.load()? })
    }

    /// Runs one callback.
    pub fn call(&mut self, name: &str, input: &[u8]) -> Result<Output, libbpf_rs::Error> {
        self.map(".data.input").update(&FIRST, input, MapFlags::ANY)?;
        let program = self.object.progs_mut().find(|program| program.name() == name);
        program.expect("a program a callback").test_run(ProgramInput::default())?;
        let words = self.table(".bss.output");
        let act = words[2..7].try_into().expect("five words");
        Ok(Output { acts: words[0], differs: words[1], act, result: words[7] })
    }

    /// A table's words.
    pub fn table(&self, name: &str) -> Vec<u64> {
        let bytes = self.map(name).lookup(&FIRST, MapFlags::ANY).ok().flatten();
        let bytes = bytes.unwrap_or_else(|| panic!("{name} cannot be read"));
        bytes
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
            .collect()
    }

    fn map(&self, name: &str) -> impl MapCore {
        self.object.maps().find(|map| map.name() == name).unwrap_or_else(|| panic!("no {name}"))
    }
}

/// Variables of a program are the one entry of a map.
const FIRST: [u8; 4] = [0; 4];
