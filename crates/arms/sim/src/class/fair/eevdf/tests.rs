//! EEVDF's one queue against sums and scans over all its entities.

use proptest::prelude::*;

use super::*;

/// A queue, its entities, and which of them is where.
struct Bench {
    queue: Eevdf,
    entities: Vec<EevdfEntity>,
    current: Option<usize>,
    tunables: Tunables,
}

impl Bench {
    fn new(weights: &[u64]) -> Bench {
        let entity = |&weight: &u64| {
            let mut entity: EevdfEntity = Entity::bare();
            entity.weight = weight * NICE_0;
            entity
        };
        Bench {
            queue: Eevdf::default(),
            entities: weights.iter().map(entity).collect(),
            current: None,
            tunables: Tunables::beside_generator(1),
        }
    }

    fn peer(&self, except: usize) -> Option<Peer> {
        self.current.filter(|&id| id != except).map(|id| as_peer(&self.entities[id]))
    }

    fn arrive(&mut self, id: usize, arrival: Arrival) {
        let others = self.peer(id);
        let entity = &mut self.entities[id];
        self.queue.place(others, entity, arrival, &self.tunables);
        entity.on_queue = true;
        self.queue.insert(EntityId(id as u32), entity);
    }

    fn leave(&mut self, id: usize, departure: Departure) {
        let others = self.peer(id);
        let waits = self.current != Some(id);
        let entity = &mut self.entities[id];
        let at = EntityId(id as u32);
        if self.queue.leave(others, at, entity, waits, departure, &self.tunables) {
            entity.on_queue = false;
        }
        if !waits {
            self.put();
        }
    }

    /// The running entity goes back if it still counts.
    fn put(&mut self) {
        if let Some(id) = self.current.take().filter(|&id| self.entities[id].on_queue) {
            self.queue.insert(EntityId(id as u32), &mut self.entities[id]);
        }
    }

    fn choose(&mut self) -> Option<usize> {
        let current = self.current.map(|id| EntityId(id as u32));
        let count = self.members().count() as u32;
        let picked = self.queue.pick(&self.entities, current, count, &self.tunables);
        picked.map(|id| id.0 as usize)
    }

    fn switch_to(&mut self, id: usize) {
        if self.current == Some(id) {
            return;
        }
        self.put();
        self.queue.remove(EntityId(id as u32), &mut self.entities[id]);
        self.queue.started(EntityId(id as u32), &mut self.entities[id]);
        self.current = Some(id);
    }

    fn run(&mut self, span: u64) {
        if let Some(id) = self.current {
            let entity = &mut self.entities[id];
            entity.vruntime += virtual_time(Nanos(span), entity.weight);
            self.queue.charged(entity, &self.tunables);
        }
    }

    fn members(&self) -> impl Iterator<Item = usize> {
        (0..self.entities.len()).filter(|&id| self.entities[id].on_queue)
    }

    /// Weight times virtual time over all, and weight.
    fn sums(&self) -> (i128, i128) {
        let product = |e: &EevdfEntity| i128::from(e.vruntime) * i128::from(e.weight);
        self.members().map(|id| &self.entities[id]).fold((0, 0), |(moment, weight), entity| {
            (moment + product(entity), weight + i128::from(entity.weight))
        })
    }

    fn is_eligible(&self, id: usize) -> bool {
        let (moment, weight) = self.sums();
        moment >= i128::from(self.entities[id].vruntime) * weight
    }

    /// What the queue must choose, by looking at all.
    fn oracle(&self) -> Option<usize> {
        let mark = |id: usize| &self.entities[id].mark;
        if self.members().count() == 1 {
            return self.members().next();
        }
        let running = self.current.filter(|&id| self.entities[id].on_queue && self.is_eligible(id));
        if let Some(id) = running.filter(|&id| self.entities[id].vruntime < mark(id).protected) {
            return Some(id);
        }
        let waiting = self.members().filter(|&id| self.current != Some(id) && self.is_eligible(id));
        let best = waiting.min_by_key(|&id| (mark(id).deadline, mark(id).order));
        match (best, running) {
            (Some(best), Some(id)) if mark(id).deadline < mark(best).deadline => Some(id),
            (best, running) => best.or(running),
        }
    }

    fn lag(&mut self, id: usize) -> i64 {
        let (moment, weight) = self.sums();
        moment.div_euclid(weight) as i64 - self.entities[id].vruntime
    }
}

proptest! {
    /// Whatever comes, goes and runs: the average is that of all, the lags sum to nothing, the choice is that
    /// of a scan, and an entity is always eligible.
    #[test]
    fn sums_and_choices_are_those_of_a_scan(
        weights in prop::collection::vec(1..90u64, 2..12),
        steps in prop::collection::vec((0..5u8, 0..12usize, 1..6_000_000u64), 1..150),
    ) {
        let mut bench = Bench::new(&weights);
        for (what, id, span) in steps {
            let id = id % weights.len();
            match (what, bench.entities[id].on_queue) {
                (0 | 1, false) => bench.arrive(id, if what == 0 { Arrival::New } else { Arrival::Wake }),
                (0, true) => bench.leave(id, Departure::Move),
                (1, true) if bench.current == Some(id) => bench.leave(id, Departure::Sleep),
                _ => bench.run(span),
            }
            let (moment, weight) = bench.sums();
            prop_assert_eq!(bench.choose(), bench.oracle());
            if weight > 0 {
                let current = bench.current.map(|id| as_peer(&bench.entities[id]));
                let mean = bench.queue.mean(current);
                let lags = i128::from(mean) * weight - moment;
                prop_assert!(-weight < lags && lags <= 0, "{} of {}", lags, weight);
                prop_assert!(bench.members().any(|id| bench.is_eligible(id)));
            }
            while let Some(chosen) = bench.choose() {
                if !bench.entities[chosen].mark.delayed {
                    bench.switch_to(chosen);
                    break;
                }
                bench.leave(chosen, Departure::Served);
                prop_assert!(bench.entities[chosen].mark.lag <= 0, "credit earned asleep");
            }
        }
    }
}

/// Three entities of which the first ran for `span` alone in time.
fn after_running(span: u64) -> Bench {
    let mut bench = Bench::new(&[1, 2, 1]);
    (0..3).for_each(|id| bench.arrive(id, Arrival::Wake));
    bench.switch_to(0);
    bench.run(span);
    bench
}

#[test]
fn lag_survives_a_move_though_the_average_follows_the_joining_entity() {
    let mut bench = after_running(800_000);
    for id in [0, 1] {
        let lag = bench.lag(id);
        bench.leave(id, Departure::Move);
        let there = bench.lag(2);
        bench.arrive(id, Arrival::Move);
        assert!(bench.lag(id).abs_diff(lag) <= 2, "{} for {lag}", bench.lag(id));
        assert!(there != bench.lag(2), "joining moved no lag");
    }
}

#[test]
fn lag_is_kept_up_to_a_request_and_a_tick() {
    let mut bench = after_running(80_000_000);
    bench.leave(0, Departure::Move);
    assert_eq!(bench.entities[0].mark.lag, -5_400_000);
    let mut bench = after_running(1_000_000);
    bench.leave(0, Departure::Move);
    assert_eq!(bench.entities[0].mark.lag, -750_000);
}

#[test]
fn an_entity_that_sleeps_in_debt_stays_until_the_others_caught_up() {
    let mut bench = after_running(1_000_000);
    bench.leave(0, Departure::Sleep);
    assert!(bench.entities[0].mark.delayed && bench.entities[0].on_queue);
    // Awake before that: still in debt, in the same place.
    let place = bench.entities[0].vruntime;
    bench.switch_to(1);
    bench.run(300_000);
    let (peer, id) = (bench.peer(0), EntityId(0));
    let tunables = bench.tunables;
    bench.queue.resume(peer, id, &mut bench.entities[0], true, &tunables);
    assert_eq!((bench.entities[0].vruntime, bench.entities[0].mark.delayed), (place, false));
    // Awake after: at the average, for sleep earns nothing.
    let mut bench = after_running(1_000_000);
    bench.leave(0, Departure::Sleep);
    bench.switch_to(1);
    bench.run(40_000_000);
    let peer = bench.peer(0);
    bench.queue.resume(peer, id, &mut bench.entities[0], true, &tunables);
    assert!(bench.lag(0).abs() <= 2 && bench.entities[0].vruntime > place, "{}", bench.lag(0));
}

#[test]
fn an_entity_that_sleeps_with_credit_leaves_at_once() {
    let mut bench = after_running(1_000_000);
    bench.leave(2, Departure::Sleep);
    assert!(!bench.entities[2].on_queue && bench.entities[2].mark.lag > 0);
}

#[test]
fn another_weight_keeps_the_real_lag_and_deadline() {
    for weight in [NICE_0 / 2, 4 * NICE_0] {
        let mut bench = after_running(200_000);
        let real = |span: i64, weight: u64| i128::from(span) * i128::from(weight);
        let (lag, left) = {
            let lag = bench.lag(0);
            let entity = &bench.entities[0];
            (real(lag, entity.weight), real(entity.mark.deadline - entity.vruntime, entity.weight))
        };
        let (tunables, id) = (bench.tunables, EntityId(0));
        bench.queue.reweigh(None, id, &mut bench.entities[0], false, weight, &tunables);
        let close = |a: i128, b: i128| (a - b).abs() <= 8 * i128::from(NICE_0);
        assert!(close(real(bench.lag(0), weight), lag));
        let entity = &bench.entities[0];
        assert!(close(real(entity.mark.deadline - entity.vruntime, weight), left));
    }
}
