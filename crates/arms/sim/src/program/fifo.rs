//! First-come queues of things that wait in one queue at a time, such as connections: links in one table, no
//! allocation.

/// Marks the end of a queue.
const NONE: u32 = u32::MAX;

/// For each thing the one behind it.
pub struct Links(Vec<u32>);

impl Links {
    /// Links for so many things, numbered from 0.
    pub fn new(things: u32) -> Links {
        Links(vec![NONE; things as usize])
    }
}

/// A queue over a table of [`Links`].
#[derive(Clone, Copy)]
pub struct Fifo {
    head: u32,
    tail: u32,
}

impl Fifo {
    /// An empty queue.
    pub const EMPTY: Fifo = Fifo { head: NONE, tail: NONE };

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// Puts a thing that is in no queue at the end.
    pub fn push(&mut self, links: &mut Links, thing: u32) {
        links.0[thing as usize] = NONE;
        if self.is_empty() {
            self.head = thing;
        } else {
            links.0[self.tail as usize] = thing;
        }
        self.tail = thing;
    }

    /// The first; `None`: nothing waits.
    pub fn first(&self) -> Option<u32> {
        (!self.is_empty()).then_some(self.head)
    }

    /// Takes the first out.
    pub fn pop(&mut self, links: &Links) -> Option<u32> {
        let first = self.first()?;
        self.head = links.0[first as usize];
        Some(first)
    }
}
