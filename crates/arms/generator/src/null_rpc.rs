//! The null RPC of Tales section 3.1.1: messages of fixed lengths, of which the server stamps its own.

use crate::protocol::{Answer, Ask, Protocol, ReceivedBytes, Verdict};
use crate::wire::{NullAsk, Stamps};

/// Room for an identity and the stamps.
pub const LEAST_BYTES: usize = 64;

/// The protocol, with its messages' lengths.
#[derive(Clone, Copy, Debug)]
pub struct NullRpc {
    /// Bytes of a request, at least [`LEAST_BYTES`].
    pub request_bytes: usize,
    /// Bytes of a response, at least [`LEAST_BYTES`].
    pub response_bytes: usize,
}

impl Protocol for NullRpc {
    fn encode(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        let begin = out.len();
        out.resize(begin + self.request_bytes, 0);
        NullAsk { id: ask.id, service: ask.planned.service }.encode(&mut out[begin..]);
    }

    fn decode(&mut self, ask: &Ask, received: &ReceivedBytes) -> Verdict {
        if received.bytes.len() < self.response_bytes {
            return Verdict::More(self.response_bytes);
        }
        let stamps = Stamps::decode(received.bytes);
        if stamps.id != ask.id {
            return Verdict::Garbage;
        }
        let answer = Answer { stamps: Some(stamps), ..Answer::default() };
        Verdict::of_length(received, self.response_bytes, answer)
    }
}
