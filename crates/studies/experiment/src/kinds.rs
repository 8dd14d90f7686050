//! Kinds of policies: what decides which parts of `policy/` a policy is made of.

/// Balance, pick, order and min_vruntime of every policy by name. A policy of another kind depends on all of
/// `policy/`.
pub const KINDS: [[&str; 4]; 9] = [
    ["gvts", "process", "fcfs", "machine"],
    ["gvts", "thread", "vtime", "target"],
    ["steal", "process", "fcfs", "queue"],
    ["steal", "process", "lcfs", "queue"],
    ["steal", "process", "random", "queue"],
    ["steal", "thread", "vtime", "queue"],
    ["steal", "all", "fcfs", "queue"],
    ["dwrr", "thread", "vtime", "target"],
    ["credit", "credit", "fcfs", "queue"],
];
