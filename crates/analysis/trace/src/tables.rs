//! A trace as tables: events, requests, threads, CPU time. The header stands in each table's metadata.

mod events;

use std::borrow::Cow;
use std::io;
use std::path::Path;

use columnar::{Columns, Format, Options, RecordBatch, Table};
use model::event::What;
use model::trace::Request;
use model::{Nanos, ThreadId};

use crate::names::Names;
use crate::{Header, Recorded, SCHEMA};

/// Rows that are in memory as columns at a time.
const ROWS: usize = 1 << 17;

/// A table of a trace, made part by part.
pub struct Parts<'a> {
    /// What a row is about.
    pub name: &'static str,
    /// The same table without rows.
    pub empty: Table,
    /// Its rows, some at a time.
    pub batches: Box<dyn Iterator<Item = RecordBatch> + 'a>,
}

/// Every table of a trace, those without rows too.
pub fn tables(recorded: &Recorded) -> [Parts<'_>; 4] {
    [threads(recorded), requests(recorded), usage(recorded), events::parts(recorded)]
}

/// Writes the tables into a folder, which must exist.
pub fn export(recorded: &Recorded, format: Format, folder: &Path) -> io::Result<()> {
    let options = Options { differences: true };
    tables(recorded).into_iter().try_for_each(|table| {
        let path = folder.join(format!("{}.{}", table.name, format.extension()));
        let schema = table.empty.batch.schema();
        columnar::write(&path, format, options, schema, table.batches)
    })
}

fn parts<'a, T: Clone>(
    name: &'static str,
    header: &Header,
    rows: Cow<'a, [T]>,
    batch: impl Fn(&[T]) -> RecordBatch + 'a,
) -> Parts<'a> {
    let header = serde_json::to_string(header).expect("plain structures of words and numbers");
    let noted = move |batch| Table { name, batch }.with_note(SCHEMA, &header);
    let empty = noted(batch(&[]));
    let schema = empty.batch.schema();
    let count = rows.len().div_ceil(ROWS);
    let part = move |at: usize| {
        let rows = &rows[at * ROWS..rows.len().min((at + 1) * ROWS)];
        batch(rows).with_schema(schema.clone()).expect("the columns of the empty table")
    };
    Parts { name, empty, batches: Box::new((0..count).map(part)) }
}

fn stamp(at: Nanos) -> Option<u64> {
    Some(at.0).filter(|_| at != Nanos::NEVER)
}

fn id(thread: ThreadId) -> u64 {
    u64::from(thread.0)
}

fn threads(recorded: &Recorded) -> Parts<'_> {
    let header = &recorded.header;
    let names = Names::new(header);
    let program = move |thread: &u32| &header.programs[header.threads[*thread as usize]];
    let rows: Vec<u32> = (0..header.threads.len() as u32).collect();
    parts("threads", header, rows.into(), move |rows| {
        Columns::of(rows)
            .number("thread", |thread| Some(u64::from(*thread)))
            .text("name", |thread| Some(names.of(ThreadId(*thread))))
            .text("program", |thread| Some(&program(thread).name))
            .text("kind", |thread| Some(&program(thread).kind))
            .text("group", |thread| Some(&header.groups[program(thread).group?].name))
            .batch()
    })
}

/// A request with its place: program, number, and the thread that served it.
type Placed<'a> = (usize, usize, &'a Request, Option<ThreadId>);

fn requests(recorded: &Recorded) -> Parts<'_> {
    let programs = &recorded.header.programs;
    let mut served = servers(recorded);
    let all = recorded.trace.programs.iter().enumerate();
    let rows: Vec<Placed> = all
        .flat_map(|(program, of)| {
            let by = std::mem::take(&mut served[program]);
            let all = of.requests.iter().zip(by).enumerate();
            all.map(move |(number, (request, by))| (program, number, request, by))
        })
        .collect();
    parts("requests", &recorded.header, rows.into(), move |rows| {
        Columns::of(rows)
            .text("program", |row| Some(&programs[row.0].name))
            .number("request", |row| Some(row.1 as u64))
            .number("intended_ns", |row| stamp(row.2.intended))
            .number("sent_ns", |row| stamp(row.2.sent))
            .number("started_ns", |row| stamp(row.2.started))
            .number("completed_ns", |row| stamp(row.2.completed))
            .number("received_ns", |row| stamp(row.2.received))
            .number("service_ns", |row| stamp(row.2.service))
            .number("latency_ns", |row| stamp(row.2.latency()))
            .number("thread", |row| row.3.map(id))
            .batch()
    })
}

/// The thread that served each request of each program, where events tell.
fn servers(recorded: &Recorded) -> Vec<Vec<Option<ThreadId>>> {
    let programs = recorded.trace.programs.iter();
    let mut served: Vec<_> = programs.map(|program| vec![None; program.requests.len()]).collect();
    for event in recorded.trace.events.iter().flatten() {
        if let What::Start { thread, request } = event.what {
            served[recorded.header.threads[thread.index()]][request as usize] = Some(thread);
        }
    }
    served
}

/// A thread's CPU time at a moment.
type Reading = (Nanos, usize, Nanos);

fn usage(recorded: &Recorded) -> Parts<'_> {
    let samples = recorded.trace.usage.iter();
    let rows: Vec<Reading> = samples
        .flat_map(|usage| {
            let times = usage.cpu_time.iter().enumerate();
            times.map(|(thread, time)| (usage.at, thread, *time))
        })
        .collect();
    parts("usage", &recorded.header, rows.into(), |rows| {
        Columns::of(rows)
            .number("at_ns", |row| stamp(row.0))
            .number("thread", |row| Some(row.1 as u64))
            .number("cpu_time_ns", |row| stamp(row.2))
            .batch()
    })
}
