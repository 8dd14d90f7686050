//! What is turned now, and by whom.

use model::{Failure, printable};
use serde::Serialize;

use crate::journal::{Journal, Purpose, Session, Unwritten};
use crate::machine::{Machine, OF_ROOT, OF_USERS};
use crate::platform::Platform;

/// What [`Status::schema`] says.
const SCHEMA: &str = "rearguard.tuned/1";

/// Characters of another user's words at most.
const LONGEST_WORDS: usize = 500;

/// All that `tune undo` would turn back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The format.
    pub schema: &'static str,
    /// The oldest first.
    pub sessions: Vec<Turned>,
    /// What only others can turn back.
    pub others: Vec<Other>,
}

/// One `tune apply`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turned {
    /// What was asked for.
    pub asked: String,
    /// Whether a reboot has ended it since.
    pub rebooted: bool,
    /// Its changes that are not undone.
    pub changes: Vec<Change>,
}

/// One value that was changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Whose.
    pub target: String,
    /// What the undo restores.
    pub before: String,
    /// What it got.
    pub after: String,
    /// What it is; `None`: it cannot be read, or is gone.
    pub now: Option<String>,
}

/// What another user has turned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Other {
    /// The user.
    pub user: String,
    /// What was asked for, the oldest first.
    pub asked: Vec<String>,
}

/// Looks, and changes nothing.
pub fn status(machine: &Machine) -> Result<Status, Failure> {
    let boot = machine.journal().boot()?;
    let sessions = tuned(&machine.journal())?;
    let sessions = sessions.iter().map(|session| turned(machine.on(), session, &boot)).collect();
    Ok(Status { schema: SCHEMA, sessions, others: others(machine) })
}

/// What users whose journals lie at the usual places have turned, as far as this one may read them. To be
/// asked without the lock: their file systems may be slow.
pub fn others(machine: &Machine) -> Vec<Other> {
    let on = machine.on();
    let homes = on.list("/home").unwrap_or_default();
    let of_users = homes.into_iter().map(|user| {
        let folder = format!("/home/{user}/{OF_USERS}");
        (user, folder)
    });
    let all = [("root".to_string(), OF_ROOT.to_string())].into_iter().chain(of_users);
    let other = |(user, folder): (String, String)| {
        let unwritten = Unwritten::default();
        let journal = Journal::new(on, &folder, &unwritten);
        let boot = journal.boot().ok()?;
        let headers = journal.headers_of_another().into_iter();
        let live = headers.filter(|one| one.purpose == Purpose::Tune && one.boot == boot);
        let asked: Vec<String> = live.map(|header| fit(&header.asked)).collect();
        (!asked.is_empty()).then(|| Other { user: fit(&user), asked })
    };
    all.filter(|(_, folder)| folder != machine.state()).filter_map(other).collect()
}

/// Words of another user, fit for a terminal.
fn fit(text: &str) -> String {
    printable(text).chars().take(LONGEST_WORDS).collect()
}

/// The sessions of `tune apply`, the oldest first.
pub(super) fn tuned<'a>(journal: &Journal<'a>) -> Result<Vec<Session<'a>>, Failure> {
    let mut sessions = journal.sessions()?;
    sessions.retain(|session| session.header.purpose == Purpose::Tune);
    Ok(sessions)
}

fn turned(on: &dyn Platform, session: &Session, boot: &str) -> Turned {
    let live = session.entries.iter().filter(|entry| !entry.undone);
    let change = live.map(|entry| Change {
        target: entry.target.to_string(),
        before: entry.before.clone(),
        after: entry.after().to_string(),
        now: entry.target.read(on).ok().flatten(),
    });
    Turned {
        asked: session.header.asked.clone(),
        rebooted: session.header.boot != boot,
        changes: change.collect(),
    }
}
