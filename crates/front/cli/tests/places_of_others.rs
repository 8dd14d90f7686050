//! Files in folders that other users write to: outputs follow no link, inputs have an end. No output takes
//! the place of an input.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use recorder::{KEPT_SCHEMA, KeptRequest, trace_path};

const SCENARIO: &str = "# A service on two CPUs.\nduration = \"50ms\"\nseeds = [1]\n\
    [machine]\ncpus = 2\n[[program]]\nname = \"web\"\nkind = \"service\"\n\
    architecture = \"thread-per-connection\"\nconnections = 64\n\
    service_time = { law = \"exponential\", mean = \"200us\" }\n\
    arrivals = { law = \"poisson\", utilisation = 0.5 }\n";
/// The name of a kept request.
const ID: &str = "20261126T030211-577Z";

/// A folder with a scenario, and a file that is none of ours.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("web.toml"), SCENARIO).expect("a scenario");
    fs::write(folder.path().join("victim"), "kept").expect("a file");
    folder
}

/// What a shell says to a line, `rearguard` being the command in $0: it has 4 GB of memory and 60 s.
fn sh(folder: &Path, line: &str) -> Output {
    let line = format!("ulimit -v 4000000; {}", line.replace("rearguard ", "timeout 60 \"$0\" "));
    let mut shell = Command::new("sh");
    shell.args(["-c", &line, env!("CARGO_BIN_EXE_rearguard")]).current_dir(folder);
    shell.output().expect("a shell")
}

/// The same, which must succeed.
fn done(folder: &Path, line: &str) -> String {
    let output = sh(folder, line);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {}: {said}", output.status);
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The same, which must be bad input: what is said to it.
fn refused(folder: &Path, line: &str) -> String {
    let output = sh(folder, line);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{line}: {}: {said}", output.status);
    said
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).expect("there").is_file()
}

/// `/dev/null` stands for a disk.
#[test]
fn a_report_overwrites_no_device_behind_a_link() {
    let folder = folder();
    let report = folder.path().join("r.html");
    symlink("/dev/null", &report).expect("a link");
    done(folder.path(), "rearguard compare web.toml --policy eevdf --report r.html");
    assert!(is_file(&report), "it was written through the link");
    // The control: a pipe that the user names is written to, as `>(...)` of a shell is.
    let compare = "rearguard compare web.toml --policy eevdf --trace /dev/fd/3";
    done(folder.path(), &format!("{compare} 3>&1 >/dev/null | cat >a.trace"));
    done(folder.path(), "rearguard trace show a.trace");
}

/// Every file of a folder.
fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    entries.map(|entry| entry.path()).collect()
}

#[test]
fn tables_are_written_through_no_link() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let compare = "rearguard compare web.toml --policy eevdf --csv-tables tables --trace a.trace";
    let export = "rearguard trace export a.trace --to csv events";
    let write = || [compare, export].map(|line| done(folder.path(), line));
    write();
    let all = [inside(&at("tables")), inside(&at("events"))].concat();
    assert!(all.len() > 4, "{all:?}");
    for path in &all {
        fs::remove_file(path).expect("there");
        symlink(at("victim"), path).expect("a link");
    }
    write();
    assert_eq!(fs::read_to_string(at("victim")).expect("there"), "kept");
    all.iter().for_each(|path| assert!(is_file(path), "{}", path.display()));
}

#[test]
fn inputs_have_an_end() {
    let folder = folder();
    let folder = folder.path();
    done(folder, "rearguard compare web.toml --policy eevdf --trace a.trace --json >a.json");
    for command in [
        "trace show",
        "explain",
        "what-if",
        "check",
        "cluster",
        "ideal --trace",
        "sweep",
        "diff a.json",
        "diff a.trace",
        "gate check --policy eevdf",
    ] {
        let said = refused(folder, &format!("rearguard {command} /dev/zero"));
        assert!(said.contains("/dev/zero: longer than"), "{command}: {said}");
    }
    // The control: pipes end.
    let shown = done(folder, "rearguard trace show a.trace");
    assert_eq!(done(folder, "cat a.trace | rearguard trace show /dev/stdin"), shown);
    done(folder, "cat web.toml | rearguard check /dev/stdin");
}

/// Each with its output between braces, which is also its input `in.html`.
const COMMANDS: [&str; 15] = [
    "compare in.html --policy eevdf --report {in.html}",
    "compare in.html --policy eevdf --trace {in.html}",
    "capacity in.html --slo 1ms=1% --policy eevdf --report {in.html}",
    "explain in.html --report {in.html}",
    "ideal --trace in.html --report {in.html}",
    "ideal --hdr in.html --unit us --service-time 50us --report {in.html}",
    "ideal --csv in.html --service-time 50us --report {in.html}",
    "cluster of.toml --report {in.html}",
    "measure --rate 1/s --target http://127.0.0.1:1 --requests in.html --hdr {in.html}",
    "measure --rate 1/s --target http://127.0.0.1:1 --requests mix --report {in.html}",
    "measure --rate 1/s --target http://127.0.0.1:1 --body @in.html --trace {in.html}",
    "measure --rate 1/s --target http://127.0.0.1:1 --header @in.html --metrics {in.html}",
    "measure --rate 1/s --target https://127.0.0.1:1 --cacert in.html --report {in.html}",
    "measure --rate 1/s --target https://127.0.0.1:1 --cert in.html --report {in.html}",
    "measure --rate 1/s --target redis://127.0.0.1:1 --password-file in.html --hdr {in.html}",
];

/// The control: a command ends for another reason than that its output is its input.
fn goes_on(folder: &Path, command: &str) {
    let said = sh(folder, &format!("rearguard {command}")).stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(!said.is_empty() && !said.contains("reads it"), "{command}: {said}");
}

#[test]
fn no_output_takes_the_place_of_an_input() {
    let folder = folder();
    let folder = folder.path();
    let of = "# One server.\nduration = \"1s\"\narrivals = { utilisation = 0.5 }\n\
              [leaf]\nmachine = \"in.html\"\n";
    for (name, text) in [("in.html", "an input"), ("mix", "1 POST / @in.html\n"), ("of.toml", of)] {
        fs::write(folder.join(name), text).expect("a file");
    }
    for command in COMMANDS {
        let same = command.replace(['{', '}'], "");
        let said = refused(folder, &format!("rearguard {same}"));
        assert!(said.contains("in.html: this command reads it"), "{command}: {said}");
        // Beside it an output is no reason.
        goes_on(folder, &command.replace("{in.html}", "out.html"));
    }
    assert_eq!(fs::read_to_string(folder.join("in.html")).expect("there"), "an input");
}

/// Each with its inputs between braces, which lie where its tables would, and with that folder.
const TABLES: [&str; 7] = [
    "compare {verdicts.csv} --policy eevdf --csv-tables {.}",
    "cluster {cases.csv} --csv-tables {.}",
    "diff {verdicts.csv} {differences.parquet} --parquet {.}",
    "explain {spans.arrow} --arrow {.}",
    "fanout {fanout.csv} --threshold 1ms --csv-tables {.}",
    "ideal --csv {curves.csv} --service-time 100us --csv-tables {.}",
    "measure --rate 1/s --target http://127.0.0.1:1 --requests {curves.csv} --csv-tables {.}",
];

#[test]
fn no_table_takes_the_place_of_an_input() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("input"), "an input").expect("a file");
    for (number, command) in TABLES.into_iter().enumerate() {
        let own = folder.join(number.to_string());
        fs::create_dir(&own).expect("a folder");
        let files = command.split(['{', '}']).skip(1).step_by(2).filter(|word| *word != ".");
        files.for_each(|name| fs::hard_link(folder.join("input"), own.join(name)).expect("a link"));
        let line = command.replace("{.}", "./.").replace(['{', '}'], "");
        let said = refused(&own, &format!("rearguard {line}"));
        assert!(said.contains("this command reads it: write to another file"), "{line}: {said}");
        // In another folder a table is no reason.
        goes_on(&own, &line.replace("./.", "other"));
        fs::remove_dir_all(&own).expect("there");
    }
    // By another name, too.
    fs::create_dir(folder.join("dd")).expect("a folder");
    fs::hard_link(folder.join("input"), folder.join("dd/curves.csv")).expect("a link");
    let ideal = "rearguard ideal --csv input --service-time 100us --csv-tables dd";
    assert!(refused(folder, ideal).contains("dd/curves.csv: this command reads it"));
    assert_eq!(fs::read_to_string(folder.join("input")).expect("there"), "an input");
}

#[test]
fn a_kept_trace_is_a_file() {
    let folder = folder();
    let folder = folder.path();
    let (id, schema) = (ID.to_string(), KEPT_SCHEMA.to_string());
    let kept = KeptRequest { id, schema, ..KeptRequest::default() };
    let text = serde_json::to_vec(&kept).expect("JSON");
    fs::write(folder.join(format!("{ID}.json")), text).expect("written");
    let (trace, show) = (trace_path(folder, ID), format!("rearguard watch show . {ID}"));
    mkfifo(&trace, Mode::S_IRWXU).expect("a pipe");
    assert!(refused(folder, &show).contains("no regular file"));
    fs::remove_file(&trace).expect("there");
    symlink("/dev/zero", &trace).expect("a link");
    assert!(refused(folder, &show).contains("symbolic link"));
    assert!(refused(folder, &format!("rearguard watch export . {ID} out")).contains("symbolic"));
}

#[test]
fn versions_are_kept_in_a_folder_of_ones_own() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("keep/v1")).expect("a folder");
    symlink(at("victim"), at("keep/v1/build.log")).expect("a link");
    let bisect = "rearguard bisect --versions v1,v2 --build 'echo built' --policy ./mine.c \
                  --scenarios web.toml --keep keep";
    fs::set_permissions(at("keep"), Permissions::from_mode(0o777)).expect("ours");
    let said = refused(folder.path(), bisect);
    assert!(said.contains("--keep keep: others may write there"), "{said}");
    // The control: in one's own it is built, and not written through the link.
    fs::set_permissions(at("keep"), Permissions::from_mode(0o700)).expect("ours");
    sh(folder.path(), bisect);
    assert_eq!(fs::read_to_string(at("keep/v1/build.log")).expect("there"), "built\n");
    assert_eq!(fs::read_to_string(at("victim")).expect("there"), "kept");
}
