//! What the guest's init is told, by a file of the initramfs.

use serde::{Deserialize, Serialize};

/// Where init is in the guest.
pub const INIT: &str = "/rearguard/init";
/// Where its order is.
pub const ORDER: &str = "/rearguard/order.json";
/// The name of the port to the host.
pub const PORT: &str = "rearguard";

/// The order.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The command and its arguments; empty: nothing but to boot.
    pub command: Vec<String>,
    /// Kernel modules to load first, in order.
    pub modules: Vec<String>,
    /// Files and folders to bring back.
    pub get: Vec<String>,
}
