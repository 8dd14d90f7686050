//! A request's timeline: the holder of each CPU that it could have used.

use model::Nanos;

use crate::explanation::Explanation;
use crate::serving::Served;
use crate::source::Holder;
use crate::timeline::Cursor;

/// What a thread is to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The thread that serves it.
    Own,
    /// A sibling with a request that came first.
    First,
    /// A sibling with a request that came later.
    Later,
    /// Another program, or a sibling without a request.
    Background,
    /// An interrupt or a softirq.
    Interrupt,
    /// The exit from an idle state.
    Power,
    /// None.
    Idle,
    /// The CPU is offline.
    Offline,
}

impl Kind {
    /// The word for it in results.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Own => "own",
            Kind::First => "first",
            Kind::Later => "later",
            Kind::Background => "background",
            Kind::Interrupt => "interrupt",
            Kind::Power => "power",
            Kind::Idle => "idle",
            Kind::Offline => "offline",
        }
    }
}

/// A thread held a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// From this moment.
    pub from: Nanos,
    /// Until this.
    pub to: Nanos,
    /// The holder, as the request sees it.
    pub kind: Kind,
    /// The holder itself.
    pub holder: Holder,
}

impl Explanation<'_> {
    /// For each CPU that a request could have used, its holders from the intended moment until the request's
    /// thread was done. None where there were more moments than this: a wait so long has no
    /// readable timeline.
    pub fn spans(&self, program: usize, request: u32, most: usize) -> Vec<(usize, Vec<Span>)> {
        let scene = &self.scene;
        let Some(served) = scene.serving.of(program, request as usize) else { return Vec::new() };
        let stamps = scene.trace.programs[program].requests[request as usize];
        let moments = |to: Nanos| scene.moments.partition_point(|at| *at <= to);
        if moments(stamps.completed) - moments(stamps.intended) > most {
            return Vec::new();
        }
        let mut cursor = Cursor::new(&scene.timeline, self.setting.machine.cpus as usize);
        let usable = scene.serving.usable_by(served.thread, stamps.intended);
        let mut cpus: Vec<(usize, Vec<Span>)> = usable.iter().map(|&c| (c, Vec::new())).collect();
        let first = moments(stamps.intended);
        let mut now = stamps.intended;
        for next in &scene.moments[first..] {
            cursor.advance(now);
            let until = (*next).min(stamps.completed);
            for (cpu, spans) in &mut cpus {
                let holder = cursor.holders[*cpu];
                let kind = self.kind(program, request, served, holder, now);
                extend(spans, Span { from: now, to: until, kind, holder });
            }
            now = until;
            if now == stamps.completed {
                break;
            }
        }
        cpus
    }

    fn kind(&self, program: usize, request: u32, own: Served, holder: Holder, now: Nanos) -> Kind {
        let thread = match holder {
            Holder::Idle => return Kind::Idle,
            Holder::Away => return Kind::Offline,
            Holder::Exit(..) => return Kind::Power,
            Holder::Interrupt(..) => return Kind::Interrupt,
            Holder::Thread(thread) => thread,
        };
        if self.scene.serving.program(thread) != program {
            return Kind::Background;
        }
        match self.scene.serving.request(thread, now) {
            _ if thread == own.thread && now >= own.free => Kind::Own,
            Some(sibling) if sibling < request => Kind::First,
            Some(_) => Kind::Later,
            None => Kind::Background,
        }
    }
}

/// Appends a span, or lengthens the last one by it.
fn extend(spans: &mut Vec<Span>, span: Span) {
    match spans.last_mut() {
        Some(last) if (last.kind, last.holder) == (span.kind, span.holder) => last.to = span.to,
        _ if span.from < span.to => spans.push(span),
        _ => {}
    }
}
