//! Roles: what an executable does when it starts itself again, asked for by its first argument.

use std::ffi::OsString;
use std::process::ExitCode;

/// A role: the argument that asks for it, and what plays it with the arguments that follow.
pub type Role = (&'static str, fn(&[String]) -> ExitCode);

/// Plays the role that these arguments ask for, and says how it ended; `None`: they ask for none of these.
/// of these.
///
/// It must be called before anything else in `main`: what stands before it runs in every role.
pub fn play(tables: &[&[Role]], args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    let name = args.next()?;
    let (_, play) = tables.iter().copied().flatten().find(|(role, _)| name == *role)?;
    let rest: Vec<String> = args.map(|word| word.to_string_lossy().into_owned()).collect();
    Some(play(&rest))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    const TABLES: [&[Role]; 2] = [
        &[("__one", |_| ExitCode::from(1))],
        &[("__count", |rest| ExitCode::from(rest.len() as u8))],
    ];

    fn played(words: &[&str]) -> Option<ExitCode> {
        play(&TABLES, ["program"].iter().chain(words).map(OsString::from))
    }

    #[test]
    fn the_first_argument_names_the_role() {
        assert_eq!(played(&["__one"]), Some(ExitCode::from(1)));
        assert_eq!(played(&["__count", "a", "b"]), Some(ExitCode::from(2)));
        assert_eq!(played(&["__none"]), None);
        assert_eq!(played(&["a", "__one"]), None);
        assert_eq!(played(&[]), None);
    }

    #[test]
    fn arguments_need_not_be_text() {
        let odd = OsString::from_vec(vec![0xff]);
        assert_eq!(play(&TABLES, ["program".into(), odd]), None);
    }
}
