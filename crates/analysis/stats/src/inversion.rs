//! FIFO inversions: a later arrival that is served first.

use model::Nanos;
use model::trace::Request;

/// FIFO inversions of one service: pairs of requests served in the other order than they arrived, for each
/// request.
///
/// By start alone the count is blind to time slicing: round robin starts long services in order and completes
/// them out of order. Hence both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inversions {
    /// Pairs of which the later arrival started first, over requests.
    pub start: f64,
    /// Pairs of which the later arrival was completed first, over requests.
    pub completion: f64,
}

/// Pairs of requests where the later arrival was served first, by `served`.
///
/// Arrival is when a request was sent; requests that never were do not count. One that was never served comes
/// after all that were. Equal moments are no inversion.
pub fn inverted_pairs<'a>(
    requests: impl IntoIterator<Item = &'a Request>,
    served: impl Fn(&Request) -> Nanos,
) -> u64 {
    let sent = requests.into_iter().filter(|request| request.sent != Nanos::NEVER);
    let mut pairs: Vec<(Nanos, Nanos)> = sent.map(|r| (r.sent, served(r))).collect();
    pairs.sort_unstable();
    let mut order: Vec<Nanos> = pairs.into_iter().map(|(_, served)| served).collect();
    let mut room = order.clone();
    sort_and_count(&mut order, &mut room)
}

/// Merge sort; returns how many pairs stood in falling order.
fn sort_and_count(order: &mut [Nanos], room: &mut [Nanos]) -> u64 {
    let half = order.len() / 2;
    if half == 0 {
        return 0;
    }
    let (room_left, room_right) = room.split_at_mut(half);
    let within = sort_and_count(&mut order[..half], room_left)
        + sort_and_count(&mut order[half..], room_right);
    room.copy_from_slice(order);
    within + merge(room.split_at(half), order)
}

/// Merges two rising halves; returns how many pairs fall from the left half to the right one.
fn merge((left, right): (&[Nanos], &[Nanos]), merged: &mut [Nanos]) -> u64 {
    let (mut l, mut r, mut falling) = (0, 0, 0);
    for slot in merged {
        if r == right.len() || (l < left.len() && left[l] <= right[r]) {
            *slot = left[l];
            l += 1;
        } else {
            *slot = right[r];
            r += 1;
            falling += (left.len() - l) as u64;
        }
    }
    falling
}
