//! A watcher of the policy in force, in the protocol of scx_stats: a JSON object a line, there and back.

use std::io::{BufRead, BufReader, Error, Result, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use model::Failure;
use serde::Deserialize;

use crate::report::Report;

/// Where scx_stats and its tools look for a scheduler's statistics.
pub const SOCKET: &str = "/var/run/scx/root/stats";
/// A loader that has stopped answering is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Twice what 65,535 processes and 4,095 groups take.
const LONGEST_ANSWER: u64 = 64 << 20;
const QUESTION: &[u8] = b"{\"req\":\"stats\",\"args\":{}}\n";

/// A watcher of the policy in force.
pub struct Client(BufReader<UnixStream>);

#[derive(Deserialize)]
struct Answer {
    errno: i32,
    args: Arguments,
}

#[derive(Deserialize)]
struct Arguments {
    resp: serde_json::Value,
}

impl Client {
    /// [`Failure::Machine`] where no policy of ours is loaded, or its socket is not for this user.
    pub fn connect() -> std::result::Result<Client, Failure> {
        Client::to(SOCKET).map_err(|_| {
            Failure::Machine(format!(
                "nothing to watch at {SOCKET}: put a policy into force with `sudo rearguard load`, and watch as the same user"
            ))
        })
    }

    fn to(path: &str) -> Result<Client> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Client(BufReader::new(stream)))
    }

    /// What happened since the last question; takes a quarter of a second at least.
    pub fn report(&mut self) -> std::result::Result<Report, Failure> {
        self.ask().map_err(|error| {
            Failure::Run(format!(
                "the scheduler at {SOCKET} is gone, or is not one of ours: {error}"
            ))
        })
    }

    fn ask(&mut self) -> Result<Report> {
        self.0.get_mut().write_all(QUESTION)?;
        let line = line(&mut self.0, LONGEST_ANSWER)?;
        let Answer { errno, args } = serde_json::from_slice(&line)?;
        if errno != 0 {
            return Err(Error::other(format!("it answers {}", args.resp)));
        }
        Ok(serde_json::from_value(args.resp)?)
    }
}

/// One line, which may have so many bytes.
pub(crate) fn line(from: impl BufRead, longest: u64) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    from.take(longest).read_until(b'\n', &mut line)?;
    match line.last() {
        Some(b'\n') => Ok(line),
        Some(_) if line.len() as u64 == longest => Err(Error::other("its answer has no end")),
        _ => Err(Error::other("it hung up")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// What a client makes of an answer.
    fn answered(answer: &str) -> Result<Report> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("stats");
        let listener = UnixListener::bind(&path).expect("a socket");
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().expect("a client");
                let mut question = [0; QUESTION.len()];
                stream.read_exact(&mut question).expect("a question");
                assert_eq!(question, QUESTION);
                stream.write_all(answer.as_bytes()).expect("it reads");
            });
            Client::to(path.to_str().expect("a name")).expect("it listens").ask()
        })
    }

    #[test]
    fn an_answer_is_a_report_or_says_why_not() {
        let report = Report { scheduler: "rearguard".into(), cpus: 2, ..Report::default() };
        let text = serde_json::to_string(&report).expect("numbers and names");
        let answer =
            |errno, resp: &str| format!("{{\"errno\":{errno},\"args\":{{\"resp\":{resp}}}}}\n");
        assert_eq!(answered(&answer(0, &text)).expect("well formed"), report);
        for wrong in [&answer(22, "\"no\""), &answer(0, "7"), "noise\n", "{\"errno\"", ""] {
            answered(wrong).unwrap_err();
        }
    }

    #[test]
    fn an_answer_without_end_is_not_kept() {
        assert_eq!(line(&b"abc\nd"[..], 4).expect("a line"), b"abc\n");
        let said = line(std::io::BufReader::new(std::io::repeat(b'x')), 1 << 20).unwrap_err();
        assert!(said.to_string().contains("no end"), "{said}");
    }
}
