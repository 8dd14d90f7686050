//! The judge against faults, and the short selection against the kernel's own class and schedulers of ours.
//! It boots guests, so `make lab-test` runs it.

use std::process::Command;

/// Runs torture; its exit code, and all that it said.
fn torture(args: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_torture"));
    let output = command.args(args).output().expect("the built command runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().expect("an exit code"), String::from_utf8_lossy(&said).into_owned())
}

#[test]
#[ignore = "boots guests: make lab-test"]
fn the_kernels_own_class_stands_the_short_selection() {
    let (code, said) = torture(&["--short", "--seconds", "5"]);
    assert_eq!(code, 0, "{said}");
}

#[test]
#[ignore = "boots guests: make lab-test"]
fn schedulers_of_ours_stand_the_short_selection() {
    for policy in ["rearguard", "cts"] {
        let (code, said) = torture(&["--short", "--seconds", "5", "--policy", policy]);
        assert_eq!(code, 0, "{policy}: {said}");
    }
}

#[test]
#[ignore = "boots guests: make lab-test"]
fn a_thread_that_never_gets_its_cpu_is_found_and_the_run_can_be_repeated() {
    let (code, said) =
        torture(&["pingpong", "--seconds", "20", "--seed", "7", "--fault", "starved"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("has waited for a CPU for"), "{said}");
    assert!(said.contains("torture -- pingpong --policy default --seed 7 --seconds 20"), "{said}");
}

#[test]
#[ignore = "boots guests: make lab-test"]
fn a_warning_of_the_kernel_is_found() {
    let (code, said) = torture(&["pingpong", "--seconds", "2", "--fault", "warning"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("WARNING: planted"), "{said}");
}

#[test]
#[ignore = "boots guests: make lab-test"]
fn an_ejected_scheduler_is_detected_though_all_threads_go_on() {
    let (code, said) =
        torture(&["pingpong", "--seconds", "5", "--policy", "cts", "--fault", "killed"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("each thread went round"), "{said}");
    assert!(said.contains("the state of sched_ext is `disabled`, not `enabled`"), "{said}");
}

#[test]
fn bad_input_is_refused_before_any_boot() {
    for args in [&["no-such-piece"][..], &["--cpus", "3"], &["reload", "--policy", "default"]] {
        let (code, said) = torture(args);
        assert_eq!(code, 2, "{args:?}: {said}");
    }
}
