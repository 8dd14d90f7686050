//! The policy's state: tables by kind of owner, put back between runs.

use policy_native::{ENTRIES, Owner, POOLS, QUEUES};

/// What a cache writes and reads as one.
const LINE: usize = 64;

struct Table {
    /// In bytes from the arena's begin.
    start: usize,
    /// As the kernel's arrays have it: a multiple of 8, whatever the lines.
    stride: usize,
    rows: usize,
    touched: Vec<bool>,
}

/// All tables, in one arena.
pub struct Memory {
    words: Vec<u64>,
    begin: usize,
    tables: [Table; 8],
    /// Rows that anything has asked for since the last restore.
    touched: Vec<(Owner, usize)>,
    /// What [`Memory::restore`] brings back.
    saved: Vec<(Owner, usize, Vec<u64>)>,
}

impl Memory {
    /// Zeroed tables for types of these sizes.
    pub fn new(sizes: &[u64; 9], threads: usize, groups: usize, cpus: usize) -> Memory {
        let rows = [threads + 1, threads + 1, groups + 1, cpus, QUEUES, POOLS, ENTRIES, 1];
        let mut end = 0;
        let tables = Owner::ALL.map(|kind| {
            let stride = (sizes[kind as usize] as usize).next_multiple_of(8).max(8);
            let (start, rows) = (end, rows[kind as usize]);
            end = (start + stride * rows).next_multiple_of(LINE);
            Table { start, stride, rows, touched: vec![false; rows] }
        });
        let words = vec![0; end / 8 + LINE / 8];
        let begin = (words.as_ptr() as usize).next_multiple_of(LINE);
        Memory { words, begin, tables, touched: Vec::new(), saved: Vec::new() }
    }

    /// The first byte and the one past the last.
    pub fn range(&self) -> (usize, usize) {
        (self.begin, self.words.as_ptr() as usize + self.words.len() * 8)
    }

    /// The address of a row, 0 where there is none.
    pub fn at(&mut self, kind: Owner, row: usize) -> usize {
        let table = &mut self.tables[kind as usize];
        if row >= table.rows {
            return 0;
        }
        if !table.touched[row] {
            table.touched[row] = true;
            self.touched.push((kind, row));
        }
        self.begin + table.start + table.stride * row
    }

    /// The address of a row, of the first where there is none.
    pub fn some_at(&mut self, kind: Owner, row: usize) -> usize {
        match self.at(kind, row) {
            0 => self.at(kind, 0),
            at => at,
        }
    }

    /// Which row an address is in, and where in it.
    pub fn place(&self, address: usize) -> Option<(Owner, usize, usize)> {
        let offset = address.checked_sub(self.begin)?;
        Owner::ALL.into_iter().rev().find_map(|kind| {
            let table = &self.tables[kind as usize];
            let within = offset.checked_sub(table.start)?;
            let row = within / table.stride;
            (row < table.rows).then_some((kind, row, within % table.stride))
        })
    }

    fn row(&mut self, kind: Owner, row: usize) -> &mut [u64] {
        let table = &self.tables[kind as usize];
        let first =
            (self.begin + table.start + table.stride * row - self.words.as_ptr() as usize) / 8;
        &mut self.words[first..first + table.stride / 8]
    }

    /// Keeps the present state for [`Memory::restore`].
    pub fn save(&mut self) {
        let touched = self.touched.clone();
        self.saved = touched
            .into_iter()
            .map(|(kind, row)| (kind, row, self.row(kind, row).to_vec()))
            .collect();
        self.touched.clear();
        for table in &mut self.tables {
            table.touched.fill(false);
        }
    }

    /// Brings back what was saved.
    pub fn restore(&mut self) {
        for (kind, row) in std::mem::take(&mut self.touched) {
            self.row(kind, row).fill(0);
            self.tables[kind as usize].touched[row] = false;
        }
        let saved = std::mem::take(&mut self.saved);
        for (kind, row, words) in &saved {
            self.row(*kind, *row).copy_from_slice(words);
        }
        self.saved = saved;
    }
}
