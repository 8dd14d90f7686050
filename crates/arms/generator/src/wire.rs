//! The null RPC: what a request and a response carry in their first bytes.
//!
//! As in Tales section 3.3.1, the stamps travel in the response itself, so the server keeps no log. The rest
//! of a message, up to the scenario's size, is padding.

use model::Nanos;

/// The head of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NullAsk {
    /// Its place among the requests of its service.
    pub id: u64,
    /// The CPU time that it asks for.
    pub service: Nanos,
}

/// The head of a response: what the server's thread saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps {
    /// The request's id again.
    pub id: u64,
    /// T4: the read has returned.
    pub started: Nanos,
    /// T5: the write is about to be called.
    pub completed: Nanos,
    /// The thread's CPU time between the two.
    pub cpu: Nanos,
    /// The thread, by the kernel's id.
    pub thread: u32,
}

impl NullAsk {
    /// Writes the head of a message.
    pub fn encode(self, message: &mut [u8]) {
        put(message, [self.id, self.service.0]);
    }

    /// Reads the head of a message.
    pub fn decode(message: &[u8]) -> NullAsk {
        let [id, service] = take(message);
        NullAsk { id, service: Nanos(service) }
    }
}

impl Stamps {
    /// Writes the head of a message.
    pub fn encode(self, message: &mut [u8]) {
        let Stamps { id, started, completed, cpu, thread } = self;
        put(message, [id, started.0, completed.0, cpu.0, thread.into()]);
    }

    /// Reads the head of a message.
    pub fn decode(message: &[u8]) -> Stamps {
        let [id, started, completed, cpu, thread] = take(message);
        let [started, completed, cpu] = [started, completed, cpu].map(Nanos);
        Stamps { id, started, completed, cpu, thread: thread as u32 }
    }
}

fn put<const N: usize>(message: &mut [u8], words: [u64; N]) {
    for (place, word) in message.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

fn take<const N: usize>(message: &[u8]) -> [u64; N] {
    std::array::from_fn(|i| {
        u64::from_le_bytes(message[8 * i..][..8].try_into().expect("eight bytes"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_survive_the_wire_in_the_smallest_message() {
        let mut message = [0; 64];
        let ask = NullAsk { id: 7, service: Nanos(500_000) };
        ask.encode(&mut message);
        assert_eq!(NullAsk::decode(&message), ask);
        let stamps = Stamps {
            id: u64::MAX,
            started: Nanos(1),
            completed: Nanos(1 << 40),
            cpu: Nanos(3),
            thread: u32::MAX,
        };
        stamps.encode(&mut message);
        assert_eq!(Stamps::decode(&message), stamps);
    }
}
