//! Policies in files become objects that the bindings can open.

mod reach;

use std::fs;
use std::path::Path;

use libbpf_rs::ObjectBuilder;
use model::PolicySpec;

use super::Code;
use crate::skeleton::types;

/// What the bindings were made of.
const BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bpf.bpf.o"));

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../policy/examples");

fn compiled(path: &Path) -> Result<Code, model::Failure> {
    Code::of(&PolicySpec::plain(&path.display().to_string()))
}

/// The size of a map of the object's, by the end of its name; in whole words, as Rust counts.
fn size(code: Code, map: &str) -> Option<usize> {
    let mut builder = ObjectBuilder::default();
    builder.name("bpf_bpf").expect("a name");
    let object = builder.open_memory(code.bytes().unwrap_or(BUILT_IN)).expect("an object");
    let found = object.maps().find(|each| each.name().to_string_lossy().ends_with(map));
    found.map(|map| (map.value_size() as usize).next_multiple_of(8))
}

#[test]
fn examples_have_the_maps_that_the_bindings_know() {
    for example in ["template", "fifo", "vtime", "flat"] {
        let code = compiled(&Path::new(EXAMPLES).join(example).with_extension("c")).unwrap();
        assert_eq!(size(code, "bpf.rodata"), Some(size_of::<types::rodata>()), "{example}");
        // Texts of messages stand behind the variables; the bindings leave out names with a dot.
        assert!(size(code, "bpf.data") >= Some(size_of::<types::data>()), "{example}");
        assert_eq!(size(code, "bpf.data"), size(Code::BuiltIn, "bpf.data"), "{example}");
        assert_eq!(size(code, "bpf.bss"), Some(size_of::<types::bss>()), "{example}");
        assert!(size(code, "bpf.kconfig").is_some(), "{example}");
        assert_eq!(size(code, ".rodata.options"), Some(16), "{example}");
        assert_eq!(size(code, ".rodata.policy"), None, "{example}");
    }
}

#[test]
fn the_object_for_old_kernels_has_the_same_maps_and_programs() {
    let sizes = |code: Code| {
        ["bpf.rodata", "bpf.data", "bpf.bss", ".rodata.options"].map(|map| size(code, map))
    };
    let old = Code::Object(super::old());
    assert_eq!(sizes(old), sizes(Code::BuiltIn));
    let names = |code: Code| -> Vec<String> {
        let mut builder = ObjectBuilder::default();
        builder.name("bpf_bpf").expect("a name");
        let object = builder.open_memory(code.bytes().unwrap_or(BUILT_IN)).expect("an object");
        object.progs().map(|program| program.name().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(names(old), names(Code::BuiltIn));
    assert_ne!(super::old(), BUILT_IN);
}

/// Linux 6.17 refuses what may sleep and reads which CPUs a thread may use: it is no pointer to trust there.
/// The timer of a group counts, which such a program opens.
#[test]
fn what_may_sleep_reads_no_set_of_cpus() {
    const READS: &str = "bpf_cpumask_test_cpu";
    for object in [BUILT_IN, super::old()] {
        let calls = reach::Calls::of(object);
        let sleepable = calls.programs("struct_ops.s/");
        assert!(sleepable.contains(&"rearguard_cgroup_init"), "{sleepable:?}");
        for program in sleepable {
            assert!(!calls.reaches(program, READS), "{program}");
        }
        assert!(calls.reaches("rearguard_cgroup_init", "rg_attach"), "by the timer");
        assert!(calls.reaches("rearguard_enqueue", READS), "the control");
    }
}

#[test]
fn old_kernels_are_told_by_their_release() {
    let old = |release| super::is_before(release, [6, 15]);
    assert!(old("6.12.117-scx\n") && old("6.14.9") && old("5.15.0"));
    assert!(!old("6.15.0") && !old("6.16.12+deb13-cloud-amd64") && !old("7.2.13") && !old(""));
}

#[test]
fn tables_of_a_policy_do_not_move_the_adapters_constants() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tables.c");
    let template = fs::read_to_string(Path::new(EXAMPLES).join("template.c")).unwrap();
    let table =
        "static const u64 slices[4] = {1000000, 2000000, 3000000, 5000000};\n\n/* Once, before";
    let asked = "u64 slice_ns = slices[rg_random() & 3];\n\tbool idle = 0;";
    let changed = template.replacen("/* Once, before", table, 1);
    let changed = changed.replacen("bool idle = 0;", asked, 1);
    let changed = changed.replacen(
        "rg_insert_local(t, rg_options()->slice_ns, 0)",
        "rg_insert_local(t, slice_ns, 0)",
        1,
    );
    fs::write(&file, changed).unwrap();
    let code = compiled(&file).unwrap();
    assert_eq!(size(code, "bpf.rodata"), Some(size_of::<types::rodata>()));
    assert_eq!(size(code, ".rodata.policy"), Some(32));
}

#[test]
fn what_is_no_policy_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty.c");
    fs::write(&file, "#include \"defaults.h\"\n").unwrap();
    for path in [&file, &folder.path().join("absent.c")] {
        assert_eq!(compiled(path).unwrap_err().exit_code(), 2, "{}", path.display());
    }
}
