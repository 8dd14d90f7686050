//! The loader's own socket, at which root changes a policy in force: one question a connection, answered by
//! the loop that watches the policy.

use std::fs;
use std::io::{Error, Read, Result, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use loader::{Answer, Ask, CONTROL};
use model::Failure;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::geteuid;

/// How long a client may take to ask, and to read the answer. Others wait meanwhile, the policy does not.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest path of a cgroup, its promise, and their quotes.
const LONGEST: usize = 8 << 10;

/// A question, and where its answer goes.
type Asked = (Ask, Sender<Answer>);

/// Takes questions until it is dropped.
pub struct Control {
    asked: Receiver<Asked>,
    socket: PathBuf,
}

impl Control {
    /// Opens the socket, in place of one that a killed loader left: the kernel holds one scheduler at a time,
    /// so it is called by the loader of the one in force.
    pub fn open() -> std::result::Result<Control, Failure> {
        Control::at(Path::new(CONTROL)).map_err(|error| {
            Failure::Machine(format!(
                "cannot take promises at {CONTROL}: {error}; run it with sudo, or make that folder this user's own"
            ))
        })
    }

    fn at(socket: &Path) -> Result<Control> {
        own_folder(socket.parent().unwrap_or(Path::new("/")))?;
        let _ = fs::remove_file(socket);
        let listener = UnixListener::bind(socket)?;
        fs::set_permissions(socket, fs::Permissions::from_mode(0o600))?;
        let (questions, asked) = bounded(0);
        thread::spawn(move || listen(&listener, &questions));
        Ok(Control { asked, socket: socket.to_path_buf() })
    }

    /// Has the questions answered that wait.
    pub fn serve(&self, mut answer: impl FnMut(&Ask) -> Answer) {
        while let Ok((ask, to)) = self.asked.try_recv() {
            // A client that has gone needs no answer.
            let _ = to.send(answer(&ask));
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.socket);
    }
}

/// A folder that no other user may look into.
fn own_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != geteuid().as_raw() {
        return Err(Error::other(format!("{} belongs to another user", folder.display())));
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

/// One client after the other, until the loader is gone.
fn listen(listener: &UnixListener, questions: &Sender<Asked>) {
    for client in listener.incoming() {
        let Ok(client) = client else {
            sleep(PATIENCE); // out of descriptors, perhaps
            continue;
        };
        let answer = match question(&client).map(|ask| pass_on(ask, questions)) {
            Ok(Some(answer)) => answer,
            Ok(None) => return,
            Err(failure) => Answer::refused(&failure),
        };
        // It may have hung up.
        let _ = reply(&client, &answer);
    }
}

/// What a client of this user's or root's asks for.
fn question(client: &UnixStream) -> std::result::Result<Ask, Failure> {
    let user = getsockopt(client, PeerCredentials).map(|of| of.uid());
    if !user.is_ok_and(|user| user == 0 || user == geteuid().as_raw()) {
        return Err(Failure::Machine("promises are for root to make".into()));
    }
    let line = line(client, Instant::now() + PATIENCE);
    let ask = line.and_then(|line| Ok(serde_json::from_slice(&line)?));
    ask.map_err(|error| Failure::Input(format!("no question: {error}")))
}

/// The answer of the loop that watches; `None`: it has ended.
fn pass_on(ask: Ask, questions: &Sender<Asked>) -> Option<Answer> {
    let (to, answer) = bounded(1);
    questions.send((ask, to)).ok()?;
    answer.recv().ok()
}

fn reply(mut client: &UnixStream, answer: &Answer) -> Result<()> {
    client.set_write_timeout(Some(PATIENCE))?;
    client.write_all(&[serde_json::to_vec(answer)?, b"\n".to_vec()].concat())
}

/// A line that has come by then.
fn line(mut client: &UnixStream, until: Instant) -> Result<Vec<u8>> {
    let (mut line, mut bytes) = (Vec::new(), [0; 512]);
    while line.last() != Some(&b'\n') {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || line.len() > LONGEST {
            return Err(Error::other("it has no end"));
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut bytes)? {
            0 => return Err(Error::other("it hung up")),
            read => line.extend(&bytes[..read]),
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;
    use std::io::BufReader;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn opened() -> (tempfile::TempDir, PathBuf, Control) {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("own/control");
        let control = Control::at(&socket).expect("a socket");
        (folder, socket, control)
    }

    /// What a client gets that says something.
    fn said(socket: &Path, text: &str) -> String {
        let mut client = UnixStream::connect(socket).expect("it listens");
        let _hung_up = client.write_all(text.as_bytes());
        let mut answer = String::new();
        let _hung_up = BufReader::new(client).read_line(&mut answer);
        answer
    }

    /// What `asks` makes of a control that answers each question with its own words.
    fn served<T>(control: &Control, asks: impl FnOnce() -> T) -> T {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    control.serve(|ask| Answer::Done(format!("{ask:?}")));
                    sleep(Duration::from_millis(1));
                }
            });
            let asked = asks();
            over.store(true, Ordering::Relaxed);
            asked
        })
    }

    #[test]
    fn a_question_is_answered_and_what_is_none_is_refused() {
        let (_folder, socket, control) = opened();
        served(&control, || {
            assert_eq!(said(&socket, "\"list\"\n"), "{\"done\":\"List\"}\n");
            assert_eq!(said(&socket, "{\"drop\":\"a\"}\n"), "{\"done\":\"Drop(\\\"a\\\")\"}\n");
            for bad in ["noise\n", "{\"drop\":7}\n", &"x".repeat(LONGEST + 513)] {
                assert!(said(&socket, bad).starts_with("{\"refused\":[2,"), "{bad:.10}");
            }
        });
    }

    #[test]
    fn a_silent_client_delays_others_shortly() {
        let (_folder, socket, control) = opened();
        let _silent = UnixStream::connect(&socket).expect("it listens");
        let begin = Instant::now();
        served(&control, || assert!(said(&socket, "\"list\"\n").contains("List")));
        assert!(begin.elapsed() < 2 * PATIENCE, "{:?}", begin.elapsed());
        control.serve(|_| unreachable!("no question waits, and none is waited for"));
    }

    #[test]
    fn it_is_this_users_alone_and_goes_with_its_loader() {
        let (folder, socket, control) = opened();
        let mode = |path: &Path| fs::metadata(path).map(|found| found.mode() & 0o777).ok();
        assert_eq!((mode(&folder.path().join("own")), mode(&socket)), (Some(0o700), Some(0o600)));
        // As a killed loader leaves it.
        std::mem::forget(control);
        drop(Control::at(&socket).expect("in its place"));
        assert_eq!(mode(&socket), None);
        let file = folder.path().join("file");
        fs::write(&file, "").expect("a file");
        assert!(Control::at(&file.join("control")).is_err(), "no folder");
    }
}
