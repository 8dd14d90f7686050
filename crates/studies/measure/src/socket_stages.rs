//! Stages of requests by the stamps that the client's own kernel puts on its sockets: what is known where the
//! server's kernel may not be asked.

use generator::{Record, SocketTimestamps};
use model::Nanos;
use report::stages::{CLIENT, SERVER_STAGES, Stage, WHOLE};
use stats::latency_estimates;

/// Where the requests' time went, as far as the client's kernel knows.
pub struct SocketStages {
    /// What it knows, in the order of time; of the stages in the server's kernel only the whole, and that
    /// only where the server is on this machine.
    pub stages: Vec<Stage>,
    /// Requests that were answered in the measured time.
    pub answered: u64,
    /// Those of them that were stamped on the whole way, in order.
    pub complete: u64,
}

/// The moments of one request.
struct Moments {
    intended: Nanos,
    sent: Nanos,
    queued: Nanos,
    left: Nanos,
    /// Where the server said so before it answered.
    acknowledged: Option<Nanos>,
    back: Nanos,
    read: Nanos,
}

/// What the records' stamps tell. `is_here`: the server is on this machine, where the device hands a packet
/// over to the receiver at once. So T1 is when a request has left, and T6 is when its answer is back.
pub fn socket_stages(records: &[Record], is_here: bool) -> SocketStages {
    let answered = records.iter().filter(|record| record.received != Nanos::NEVER).count() as u64;
    let all: Vec<Moments> = records.iter().filter_map(moments).collect();
    let row = |names: (&str, &str), span: &dyn Fn(&Moments) -> Option<Nanos>| {
        stage(names, all.iter().filter_map(span).collect())
    };
    let away = |m: &Moments| Some(m.back - m.left);
    let alone = all.iter().filter(|m| m.acknowledged.is_some()).count();
    let share = 100.0 * alone as f64 / all.len().max(1) as f64;
    let has_it =
        format!("the server's kernel says it has it ({share:.0}%; others: with the answer)");
    let mut stages = vec![
        row(CLIENT, &|m| Some(m.sent - m.intended)),
        row(("sent_queued", "the client's kernel takes it"), &|m| Some(m.queued - m.sent)),
        row(("queued_left", "it waits for the device"), &|m| Some(m.left - m.queued)),
    ];
    if alone > 0 {
        stages.push(row(("left_acknowledged", &has_it), &|m| Some(m.acknowledged? - m.left)));
    }
    stages.extend(SERVER_STAGES.map(|names| stage(names, Vec::new())));
    stages.push(row(
        if is_here { WHOLE } else { ("left_back", "the network and the server") },
        &away,
    ));
    stages.push(row(("back_read", "the client comes to read it"), &|m| Some(m.read - m.back)));
    stages.push(row(("sent_read", "all from its sending on"), &|m| Some(m.read - m.sent)));
    SocketStages { stages, answered, complete: all.len() as u64 }
}

/// A stage by its key and what happens in it; without samples it is unknown.
pub fn stage((key, what): (&str, &str), spans: Vec<Nanos>) -> Stage {
    let figures = latency_estimates(&[spans]);
    Stage {
        stage: key.to_string(),
        what: what.to_string(),
        span_ns: figures.map(|f| figures::latency(&f)).unwrap_or_default(),
    }
}

fn moments(record: &Record) -> Option<Moments> {
    let (sent, back) = (record.sent, record.received);
    let intended = record.planned.intended.min(sent);
    let SocketTimestamps { queued, left, acknowledged, read } = record.timestamps?;
    // An unseen moment is `NEVER`.
    let is_whole = read != Nanos::NEVER && [sent, queued, left, back, read].is_sorted();
    let acknowledged = Some(acknowledged).filter(|at| (left..back).contains(at));
    is_whole.then_some(Moments { intended, sent, queued, left, acknowledged, back, read })
}

#[cfg(test)]
mod tests {
    use model::workload::Planned;

    use super::*;

    fn record(acknowledged: u64, back: u64) -> Record {
        let planned = Planned { intended: Nanos(5), service: Nanos(1), random: 0 };
        let [queued, left, acknowledged, read] = [11, 13, acknowledged, 100].map(Nanos);
        let timestamps = Some(SocketTimestamps { queued, left, acknowledged, read });
        Record { sent: Nanos(10), received: Nanos(back), timestamps, ..Record::new(planned) }
    }

    fn told(records: &[Record], is_here: bool) -> (SocketStages, Vec<(String, Option<f64>)>) {
        let passed = socket_stages(records, is_here);
        let rows = passed.stages.iter();
        let rows = rows.map(|stage| (stage.stage.clone(), stage.span_ns.mean.value)).collect();
        (passed, rows)
    }

    #[test]
    fn what_the_client_knows_sums_up_and_the_rest_is_unknown() {
        let (passed, rows) = told(&[record(20, 93), record(95, 93)], true);
        assert_eq!((passed.answered, passed.complete), (2, 2));
        let value = |key: &str| rows.iter().find(|row| row.0 == key).and_then(|row| row.1);
        let known = ["sent_queued", "queued_left", "t1_t6", "back_read"].map(value);
        assert_eq!(known, [1.0, 2.0, 80.0, 7.0].map(Some));
        assert_eq!(value("sent_read"), Some(90.0));
        assert_eq!(value("intended_sent"), Some(5.0));
        assert_eq!(value("left_acknowledged"), Some(7.0), "one came with its answer");
        assert!(passed.stages[3].what.contains("50%"), "{}", passed.stages[3].what);
        let unknown = rows.iter().filter(|row| row.1.is_none()).count();
        assert_eq!(unknown, SERVER_STAGES.len(), "{rows:?}");
        // Elsewhere the network is in it, and nothing of the server's kernel is known.
        let (_, rows) = told(&[record(95, 93)], false);
        let keys: Vec<&str> = rows.iter().map(|row| row.0.as_str()).collect();
        assert!(keys.contains(&"left_back") && !keys.contains(&"t1_t6"), "{keys:?}");
        assert!(!keys.contains(&"left_acknowledged"), "no acknowledgement");
    }

    #[test]
    fn a_request_without_all_stamps_in_order_is_counted_and_left_out() {
        let unstamped = Record { timestamps: None, ..record(20, 93) };
        let lost = Record { received: Nanos::NEVER, ..record(20, 93) };
        let unsent =
            SocketTimestamps { left: Nanos::NEVER, ..record(20, 93).timestamps.expect("one") };
        let unsent = Record { timestamps: Some(unsent), ..record(20, 93) };
        let (passed, _) = told(&[unstamped, lost, unsent, record(20, 12), record(20, 93)], true);
        assert_eq!((passed.answered, passed.complete), (4, 1));
    }
}
