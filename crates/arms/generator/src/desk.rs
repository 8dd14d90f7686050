//! Room to read into.

use model::Nanos;

use crate::socket;
use crate::socket_timestamps::stamp_room;

/// What all connections of a thread read with.
pub struct Desk {
    /// What came.
    pub buffer: Vec<u8>,
    /// What is said in what was hidden.
    pub plain: Vec<u8>,
    /// The kernel's words about it.
    pub control: Vec<u8>,
    /// A stamp of what went.
    pub stamps: Vec<u8>,
    /// What must be taken from a kernel's stamp to have it on the run's clock.
    pub realtime_lead: Nanos,
}

impl Default for Desk {
    fn default() -> Desk {
        Desk {
            buffer: vec![0; 64 << 10],
            plain: Vec::new(),
            control: socket::control_room(),
            stamps: stamp_room(),
            realtime_lead: Nanos::ZERO,
        }
    }
}
