//! What the policy's source must not contain, so that it stays fit for BPF.

use std::path::{Path, PathBuf};

fn policy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../policy")
}

fn headers() -> Vec<PathBuf> {
    let folders =
        ["", "balance", "examples", "index", "order", "pick"].map(|folder| policy().join(folder));
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "h" || kind == "c"));
    files.sort();
    files
}

/// Code without comments.
fn code(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or("").to_string();
    parts.fold(first, |code, part| code + part.split_once("*/").map_or("", |(_, rest)| rest))
}

/// What is forbidden in this code, outside of platform.h.
fn forbidden(code: &str) -> Vec<String> {
    let wrong = |line: &&str| {
        let is_include = line.trim_start().starts_with("#include");
        let divides = (line.contains('/') || line.contains('%')) && !is_include;
        let loops = line.contains("for (") || line.contains("while (") || line.contains("goto ");
        let outside = is_include && line.contains('<');
        let conditional = line.starts_with("#if ") || line.starts_with("#ifdef");
        divides || loops || outside || conditional
    };
    code.lines().filter(wrong).map(str::to_string).collect()
}

#[test]
fn a_policy_divides_loops_and_includes_through_the_platform_alone() {
    let files = headers();
    assert!(files.len() > 12, "{files:?}");
    for file in files.iter().filter(|file| !file.ends_with("platform.h")) {
        let text = std::fs::read_to_string(file).unwrap();
        assert_eq!(forbidden(&code(&text)), Vec::<String>::new(), "{}", file.display());
    }
    for line in ["a = b / c;", "x %= 3;", "for (;;)", "#include <linux/bpf.h>", "#ifdef __bpf__"] {
        assert_eq!(forbidden(line).len(), 1, "{line}");
    }
    assert_eq!(forbidden(&code("a = b; /* b / c */ /* while (1) */")), Vec::<String>::new());
}

/// Runs check-bpf on a source of one's own; `None` where there is no clang.
fn check_bpf(source: &str) -> Option<(Option<i32>, String)> {
    let file = std::env::temp_dir().join(format!("check-bpf-{}.c", std::process::id()));
    std::fs::write(&file, source).unwrap();
    let run = std::process::Command::new(policy().join("check-bpf")).arg(&file).output().unwrap();
    std::fs::remove_file(&file).unwrap();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    (run.status.code() != Some(3)).then(|| (run.status.code(), said))
}

#[test]
fn check_bpf_refuses_what_the_verifier_would() {
    let refused = [
        ("#include \"scheduler.h\"\nvoid f(char *); void g(void) { char b[600]; f(b); }", "BPF"),
        ("#include \"scheduler.h\"\nvoid printk(void); void g(void) { printk(); }", "printk"),
        ("#include \"platform.h\"\n", "rg_dispatch"),
        (
            "#include \"scheduler.h\"\nint f(int,int,int,int,int,int); int g(void) { return f(1,2,3,4,5,6); }",
            "BPF",
        ),
    ];
    match check_bpf("#include \"scheduler.h\"\n") {
        None => eprintln!("no clang here: nothing checked"),
        Some((code, said)) => {
            assert_eq!(code, Some(0), "{said}");
            for example in ["template", "fifo", "vtime", "flat"] {
                let (code, said) =
                    check_bpf(&format!("#include \"examples/{example}.c\"\n")).unwrap();
                assert_eq!(code, Some(0), "{example}: {said}");
            }
            for (source, reason) in refused {
                let (code, said) = check_bpf(source).unwrap();
                assert_eq!(code, Some(1), "{source}");
                assert!(said.contains(reason), "{said}");
            }
        }
    }
}

/// Scenarios of more levels are refused, so that none has wrong shares.
#[test]
fn scenarios_have_as_many_levels_as_policies_see() {
    let text = std::fs::read_to_string(policy().join("weight.h")).unwrap();
    let depth = text.lines().find_map(|line| line.strip_prefix("#define RG_DEPTH "));
    assert_eq!(depth, Some(model::scenario::POLICY_LEVELS.to_string().as_str()));
}
