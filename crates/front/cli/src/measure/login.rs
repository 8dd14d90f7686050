//! Where the password of a target comes from, if it is not in the target.

use std::path::PathBuf;

use ::measure::{Secret, Target};
use model::Failure;

use crate::files::text_of;

/// Other users see a command line and not an environment.
const VARIABLE: &str = "REARGUARD_PASSWORD";
/// Bytes of a password's file at most.
const LONGEST: usize = 64 << 10;

/// Who asks.
#[derive(clap::Args)]
pub struct LoginArgs {
    /// With redis:// and postgresql://, the file of the password that is not in the URL, where other users
    /// see it [default: the environment's REARGUARD_PASSWORD]
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
}

impl LoginArgs {
    /// The target with its password. [`Failure::Input`] for a file where the protocol takes none.
    pub fn log_in(&self, target: Target) -> Result<Target, Failure> {
        match &self.password_file {
            None if !target.takes_login() => Ok(target),
            Some(_) if !target.takes_login() => Err(Failure::Input(format!(
                "--password-file: {} takes no password here",
                target.scheme
            ))),
            _ => target.with_password(self.password()?),
        }
    }

    /// The password, without a file's last line break.
    fn password(&self) -> Result<Option<Secret>, Failure> {
        let Some(path) = &self.password_file else {
            let said = std::env::var_os(VARIABLE).map(|said| said.into_string());
            return said
                .transpose()
                .map(|said| said.map(Secret::new))
                .map_err(|_| Failure::Input(format!("{VARIABLE}: no UTF-8")));
        };
        let text = text_of(&format!("--password-file {}", path.display()), path, LONGEST)?;
        let text = text.strip_suffix('\n').unwrap_or(&text);
        Ok(Some(Secret::new(text.strip_suffix('\r').unwrap_or(text).to_string())))
    }
}
