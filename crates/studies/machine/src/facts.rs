//! The machine as a page describes it, and what to hold against figures that were measured on it.

mod caveats;
mod usage;

pub use caveats::caveats;
pub use usage::Usage;

use crate::place::{nodes, online};
use crate::platform::Platform;
use crate::proc::affinity;
use crate::target::ABSENT;
use crate::tune;

const CPU: &str = "/sys/devices/system/cpu";

/// What it is about, and what is so.
pub type Fact = (&'static str, String);

/// What is known of processors, memory and kernel. What this machine does not tell is left out.
pub fn facts(on: &dyn Platform) -> Vec<Fact> {
    let all = [
        ("processor", keyed(on, "/proc/cpuinfo", "model name")),
        ("virtual machine", is_virtual(on).then(|| host(on))),
        ("CPUs", cpus(on)),
        ("SMT", smt(on).map(|is_on| if is_on { "on" } else { "off" }.to_string())),
        ("caches", caches(on)),
        ("NUMA nodes", Some(nodes(on).len().to_string()).filter(|count| count != "0")),
        ("memory", memory(on)),
        ("governor", governor(on)),
        ("clock", word(on, "/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        ("kernel", kernel(on)),
        ("HZ", configured(on, "CONFIG_HZ=")),
        ("preemption", preemption(on)),
        ("sched_ext", word(on, "/sys/kernel/sched_ext/state")),
        ("mitigations", mitigations(on)),
    ];
    all.into_iter().filter_map(|(what, fact)| Some((what, fact?))).collect()
}

/// A file's text without white space around it; `None` where it is absent or empty.
fn word(on: &dyn Platform, path: &str) -> Option<String> {
    let text = on.read(path).ok()?.trim().to_string();
    Some(text).filter(|text| !text.is_empty())
}

/// The first value of a key in a file of `key: value`.
fn keyed(on: &dyn Platform, path: &str, key: &str) -> Option<String> {
    let text = on.read(path).ok()?;
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_string())
}

/// As the processor itself tells.
fn is_virtual(on: &dyn Platform) -> bool {
    let flags = keyed(on, "/proc/cpuinfo", "flags").unwrap_or_default();
    flags.split(' ').any(|flag| flag == "hypervisor")
}

fn host(on: &dyn Platform) -> String {
    let told = |what| word(on, &format!("/sys/class/dmi/id/{what}"));
    let all: Vec<String> = ["sys_vendor", "product_name"].into_iter().filter_map(told).collect();
    if all.is_empty() { "yes".to_string() } else { all.join(" ") }
}

fn cpus(on: &dyn Platform) -> Option<String> {
    let online = online(on).ok()?;
    let usable = affinity(on, "self").filter(|usable| *usable != online);
    let usable = usable.map(|usable| format!(", for this command {usable}"));
    Some(format!("{} ({online}){}", online.len(), usable.unwrap_or_default()))
}

/// Whether cores have several threads; `None` where the kernel does not tell.
fn smt(on: &dyn Platform) -> Option<bool> {
    word(on, &format!("{CPU}/smt/active")).map(|active| active == "1")
}

/// Those of the first CPU, and how many of the last level there are.
fn caches(on: &dyn Platform) -> Option<String> {
    let online = online(on).ok()?;
    let of = |cpu: usize| format!("{CPU}/cpu{cpu}/cache");
    let first = of(online.iter().next()?);
    let mut levels = on.list(&first).ok()?;
    levels.retain(|name| name.starts_with("index"));
    let cache = |index: &String| {
        let told = |what| word(on, &format!("{first}/{index}/{what}"));
        let kind = told("type")?.replace("Unified", "").to_lowercase();
        Some(format!("{} L{} {kind}", told("size")?, told("level")?).trim_end().to_string())
    };
    let shown: Vec<String> = levels.iter().filter_map(cache).collect();
    let last = levels.last()?;
    let mut shared: Vec<Option<String>> =
        online.iter().map(|cpu| word(on, &format!("{}/{last}/shared_cpu_list", of(cpu)))).collect();
    shared.sort();
    shared.dedup();
    Some(format!("{}; {} of the last level", shown.join(", "), shared.len()))
}

fn memory(on: &dyn Platform) -> Option<String> {
    let kib: u64 = keyed(on, "/proc/meminfo", "MemTotal")?.strip_suffix(" kB")?.parse().ok()?;
    Some(format!("{:.1} GiB", kib as f64 / f64::from(1 << 20)))
}

/// What decides the frequency, and of how many CPUs; `None`: the machine keeps it to itself.
fn governor(on: &dyn Platform) -> Option<String> {
    let knob = tune::list(on).knobs.into_iter().find(|knob| knob.knob == Some("governor"))?;
    knob.present.filter(|present| present != ABSENT)
}

fn kernel(on: &dyn Platform) -> Option<String> {
    let told = |what| word(on, &format!("/proc/sys/kernel/{what}"));
    Some(format!("{} {}", told("osrelease")?, told("version").unwrap_or_default()))
}

/// A value of the kernel's configuration, where a distribution keeps that.
fn configured(on: &dyn Platform, key: &str) -> Option<String> {
    let release = word(on, "/proc/sys/kernel/osrelease")?;
    let places = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
    let text = places.iter().find_map(|path| on.read(path).ok())?;
    text.lines().find_map(|line| line.strip_prefix(key)).map(str::to_string)
}

/// The mode in force, which root may read; else what the kernel was built with.
fn preemption(on: &dyn Platform) -> Option<String> {
    let mode = word(on, "/sys/kernel/debug/sched/preempt").unwrap_or_default();
    let mode = mode.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let built = word(on, "/proc/sys/kernel/version")?;
    let built = built.split(' ').find(|word| word.starts_with("PREEMPT")).map(str::to_string);
    mode.map(|(mode, _)| mode.to_string()).or(built)
}

/// Which flaws of the processor the kernel guards against, and which it does not.
fn mitigations(on: &dyn Platform) -> Option<String> {
    let folder = format!("{CPU}/vulnerabilities");
    let names = on.list(&folder).ok()?;
    let with = |head: &str| {
        let is = |name: &&String| {
            word(on, &format!("{folder}/{name}")).is_some_and(|text| text.starts_with(head))
        };
        let found: Vec<&str> = names.iter().filter(is).map(String::as_str).collect();
        if found.is_empty() { "none".to_string() } else { found.join(", ") }
    };
    Some(format!("against {}; vulnerable: {}", with("Mitigation"), with("Vulnerable")))
}
