//! What every arm must show: bodies written once over [`model::Arm`], each with its control.
//!
//! A body runs a small scenario under a policy that must do something, and under one that must not: a body
//! whose control passes as well shows nothing.
#![forbid(unsafe_code)]

mod blame;
mod changes;
mod events;
mod order;
mod runs;
mod share;
mod work;

use libtest_mimic::Failed;
use model::Arm;

/// A body: a name and what it asserts of an arm.
pub struct Body {
    /// What it shows.
    pub name: &'static str,
    /// Fails where the arm does not show it.
    pub check: fn(&dyn Arm) -> Result<(), Failed>,
}

/// All bodies.
pub const BODIES: [Body; 17] = [
    Body { name: "fcfs_serves_in_order_and_lcfs_does_not", check: order::in_order },
    Body {
        name: "a_service_beside_batch_has_nearly_the_ideal_tail",
        check: order::tail_beside_batch,
    },
    Body { name: "no_request_is_lost_but_where_too_many_come", check: order::none_is_lost },
    Body { name: "equal_processes_share_equally_and_nice_ones_yield", check: share::processes },
    Body { name: "a_policy_in_a_file_is_in_force", check: share::by_file },
    Body { name: "groups_share_by_weight_however_many_threads_they_have", check: share::groups },
    Body { name: "cpus_of_a_thread_that_change_change_shares", check: changes::cpus },
    Body { name: "nice_and_weight_that_change_change_shares", check: changes::weights },
    Body { name: "no_thread_starves_but_under_fifo", check: share::no_thread_starves },
    Body {
        name: "a_thread_that_ran_alone_waits_little_when_others_come",
        check: share::a_thread_that_ran_alone_waits_little,
    },
    Body {
        name: "a_spinner_lives_neither_on_its_siblings_turns_nor_by_naps",
        check: share::a_spinner_among_sleepers,
    },
    Body { name: "no_cpu_idles_while_there_is_work", check: work::conserved },
    Body { name: "events_tell_what_cpu_times_tell", check: events::tell_cpu_time },
    Body { name: "siblings_that_pass_each_other_are_blamed", check: blame::on_inversions },
    Body { name: "batch_beside_a_service_is_blamed_by_name", check: blame::on_batch },
    Body {
        name: "connections_dealt_out_to_workers_are_blamed_and_one_queue_is_not",
        check: blame::on_partition,
    },
    Body { name: "three_threads_share_two_cpus_by_one_queue_and_not_by_two", check: work::shared },
];
