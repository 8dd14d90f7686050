//! The bytes of responses that have not ended yet, bounded for all connections of a client together: a server
//! that never ends them must not fill the memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of all responses that wait for their end.
const MOST_BYTES: usize = 256 << 20;
/// What a connection keeps of its buffer from one response to the next.
const KEPT_BYTES: usize = 64 << 10;

/// What all connections of a client may still take.
#[derive(Clone)]
pub struct Room(Arc<AtomicUsize>);

impl Default for Room {
    fn default() -> Room {
        Room(Arc::new(AtomicUsize::new(MOST_BYTES)))
    }
}

/// What has come of one connection's response.
pub struct Incoming {
    bytes: Vec<u8>,
    room: Room,
}

impl Incoming {
    /// Nothing yet.
    pub fn new(room: &Room) -> Incoming {
        Incoming { bytes: Vec::new(), room: room.clone() }
    }

    /// What has come.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds bytes; `false` where there is no room for them.
    pub fn extend(&mut self, more: &[u8]) -> bool {
        let taken = |left: usize| left.checked_sub(more.len());
        let left = self.room.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken);
        if left.is_ok() {
            self.bytes.extend_from_slice(more);
        }
        left.is_ok()
    }

    /// Forgets what has come.
    pub fn clear(&mut self) {
        self.room.0.fetch_add(self.bytes.len(), Ordering::Relaxed);
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_the_room_for_what_has_no_end() {
        let room = Room(Arc::new(AtomicUsize::new(1 << 20)));
        let mut links = [Incoming::new(&room), Incoming::new(&room)];
        let piece = vec![0; 512 << 10];
        assert!(links[0].extend(&piece) && links[1].extend(&piece));
        assert!(!links[0].extend(b"x") && !links[1].extend(b"x"), "all is taken");
        assert_eq!(links[0].bytes().len(), piece.len(), "what was refused is not kept");
        links[0].clear();
        assert!(links[0].bytes.capacity() <= KEPT_BYTES);
        assert!(links[1].extend(b"x"), "room comes back");
    }
}
