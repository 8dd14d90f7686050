//! A trace as Parquet tables in a folder: events, requests, threads, CPU time. The header stands in each file's metadata.

mod events;
mod table;

use std::io;
use std::path::Path;

use model::event::What;
use model::trace::Request;
use model::{Nanos, ThreadId};

use crate::Recorded;
use crate::names::Names;
use table::{Column, number, text, write};

/// Writes the tables into a folder, which must exist. A table without rows is written too.
pub fn export(recorded: &Recorded, folder: &Path) -> io::Result<()> {
    let header = serde_json::to_string(&recorded.header)?;
    let path = |name: &str| folder.join(format!("{name}.parquet"));
    threads(recorded, &path("threads"), &header)?;
    requests(recorded, &path("requests"), &header)?;
    usage(recorded, &path("usage"), &header)?;
    events::table(recorded, &path("events"), &header)
}

fn stamp(at: Nanos) -> Option<u64> {
    Some(at.0).filter(|_| at != Nanos::NEVER)
}

fn id(thread: ThreadId) -> u64 {
    u64::from(thread.0)
}

fn threads(recorded: &Recorded, path: &Path, header_json: &str) -> io::Result<()> {
    let header = &recorded.header;
    let names = Names::new(header);
    let program = |thread: &u32| &header.programs[header.threads[*thread as usize]];
    let group = |thread: &u32| program(thread).group.map(|group| header.groups[group].name.clone());
    let columns: Vec<Column<u32>> = vec![
        number("thread", |thread| Some(u64::from(*thread))),
        text("name", |thread| Some(names.of(ThreadId(*thread)).to_string())),
        text("program", move |thread| Some(program(thread).name.clone())),
        text("kind", move |thread| Some(program(thread).kind.clone())),
        text("group", group),
    ];
    let rows: Vec<u32> = (0..header.threads.len() as u32).collect();
    write(path, &columns, &rows, header_json)
}

/// A request with its place: program, number, and the thread that served it.
type Placed<'a> = (usize, usize, &'a Request, Option<ThreadId>);

fn requests(recorded: &Recorded, path: &Path, header: &str) -> io::Result<()> {
    let programs = &recorded.header.programs;
    let columns: Vec<Column<Placed>> = vec![
        text("program", |row: &Placed| Some(programs[row.0].name.clone())),
        number("request", |row: &Placed| Some(row.1 as u64)),
        number("intended_ns", |row: &Placed| stamp(row.2.intended)),
        number("sent_ns", |row: &Placed| stamp(row.2.sent)),
        number("started_ns", |row: &Placed| stamp(row.2.started)),
        number("completed_ns", |row: &Placed| stamp(row.2.completed)),
        number("received_ns", |row: &Placed| stamp(row.2.received)),
        number("service_ns", |row: &Placed| stamp(row.2.service)),
        number("latency_ns", |row: &Placed| stamp(row.2.latency())),
        number("thread", |row: &Placed| row.3.map(id)),
    ];
    let mut served = servers(recorded);
    let all = recorded.trace.programs.iter().enumerate();
    let rows: Vec<Placed> = all
        .flat_map(|(program, of)| {
            let by = std::mem::take(&mut served[program]);
            let all = of.requests.iter().zip(by).enumerate();
            all.map(move |(number, (request, by))| (program, number, request, by))
        })
        .collect();
    write(path, &columns, &rows, header)
}

/// Who served each request of each program, where events tell.
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

fn usage(recorded: &Recorded, path: &Path, header: &str) -> io::Result<()> {
    let columns: Vec<Column<Reading>> = vec![
        number("at_ns", |row: &Reading| stamp(row.0)),
        number("thread", |row: &Reading| Some(row.1 as u64)),
        number("cpu_time_ns", |row: &Reading| stamp(row.2)),
    ];
    let samples = recorded.trace.usage.iter();
    let rows: Vec<_> = samples
        .flat_map(|usage| {
            let times = usage.cpu_time.iter().enumerate();
            times.map(|(thread, time)| (usage.at, thread, *time))
        })
        .collect();
    write(path, &columns, &rows, header)
}
