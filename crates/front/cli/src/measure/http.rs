//! The options of `rearguard measure` that say what a web server is asked.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ::measure::protocol::http::{Header, HttpOptions, LONGEST_BODY, Method, Statuses};
use model::Failure;

/// Bytes of a file of headers at most.
const LONGEST_HEADERS: usize = 64 << 10;

/// What HTTP requests are made of.
#[derive(clap::Args)]
pub struct HttpArgs {
    /// With http://, the method [default: GET, or POST with --body]
    #[arg(long, value_name = "NAME")]
    method: Option<Method>,
    /// With http://, a header (repeatable); @FILE: those of a file, a line each, which other users cannot see
    #[arg(long, value_name = "NAME: VALUE|@FILE")]
    header: Vec<String>,
    /// With http://, the body of each request, or @FILE
    #[arg(long, value_name = "TEXT|@FILE")]
    body: Option<String>,
    /// With h2://, h2c://, grpc:// and grpcs://, requests at a time over a connection, as far as the server
    /// takes as many [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    streams: Option<u32>,
    /// With http://, the statuses that are wanted, such as 201 or 2xx,404 [default: 2xx]
    #[arg(long, value_name = "STATUS,...")]
    expect_status: Option<Statuses>,
}

impl HttpArgs {
    /// What they say, with what stands in files.
    pub fn options(&self) -> Result<HttpOptions, Failure> {
        let mut headers: Vec<Header> = Vec::new();
        for text in &self.header {
            let lines = match text.strip_prefix('@') {
                Some(path) => {
                    text_of(&format!("--header {text}"), Path::new(path), LONGEST_HEADERS)?
                }
                None => text.clone(),
            };
            let lines = lines.lines().filter(|line| !line.is_empty());
            headers.extend(lines.map(str::parse).collect::<Result<Vec<Header>, _>>()?);
        }
        let body = self.body.as_ref().map(|text| match text.strip_prefix('@') {
            Some(path) => content(&format!("--body {text}"), Path::new(path), LONGEST_BODY),
            None => Ok(text.as_bytes().to_vec()),
        });
        Ok(HttpOptions {
            method: self.method.clone(),
            headers,
            body: body.transpose()?,
            expected: self.expect_status.clone(),
            streams: self.streams,
        })
    }
}

/// [`content`] of a file of text.
pub fn text_of(option: &str, path: &Path, most: usize) -> Result<String, Failure> {
    let text = String::from_utf8(content(option, path, most)?);
    text.map_err(|_| Failure::Input(format!("{option}: no UTF-8")))
}

/// A file that an option names, of so many bytes at most.
pub fn content(option: &str, path: &Path, most: usize) -> Result<Vec<u8>, Failure> {
    let wrong = |why: String| Failure::Input(format!("{option}: {why}"));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let read = file.take(most as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| wrong(error.to_string()))?;
    if bytes.len() > most {
        return Err(wrong(format!("longer than {} KiB", most >> 10)));
    }
    Ok(bytes)
}
