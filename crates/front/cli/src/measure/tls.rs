//! The options of `rearguard measure` that say which servers are believed, and what they are shown.

use std::path::{Path, PathBuf};

use ::measure::tls::{Credentials, TlsOptions, Trust, certificates, key};
use model::Failure;

use crate::files::content;

/// Bytes of a file of certificates at most.
const LONGEST: usize = 16 << 20;

/// By whose word a server is believed, and what it is shown.
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
    /// The certificate (PEM) that a server is shown which asks for one, and those that vouch for it
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// The private key (PEM) of --cert [default: in that file]
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
}

impl TlsArgs {
    /// What they say, with what stands in files.
    pub fn options(&self) -> Result<TlsOptions, Failure> {
        let trust = match &self.cacert {
            None if self.insecure => Trust::Anyone,
            None => Trust::System,
            Some(path) => Trust::File {
                name: path.display().to_string(),
                certificates: read("--cacert", path, certificates)?,
            },
        };
        let own = self.cert.as_deref().map(|path| self.own(path)).transpose()?;
        Ok(TlsOptions { trust, server_name: self.server_name.clone(), own })
    }

    fn own(&self, path: &Path) -> Result<Credentials, Failure> {
        let certificates = read("--cert", path, certificates)?;
        let of_key = self.key.as_deref().unwrap_or(path);
        read("--key", of_key, |pem| Credentials::new(certificates, key(pem)?))
    }
}

fn read<T>(
    option: &str,
    path: &Path,
    parse: impl FnOnce(&[u8]) -> Result<T, String>,
) -> Result<T, Failure> {
    let option = format!("{option} {}", path.display());
    let bytes = content(&option, path, LONGEST)?;
    parse(&bytes).map_err(|why| Failure::Input(format!("{option}: {why}")))
}
