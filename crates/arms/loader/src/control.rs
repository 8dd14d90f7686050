//! Changes to a scheduler in force: one question of root's on the loader's own socket, one answer, a line of
//! JSON each.

use std::io::{BufReader, ErrorKind, Result, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use model::Failure;
use serde::{Deserialize, Serialize};

use crate::client::line;

/// Where a loader listens that takes promises; its folder is the loader's alone.
pub const CONTROL: &str = "/run/rearguard/control";
/// CPUs that are added to the machine have the policy loaded again, which takes seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// Twice what 256 promises take.
const LONGEST_ANSWER: u64 = 1 << 18;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// A promise as `--promise` has it, in place of what the group was promised before.
    Set(String),
    /// No promise to this group any more.
    Drop(String),
    /// How all of them are kept.
    List,
}

/// What the loader answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What was done, in words.
    Done(String),
    /// All promises.
    Promises(Vec<PromiseStatus>),
    /// Nothing was changed: the exit code, and why.
    Refused(u8, String),
}

/// A promise, and how it was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromiseStatus {
    /// The cgroup or unit, as it was named.
    pub group: String,
    /// Within how long of a wake-up its threads shall be served.
    pub within_ns: u64,
    /// The share of wake-ups that may be later, 0 to 1.
    pub outliers: f64,
    /// The share of all CPUs that it allows, 0 to 1.
    pub at_most: f64,
    /// Whether the cgroup is there, and the promise in force.
    pub present: bool,
    /// How long what follows was counted.
    pub span_s: f64,
    /// Wake-ups that were served.
    pub wakes: u64,
    /// Of these, later.
    pub late: u64,
    /// The share of all CPUs that it has used of its budget, while others waited, 0 to 1.
    pub budget_used: f64,
}

impl PromiseStatus {
    /// The share of wake-ups that were late; unknown while there was none.
    pub fn late_share(&self) -> Option<f64> {
        (self.wakes > 0).then(|| self.late as f64 / self.wakes as f64)
    }
}

impl Answer {
    /// A refusal.
    pub fn refused(failure: &Failure) -> Answer {
        Answer::Refused(failure.exit_code(), failure.to_string())
    }
}

/// Asks the loader. [`Failure::Machine`] where none listens, or it is another user's; else what it says.
pub fn ask(ask: &Ask) -> std::result::Result<Answer, Failure> {
    let stream = UnixStream::connect(CONTROL).map_err(|error| absent(error.kind()))?;
    let answer = exchange(stream, ask).map_err(|error| {
        Failure::Run(format!("the loader at {CONTROL} is gone, or does not answer: {error}"))
    })?;
    match answer {
        Answer::Refused(code, why) => Err(Failure::of(code, why)),
        done => Ok(done),
    }
}

fn exchange(mut stream: UnixStream, ask: &Ask) -> Result<Answer> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&[serde_json::to_vec(ask)?, b"\n".to_vec()].concat())?;
    Ok(serde_json::from_slice(&line(BufReader::new(stream), LONGEST_ANSWER)?)?)
}

fn absent(why: ErrorKind) -> Failure {
    let loaded = sched_ext::loaded().ok().flatten();
    Failure::Machine(match loaded {
        _ if why == ErrorKind::PermissionDenied => {
            format!("{CONTROL} is not for this user: run it with sudo")
        }
        Some(name) => format!(
            "the scheduler `{name}` takes no promises: load it with `sudo rearguard load --promises`"
        ),
        None => "no scheduler is loaded that could keep promises: `sudo rearguard load --promises`, then this in another \
                 terminal"
            .into(),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::thread;

    use super::*;

    #[test]
    fn a_question_is_a_line_and_so_is_the_answer() {
        let kept = PromiseStatus {
            group: "web.service".into(),
            within_ns: 10_000_000,
            outliers: 0.001,
            at_most: 0.6,
            present: true,
            span_s: 1.5,
            wakes: 4_000,
            late: 1,
            budget_used: 0.31,
        };
        assert_eq!(kept.late_share(), Some(0.00025));
        let said = Answer::Promises(vec![kept]);
        let text = serde_json::to_string(&said).expect("numbers and names") + "\n";
        for (answer, expected) in [(&*text, Some(said)), ("\"noise\"\n", None), ("", None)] {
            let (client, mut loader) = UnixStream::pair().expect("sockets");
            let got = thread::scope(|scope| {
                scope.spawn(move || {
                    let mut question = [0; 7];
                    loader.read_exact(&mut question).expect("a question");
                    assert_eq!(&question, b"\"list\"\n");
                    loader.write_all(answer.as_bytes()).expect("it reads");
                });
                exchange(client, &Ask::List)
            });
            assert_eq!(got.ok(), expected, "{answer}");
        }
    }

    #[test]
    fn where_none_listens_the_remedy_is_named() {
        let said = absent(ErrorKind::NotFound);
        assert!(said.exit_code() == 3 && said.to_string().contains("load --promises"), "{said}");
        let said = absent(ErrorKind::PermissionDenied);
        assert!(said.exit_code() == 3 && said.to_string().contains("sudo"), "{said}");
    }
}
