//! How a session begins: who asks, for which database, and a password where the server wants one.

use std::io;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use generator::{Greeted, Greeting};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{ErrorFields, Header, Message};
use postgres_protocol::message::frontend;

use crate::secret::Login;

/// Bytes of a message at most.
const LONGEST: i32 = 32 << 10;

/// One session's beginning.
pub struct Hello {
    login: Login,
    database: Option<String>,
    stage: Stage,
}

/// How far it is.
enum Stage {
    /// Nothing was said.
    Silent,
    /// The server knows who asks.
    Named,
    /// SCRAM: it is to say how the password is to be hashed.
    Asked(ScramSha256),
    /// SCRAM: it is to show that it knows the password, too.
    Answered(ScramSha256),
    /// It takes this client.
    Taken,
}

impl Hello {
    /// Before the first word.
    pub fn new(login: Login, database: Option<String>) -> Hello {
        Hello { login, database, stage: Stage::Silent }
    }
}

impl Greeting for Hello {
    fn go_on(&mut self, came: &[u8], say: &mut Vec<u8>) -> Greeted {
        let (mut left, mut out) = (BytesMut::from(came), BytesMut::new());
        let greeted = self.read(&mut left, &mut out);
        say.extend(&out);
        match greeted {
            Ok(()) => Greeted::Waits(came.len() - left.len()),
            Err(Greeted::Done) if !left.is_empty() => Greeted::Garbage,
            Err(end) => end,
        }
    }
}

impl Hello {
    /// Reads all messages that are whole. What ends the greeting is the error.
    fn read(&mut self, left: &mut BytesMut, out: &mut BytesMut) -> Result<(), Greeted> {
        if matches!(self.stage, Stage::Silent) {
            self.begin(out)?;
        }
        while is_sound(left)
            && let Some(message) = Message::parse(left).map_err(|_| Greeted::Garbage)?
        {
            self.take(message, out)?;
        }
        if is_sound(left) { Ok(()) } else { Err(Greeted::Garbage) }
    }

    fn begin(&mut self, out: &mut BytesMut) -> Result<(), Greeted> {
        let user = self.login.user.as_deref().unwrap_or_default();
        let database = self.database.as_deref().unwrap_or(user);
        let said = [("user", user), ("database", database), ("application_name", "rearguard")];
        self.stage = Stage::Named;
        frontend::startup_message(said, out).map_err(|error| self.refused(&error))
    }

    fn take(&mut self, message: Message, out: &mut BytesMut) -> Result<(), Greeted> {
        let stage = std::mem::replace(&mut self.stage, Stage::Taken);
        self.stage = match (stage, message) {
            (Stage::Taken, Message::ReadyForQuery(_)) => return Err(Greeted::Done),
            (_, Message::ErrorResponse(body)) => return Err(self.error(body.fields())),
            (stage, Message::NoticeResponse(_) | Message::ParameterStatus(_)) => stage,
            (Stage::Taken, Message::BackendKeyData(_)) => Stage::Taken,
            (Stage::Named, Message::AuthenticationOk) => Stage::Taken,
            (Stage::Named, message) => self.prove(message, out)?,
            (Stage::Asked(mut scram), Message::AuthenticationSaslContinue(body)) => {
                scram.update(body.data()).map_err(|error| self.refused(&error))?;
                frontend::sasl_response(scram.message(), out)
                    .map_err(|error| self.refused(&error))?;
                Stage::Answered(scram)
            }
            (Stage::Answered(mut scram), Message::AuthenticationSaslFinal(body)) => {
                scram.finish(body.data()).map_err(|error| self.refused(&error))?;
                Stage::Named
            }
            _ => return Err(Greeted::Garbage),
        };
        Ok(())
    }

    /// Says the password as the server wants it.
    fn prove(&self, wanted: Message, out: &mut BytesMut) -> Result<Stage, Greeted> {
        let password = || {
            let password = self.login.password.as_ref().ok_or(Greeted::Refused(
                "it wants a password: --password-file FILE or REARGUARD_PASSWORD".to_string(),
            ))?;
            Ok(password.reveal().as_bytes())
        };
        let mut stage = Stage::Named;
        let said = match wanted {
            Message::AuthenticationCleartextPassword => {
                frontend::password_message(password()?, out)
            }
            Message::AuthenticationMd5Password(body) => {
                let user = self.login.user.as_deref().unwrap_or_default();
                let hash = md5_hash(user.as_bytes(), password()?, body.salt());
                frontend::password_message(hash.as_bytes(), out)
            }
            Message::AuthenticationSasl(body) => {
                let mut known = body.mechanisms().filter(|name| Ok(*name == SCRAM_SHA_256));
                let none = "it wants a SASL mechanism other than SCRAM-SHA-256";
                known.next().ok().flatten().ok_or(Greeted::Refused(none.to_string()))?;
                let scram = ScramSha256::new(password()?, ChannelBinding::unsupported());
                let said = frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), out);
                stage = Stage::Asked(scram);
                said
            }
            Message::AuthenticationGss
            | Message::AuthenticationKerberosV5
            | Message::AuthenticationScmCredential
            | Message::AuthenticationSspi => {
                let why = "it wants another proof than trust, a password, MD5 or SCRAM-SHA-256";
                return Err(Greeted::Refused(why.to_string()));
            }
            _ => return Err(Greeted::Garbage),
        };
        said.map(|()| stage).map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &io::Error) -> Greeted {
        Greeted::Refused(self.login.told(error.to_string().as_bytes()))
    }

    /// The server's words, and its code for them.
    fn error(&self, mut fields: ErrorFields) -> Greeted {
        let (mut words, mut code) = (String::new(), String::new());
        while let Ok(Some(field)) = fields.next() {
            match field.type_() {
                b'M' => words = self.login.told(field.value_bytes()),
                b'C' => code = self.login.told(field.value_bytes()),
                _ => {}
            }
        }
        Greeted::Refused(format!("{words}, SQLSTATE {code}"))
    }
}

/// Whether the next message is as long as those of a greeting: the reader makes room for what it is told.
fn is_sound(left: &[u8]) -> bool {
    Header::parse(left).is_ok_and(|header| header.is_none_or(|header| header.len() <= LONGEST))
}
