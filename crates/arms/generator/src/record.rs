//! What became of a request.

use model::Nanos;
use model::workload::Planned;

use crate::protocol::Ask;
use crate::socket_timestamps::SocketTimestamps;
use crate::wire::Stamps;

/// A request as the client knows it. Moments count from the start of the run; [`Nanos::NEVER`]: it did not
/// come.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Its place among the requests of its client, by which a protocol draws what it asks for.
    pub id: u32,
    /// When it should be sent and what it asks for.
    pub planned: Planned,
    /// The first moment at which it could be sent: its intended one, or later when a connection became free
    /// for it.
    pub ready: Nanos,
    /// When it was sent.
    pub sent: Nanos,
    /// What the server wrote into the response.
    pub stamps: Option<Stamps>,
    /// When the response was back on this side, by the kernel's stamp.
    pub received: Nanos,
    /// Why there is no response.
    pub loss: Option<Loss>,
    /// What was wrong with the response, though it was one.
    pub complaint: Option<&'static str>,
    /// Where it was in its connection's bytes, once it was answered.
    pub place: Option<Place>,
    /// When it passed the client's kernel, once it was answered, and where that was asked for.
    pub timestamps: Option<SocketTimestamps>,
}

/// A request and its response as bytes of their connection; on datagrams, as datagrams of their socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The client's port.
    pub port: u16,
    /// What had been asked with the request's last byte.
    pub request_end: u64,
    /// What had been answered before the response's first byte.
    pub answer_begin: u64,
    /// What had been answered with its last.
    pub answer_end: u64,
}

/// Why a request has no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// Nothing came in time.
    Silent,
    /// The run ended before its time was over.
    InFlight,
    /// A part of a response came and then nothing more, or the end of the connection.
    Half,
    /// The server closed the connection before it answered.
    Closed,
    /// The connection was reset, or the address refused the datagram.
    Reset,
    /// What came was no response.
    Garbage,
    /// It was never sent: no connection was free in time.
    Unsent,
}

impl Loss {
    /// All of them.
    pub const ALL: [Loss; 7] = [
        Loss::Silent,
        Loss::InFlight,
        Loss::Half,
        Loss::Closed,
        Loss::Reset,
        Loss::Garbage,
        Loss::Unsent,
    ];

    /// The word for it in results.
    pub fn word(self) -> &'static str {
        match self {
            Loss::Silent => "silent",
            Loss::InFlight => "in flight",
            Loss::Half => "half",
            Loss::Closed => "closed",
            Loss::Reset => "reset",
            Loss::Garbage => "garbage",
            Loss::Unsent => "unsent",
        }
    }
}

impl Record {
    /// The first request of its client, whose moment has not come.
    pub fn new(planned: Planned) -> Record {
        let never = Nanos::NEVER;
        Record {
            id: 0,
            planned,
            ready: never,
            sent: never,
            stamps: None,
            received: never,
            loss: None,
            complaint: None,
            place: None,
            timestamps: None,
        }
    }

    /// All requests of a client, whose moments have not come.
    pub(crate) fn numbered(requests: &[Planned]) -> Vec<Record> {
        let numbers = (0..).zip(requests);
        numbers.map(|(id, planned)| Record { id, ..Record::new(*planned) }).collect()
    }

    /// What its protocol draws from.
    pub fn ask(&self) -> Ask {
        Ask { id: u64::from(self.id), planned: self.planned }
    }

    /// The record with its moments, which are on CLOCK_MONOTONIC, counted from `start`.
    pub(crate) fn since(mut self, start: Nanos) -> Record {
        let stamps = self.stamps.iter_mut().flat_map(|s| [&mut s.started, &mut s.completed]);
        let passed = self.timestamps.iter_mut().flat_map(SocketTimestamps::moments);
        let own = [&mut self.ready, &mut self.sent, &mut self.received];
        for moment in own.into_iter().chain(stamps).chain(passed) {
            if *moment != Nanos::NEVER {
                *moment = moment.saturating_sub(start);
            }
        }
        self
    }

    /// From the intended moment to the response; [`Nanos::NEVER`] without one.
    pub fn latency(&self) -> Nanos {
        if self.received == Nanos::NEVER {
            return Nanos::NEVER;
        }
        self.received.saturating_sub(self.planned.intended)
    }

    /// How much later it was sent than it could be; `None`: it never was.
    pub fn lag(&self) -> Option<Nanos> {
        (self.sent != Nanos::NEVER).then(|| self.sent.saturating_sub(self.ready))
    }
}
