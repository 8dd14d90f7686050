//! What an executable needs to run elsewhere: its libraries and, of a script, its interpreter.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::Failure;

use crate::tools;

/// Where a command is, as a shell would find it.
pub fn locate(command: &str) -> Result<PathBuf, Failure> {
    let wrong = |why: &str| Failure::Input(format!("command `{command}`: {why} on this machine"));
    if command.contains('/') {
        let path = std::path::absolute(command).map_err(|error| wrong(&error.to_string()))?;
        return if path.is_file() { Ok(path) } else { Err(wrong("no such file")) };
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(command));
    found
        .filter_map(|path| std::path::absolute(path).ok())
        .find(|path| is_executable(path))
        .ok_or_else(|| wrong("not found in PATH"))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// The files that an executable needs beside itself.
pub fn closure(executable: &Path) -> Result<Vec<PathBuf>, Failure> {
    let start = start_of(executable)
        .map_err(|error| Failure::Input(format!("{}: {error}", executable.display())))?;
    if start.starts_with(b"\x7fELF") {
        return libraries(executable);
    }
    let mut needed = Vec::new();
    for interpreter in interpreters(&String::from_utf8_lossy(&start)) {
        let path = locate(&interpreter)?;
        needed.extend(libraries(&path)?);
        needed.push(path);
    }
    Ok(needed)
}

fn start_of(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut start = Vec::new();
    fs::File::open(path)?.take(256).read_to_end(&mut start)?;
    Ok(start)
}

/// The programs that a script's first line names: `#!/usr/bin/env python3` takes both.
fn interpreters(start: &str) -> Vec<String> {
    let first = start.lines().next().and_then(|line| line.strip_prefix("#!"));
    let words: Vec<&str> = first.unwrap_or_default().split_whitespace().collect();
    let by_env = words.first().is_some_and(|word| word.ends_with("/env"));
    let flags = words.iter().skip(1).take_while(|word| word.starts_with('-')).count();
    let taken = words.iter().take(1).chain(words.iter().skip(1 + flags).take(usize::from(by_env)));
    taken.map(|word| (*word).to_string()).collect()
}

fn libraries(executable: &Path) -> Result<Vec<PathBuf>, Failure> {
    let output = tools::output(Command::new("ldd").arg(executable), "install libc-bin")?;
    // It says "not a dynamic executable" and fails for a static one.
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text).map_err(|library| {
        let path = executable.display();
        Failure::Input(format!("{path} does not run here: its library {library} is missing"))
    })
}

/// The files in what `ldd` says; an error is a library that it does not find.
fn parse(said: &str) -> Result<Vec<PathBuf>, String> {
    let of_line = |line: &str| {
        let line = line.trim();
        let (name, place) = line.split_once(" => ").unwrap_or((line, line));
        if place.starts_with("not found") {
            return Some(Err(name.to_string()));
        }
        let path = place.rsplit_once(" (0x").map_or(place, |(path, _)| path);
        path.starts_with('/').then(|| Ok(PathBuf::from(path)))
    };
    said.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_loader_are_read_and_the_vdso_is_no_file() {
        let said = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                    \tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let files = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(parse(said).unwrap(), files.map(PathBuf::from));
        assert_eq!(parse("\tstatically linked\n").unwrap(), Vec::<PathBuf>::new());
        assert_eq!(parse("\tlibx.so => not found\n").unwrap_err(), "libx.so");
    }

    #[test]
    fn the_closure_of_a_shell_has_a_loader_and_a_libc() {
        let needed = closure(&locate("sh").unwrap()).unwrap();
        let has = |part: &str| needed.iter().any(|path| path.to_string_lossy().contains(part));
        assert!(has("libc.so") && has("ld-linux"), "{needed:?}");
    }

    #[test]
    fn a_script_takes_its_interpreter_along() {
        assert_eq!(interpreters("#!/bin/sh -e\nexit"), ["/bin/sh"]);
        assert_eq!(interpreters("#! /usr/bin/env -S python3 -u\n"), ["/usr/bin/env", "python3"]);
        assert_eq!(interpreters("plain text"), [""; 0]);
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, "#!/bin/sh\nexit 0\n").unwrap();
        assert!(closure(&script).unwrap().contains(&PathBuf::from("/bin/sh")));
    }

    #[test]
    fn a_command_that_is_not_here_is_bad_input() {
        for command in ["no-such-command", "/no/such/command"] {
            assert_eq!(locate(command).unwrap_err().exit_code(), 2);
        }
    }
}
