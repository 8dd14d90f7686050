//! What a client knows of its requests, and the kernel of their stages.

use std::ops::Range;

use model::trace::{ProgramTrace, Request, Stages, Trace};
use model::{Failure, Nanos};

use super::answering::Answering;
use super::connection::Connections;
use super::recording::{Peer, Recording};
use super::scene::{Exchanged, Scene};
use super::service::{check_complete, count};

/// A request as its client sent it, and the answer: bytes of their connection, or datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The client's end.
    pub client: Peer,
    /// The byte after the request's last.
    pub request_end: u64,
    /// The answer's bytes.
    pub answer: Range<u64>,
}

/// A client's trace of one service with what the server's kernel saw of it: stages of the requests, events,
/// every thread that had a CPU, and the CPUs of the machine. Moments of the trace count from `begin`; `asked`
/// has an entry for each of its requests, `None` for one that was not answered.
///
/// [`Failure::Run`] where something was lost, or skipped by the kernel, or too few requests have all their
/// stages.
pub fn join(
    recording: &Recording,
    mut trace: Trace,
    asked: &[Option<Asked>],
    begin: Nanos,
) -> Result<(Trace, u32), Failure> {
    recording.check_whole()?;
    let connections = Connections::new(recording);
    let requests = &trace.programs[0].requests;
    let one = |(request, asked): (&Request, &Option<Asked>)| {
        let found =
            asked.as_ref().and_then(|asked| find(&connections, asked, begin + request.sent));
        let (stages, thread) = found.unwrap_or((Stages::UNSEEN, 0));
        Exchanged::new(stages.since(begin), thread, Answering::default())
    };
    let exchanged: Vec<Exchanged> = requests.iter().zip(asked).map(one).collect();
    let window = trace.window;
    let inside = requests.iter().zip(asked).zip(&exchanged);
    let inside = inside.filter(|((r, asked), _)| asked.is_some() && window.contains(r.intended));
    let (answered, complete) = count(inside.map(|(_, one)| one));
    check_complete(answered, complete)?;
    let scene = Scene::new(recording, &exchanged, begin);
    trace.programs[0].stages = exchanged.iter().map(|one| one.stages).collect();
    let served = trace.programs[0].requests.iter_mut().zip(&exchanged);
    served.for_each(|(request, one)| stamp(request, &one.stages));
    trace.programs.resize_with(scene.programs.len(), ProgramTrace::default);
    trace.usage = scene.usage(window, begin);
    let others = scene.programs[1..].to_vec();
    let (events, cpus) = (Some(scene.events), scene.cpus);
    let tables = model::event::Tables { others, ..scene.tables };
    Ok((Trace { threads: scene.threads, events, tables, ..trace }, cpus))
}

/// Most servers stamp nothing themselves: their kernel saw when a thread had read a request and when its
/// answer was out.
fn stamp(request: &mut Request, stages: &Stages) {
    if request.started == Nanos::NEVER && stages.is_complete() {
        (request.started, request.completed) = (stages.read, stages.transmitted);
    }
}

/// A request's stages and thread. A port may have been used before: its connection is the one on which the
/// request came after it was sent.
fn find(connections: &Connections, asked: &Asked, sent: Nanos) -> Option<(Stages, u32)> {
    let own = connections.of(asked.client).iter();
    let told = own.map(|own| connections.stages(own, asked.request_end, asked.answer.clone()));
    let mut told = told.filter(|(stages, _)| stages.arrived != Nanos::NEVER);
    told.find(|(stages, _)| stages.arrived >= sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOBODY: Request = Request {
        intended: Nanos(1),
        sent: Nanos(2),
        started: Nanos::NEVER,
        completed: Nanos::NEVER,
        received: Nanos(90),
        service: Nanos(5),
    };

    fn stages(read: u64) -> Stages {
        let [arrived, ready, running, read, sends, transmitted] =
            [3, 4, 5, read, 70, 80].map(Nanos);
        Stages { arrived, ready, running, read, sends, transmitted }
    }

    #[test]
    fn the_kernel_stamps_what_the_server_does_not() {
        let stamped = |mut request: Request, stages: &Stages| {
            stamp(&mut request, stages);
            [request.started, request.completed]
        };
        assert_eq!(stamped(NOBODY, &stages(6)), [Nanos(6), Nanos(80)]);
        // What is incomplete stays unknown, and a server's own word counts.
        assert_eq!(stamped(NOBODY, &stages(75)), [Nanos::NEVER; 2]);
        let own = Request { started: Nanos(7), completed: Nanos(60), ..NOBODY };
        assert_eq!(stamped(own, &stages(6)), [Nanos(7), Nanos(60)]);
    }
}
