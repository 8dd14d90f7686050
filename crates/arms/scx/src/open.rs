//! From the object in this executable to programs in the kernel.

use libbpf_rs::libbpf_sys;
use libbpf_rs::skel::OpenSkel;
use model::Failure;
use policy_native::PolicyOptions;
use scx_utils::compat;

use crate::home::Home;
use crate::loaded::Scope;
use crate::skeleton::{BpfSkel, BpfSkelBuilder, OpenBpfSkel};
use crate::topology::Topology;

/// Loads the programs under a name, with a policy's choices. Nothing is in force yet.
pub fn open(
    home: &Home,
    name: &str,
    options: &PolicyOptions,
    topology: &Topology,
    scope: Scope,
) -> Result<BpfSkel<'static>, Failure> {
    bpf::listen();
    let refused = |error: anyhow::Error| refused(&error);
    let builder = BpfSkelBuilder::default();
    // SAFETY: once for this home; `Loaded` drops the skeleton before it.
    let memory = unsafe { home.open() };
    let none: Option<libbpf_sys::bpf_object_open_opts> = None;
    let mut skeleton =
        scx_utils::scx_ops_open!(builder, memory, rearguard, none).map_err(refused)?;
    scx_utils::import_enums!(skeleton);
    choose(&mut skeleton, options, topology.cpu_ids())?;
    if options.asks_for_requests() {
        stamp(&mut skeleton);
    }
    operations(&mut skeleton, name, options, scope);
    if bpf::is_verbose() {
        measure(&mut skeleton);
    }
    scx_utils::scx_ops_load!(skeleton, rearguard, uei).map_err(refused)
}

/// Writes what the kernel will freeze.
fn choose(
    skeleton: &mut OpenBpfSkel,
    options: &PolicyOptions,
    cpu_ids: usize,
) -> Result<(), Failure> {
    let maps = &mut skeleton.maps;
    let absent = || Failure::Run("the BPF object lacks its constants: build it anew".into());
    let constants = maps.rodata_data.as_mut().ok_or_else(absent)?;
    maps.rodata_options.set_initial_value(options.as_bytes()).map_err(|error| {
        Failure::Run(format!("the BPF object has other options than this executable: {error}"))
    })?;
    constants.rg_mask_words = cpu_ids.div_ceil(64) as u32;
    constants.rg_holds = options.keeps_quotas();
    constants.rg_stamps = options.asks_for_requests();
    Ok(())
}

/// Loads what tells the moments of requests, where the policy asks for them.
fn stamp(skeleton: &mut OpenBpfSkel) {
    let progs = &mut skeleton.progs;
    progs.rearguard_readable.set_autoload(true);
    progs.rearguard_was_readable.set_autoload(true);
    progs.rearguard_read.set_autoload(true);
    progs.rearguard_sent.set_autoload(true);
}

/// Names the scheduler and leaves out what this kernel does not have.
fn operations(skeleton: &mut OpenBpfSkel, name: &str, options: &PolicyOptions, scope: Scope) {
    let operations = skeleton.struct_ops.rearguard_mut();
    operations.flags = *compat::SCX_OPS_KEEP_BUILTIN_IDLE
        | *compat::SCX_OPS_ENQ_EXITING
        | *compat::SCX_OPS_ENQ_MIGRATION_DISABLED;
    if options.keeps_quotas() {
        operations.flags |= *compat::SCX_OPS_ENQ_LAST;
    }
    if scope == Scope::Partial {
        operations.flags |= *compat::SCX_OPS_SWITCH_PARTIAL;
    }
    // The kernel would compare it whenever the programs go into force, and they do with the first one's.
    operations.hotplug_seq = 0;
    operations.name = [0; 128];
    for (to, from) in operations.name.iter_mut().take(127).zip(name.bytes()) {
        *to = from as i8;
    }
}

/// Debian's 7.1.13 for trixie is such a kernel.
const MALFORMED: &str = "this kernel's type information (BTF) describes functions of sched_ext with an argument that they do not \
     take: it was built with a pahole before 1.26, and no scheduler can be loaded into it: boot another build";

/// Lets the verifier say how long it took for each program, and over how many instructions.
fn measure(skeleton: &mut OpenBpfSkel) {
    const BPF_LOG_STATS: u32 = 4;
    for mut program in skeleton.open_object_mut().progs_mut() {
        program.set_log_level(BPF_LOG_STATS);
    }
}

fn refused(error: &anyhow::Error) -> Failure {
    if !compat::malformed_scx_kfuncs().is_empty() {
        return Failure::Machine(MALFORMED.into());
    }
    let reason = bpf::reason().map_or(String::new(), |reason| format!(": {reason}"));
    Failure::Run(format!(
        "the kernel refused the policy ({error:#}){reason}; -v shows all that it said"
    ))
}
