//! The options of `rearguard measure` that say what a web server is asked.

use std::path::Path;

use ::measure::protocol::http::{Header, HttpOptions, LONGEST_BODY, Method, Statuses};
use model::Failure;

use crate::files::{content, header_lines};

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
    /// Files that they name.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let texts = self.header.iter().chain(&self.body);
        texts.filter_map(|text| text.strip_prefix('@')).map(Path::new)
    }

    /// What they say, with what stands in files.
    pub fn options(&self) -> Result<HttpOptions, Failure> {
        let lines = header_lines("--header", &self.header)?;
        let headers = lines.iter().map(|line| line.parse()).collect::<Result<Vec<Header>, _>>()?;
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
