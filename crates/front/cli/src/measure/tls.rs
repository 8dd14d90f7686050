//! The options of `rearguard measure` that say which servers are believed.

use std::path::PathBuf;

use ::measure::tls::{TlsOptions, Trust, certificates};
use model::Failure;

use crate::files::content;

/// Bytes of a file of certificates at most.
const LONGEST: usize = 16 << 20;

/// By whose word a server is believed.
#[derive(clap::Args)]
pub struct TlsArgs {
    /// With https://, rediss:// and +tls, the file of the certificates (PEM) by which a server is believed
    /// [default: this machine's]
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub cacert: Option<PathBuf>,
    /// With https://, rediss:// and +tls, believe any certificate
    #[arg(long)]
    insecure: bool,
    /// With https://, rediss:// and +tls, the name that the server's certificate is to have [default: the
    /// target's host]
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,
}

impl TlsArgs {
    /// What they say, with what stands in files.
    pub fn options(&self) -> Result<TlsOptions, Failure> {
        let trust = match &self.cacert {
            None if self.insecure => Trust::Anyone,
            None => Trust::System,
            Some(path) => {
                let option = format!("--cacert {}", path.display());
                let certificates = certificates(&content(&option, path, LONGEST)?)
                    .map_err(|why| Failure::Input(format!("{option}: {why}")))?;
                Trust::File { name: path.display().to_string(), certificates }
            }
        };
        Ok(TlsOptions { trust, server_name: self.server_name.clone() })
    }
}
