//! Every sub-request to k servers at once, the quickest answer counts (10-ms computing section V.B; Vulimiri
//! et al. 2012).
//!
//! A gain only while the k-fold load leaves the queues short: from 1 / k of the capacity on there is no
//! stable queue at all, unless copies are cancelled.

use super::{Cancel, Rule};

pub(super) struct Replicate {
    pub copies: u32,
    pub cancel: Cancel,
}

impl Rule for Replicate {
    fn at_once(&self) -> u32 {
        self.copies
    }

    fn answer_cancels(&self) -> Cancel {
        self.cancel
    }
}
