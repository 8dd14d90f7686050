//! Slow requests explained and kept, on a thread of its own: what follows requests does not wait for it.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use model::Failure;
use recorder::{Place, Put, Selection, Store, Traced};
use tracer::{Ended, now};

use super::verdict::{Slow, explain};

/// The greatest nice value: explaining must not be what makes requests slow.
const NICEST: i32 = 19;

/// What became of slow requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fates {
    /// Kept.
    pub kept: u64,
    /// Kept, and removed for a slower one of their minute or event; not among those that are kept.
    pub replaced: u64,
    /// Not written.
    pub unwritten: u64,
    /// Removed for younger ones.
    pub rotated: u64,
}

impl Fates {
    /// One is kept, and so many others went for it. In one step: a counter that falls is taken for a restart.
    fn keep(&mut self, place: &Place, gone: u64) {
        let replaced = u64::from(matches!(place, Place::Of(_)));
        self.kept += 1 - replaced;
        self.replaced += replaced;
        self.rotated += gone;
    }
}

#[derive(Default)]
struct Shared {
    /// By port, what is kept of this minute.
    selections: BTreeMap<u16, Selection>,
    fates: BTreeMap<u16, Fates>,
    is_busy: bool,
    /// Kept since the last look.
    kept: Vec<Traced>,
}

/// The thread, and what it has done.
pub struct Explainer {
    jobs: Option<SyncSender<Box<Slow>>>,
    work: Option<JoinHandle<()>>,
    shared: Arc<Mutex<Shared>>,
}

impl Explainer {
    /// Keeps at most so many requests of a minute and service.
    pub fn start(store: Store, ports: &[u16], worst: usize) -> Result<Explainer, Failure> {
        let selections = ports.iter().map(|port| (*port, Selection::new(worst))).collect();
        let fates = ports.iter().map(|port| (*port, Fates::default())).collect();
        let shared = Shared { selections, fates, is_busy: false, kept: Vec::new() };
        let shared = Arc::new(Mutex::new(shared));
        // One at a time: what was seen of a request takes megabytes.
        let (jobs, waiting) = sync_channel(1);
        let worker = Worker {
            store,
            shared: Arc::clone(&shared),
            is_disk_full: false,
            is_budget_small: false,
        };
        let work = thread::Builder::new()
            .name("explainer".to_string())
            .spawn(move || worker.work(&waiting))
            .map_err(|error| Failure::Run(format!("no thread to explain: {error}")))?;
        Ok(Explainer { jobs: Some(jobs), work: Some(work), shared })
    }

    /// Whether it has nothing to do.
    pub fn is_idle(&self) -> bool {
        !lock(&self.shared).is_busy
    }

    /// Where a slow request of a port goes. The answer holds until the next one is asked for.
    pub fn place(&self, port: u16, one: &Ended) -> Place {
        let mut shared = lock(&self.shared);
        let selection = shared.selections.get_mut(&port).expect("made with it");
        selection.place(one.stages.arrived, one.stages.transmitted)
    }

    /// Explains and keeps a request, as soon as it is idle.
    pub fn keep(&self, slow: Box<Slow>) {
        lock(&self.shared).is_busy = true;
        // It hangs up at the end alone.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(slow));
    }

    /// What became of those of a port.
    pub fn fates(&self, port: u16) -> Fates {
        lock(&self.shared).fates.get(&port).copied().unwrap_or_default()
    }

    /// Those that were kept since this was asked last.
    pub fn take_kept(&self) -> Vec<Traced> {
        std::mem::take(&mut lock(&self.shared).kept)
    }

    /// Waits until what was handed over is kept.
    pub fn finish(&mut self) {
        drop(self.jobs.take());
        self.work.take().map(JoinHandle::join);
    }
}

impl Drop for Explainer {
    fn drop(&mut self) {
        self.finish();
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the thread has.
struct Worker {
    store: Store,
    shared: Arc<Mutex<Shared>>,
    is_disk_full: bool,
    is_budget_small: bool,
}

impl Worker {
    fn work(mut self, waiting: &Receiver<Box<Slow>>) {
        // This thread alone steps back, not those that follow requests.
        let _ = rustix::process::nice(NICEST);
        for slow in waiting {
            self.keep(*slow);
            lock(&self.shared).is_busy = false;
        }
    }

    fn keep(&mut self, slow: Slow) {
        let (port, place, transmitted) =
            (slow.port, slow.place.clone(), slow.one.stages.transmitted);
        let latency = slow.one.stages.latency();
        let Some((traced, trace)) = explain(slow) else {
            return self.count(port, |f| f.unwritten += 1);
        };
        // Only its name is the wall clock's, which is read with the other one: explaining took a while.
        let ago = now().map_or(0, |now| now.saturating_sub(transmitted).0);
        let at = SystemTime::now() - Duration::from_nanos(ago);
        match self.store.put(at, traced.kept.clone(), &trace) {
            Ok(Put::Kept(kept, gone)) => {
                self.is_disk_full = false;
                if let Place::Of(other) = &place {
                    self.store.remove(other);
                }
                self.count(port, |fates| fates.keep(&place, gone));
                anstream::eprintln!("{}", super::line(&kept));
                let mut shared = lock(&self.shared);
                let selection = shared.selections.get_mut(&port);
                selection.into_iter().for_each(|own| own.keep(latency, &place, kept.id.clone()));
                shared.kept.push(Traced { kept: *kept, ..traced });
            }
            Ok(Put::TooLarge) => {
                self.count(port, |f| f.unwritten += 1);
                if !std::mem::replace(&mut self.is_budget_small, true) {
                    anstream::eprintln!(
                        "rearguard: a request is larger than --keep-at-most, and is not kept; it goes on"
                    );
                }
            }
            Err(error) => {
                self.count(port, |f| f.unwritten += 1);
                if !std::mem::replace(&mut self.is_disk_full, true) {
                    anstream::eprintln!("rearguard: requests cannot be kept: {error}; it goes on");
                }
            }
        }
    }

    fn count(&self, port: u16, change: impl Fn(&mut Fates)) {
        lock(&self.shared).fates.get_mut(&port).into_iter().for_each(change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_in_the_place_of_another_leaves_as_many_kept() {
        let mut fates = Fates::default();
        let counted = [Place::Free, Place::Of("a".into()), Place::Free].map(|place| {
            fates.keep(&place, 2);
            (fates.kept, fates.replaced, fates.rotated)
        });
        assert_eq!(counted, [(1, 0, 2), (1, 1, 4), (2, 1, 6)]);
    }
}
