/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The policy's state, each kind a table that the test compares with the native one. */
#ifndef RG_PARITY_TABLES_H
#define RG_PARITY_TABLES_H

#define PARITY_GROUPS 16
#define PARITY_QUEUES 64

struct rg_thread threads[PARITY_THREADS] SEC(".bss.threads");
struct rg_process processes[PARITY_THREADS] SEC(".bss.processes");
struct rg_group groups[PARITY_GROUPS] SEC(".bss.groups");
struct rg_cpu cpus[PARITY_CPUS] SEC(".bss.cpus");
struct rg_queue queues[PARITY_QUEUES] SEC(".bss.queues");
struct rg_pool pools[RG_POOLS] SEC(".bss.pools");
struct rg_entry entries[RG_ENTRIES] SEC(".bss.entries");
struct rg_shared shared SEC(".bss.shared");
const volatile struct rg_options options SEC(".rodata.options");

struct rg_lock {
	struct bpf_spin_lock held;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PARITY_QUEUES);
	__type(key, u32);
	__type(value, struct rg_lock);
} locks SEC(".maps");

/* Row 0 is unused. */
RG_CALL u32 rg_slot(struct task_struct *t)
{
	return parity_thread(t)->id;
}

RG_CALL struct rg_thread *rg_thread_at(u32 slot)
{
	return &threads[rg_masked(slot, PARITY_THREADS)];
}

RG_CALL struct rg_thread *rg_thread(struct task_struct *t)
{
	return rg_thread_at(rg_slot(t));
}

RG_CALL struct rg_process *rg_process(struct task_struct *t)
{
	return &processes[rg_masked(parity_thread(t)->process, PARITY_THREADS)];
}

RG_CALL struct rg_group *rg_group_at(u32 group)
{
	return &groups[rg_masked(group, PARITY_GROUPS)];
}

RG_CALL struct rg_cpu *rg_cpu(s32 cpu)
{
	return (u32)cpu < PARITY_CPUS ? &cpus[rg_masked(cpu, PARITY_CPUS)] : 0;
}

RG_CALL struct rg_queue *rg_queue(u32 queue)
{
	return queue < PARITY_QUEUES ? &queues[rg_masked(queue, PARITY_QUEUES)] : 0;
}

RG_CALL struct rg_pool *rg_pool_at(u32 row)
{
	return &pools[rg_masked(row, RG_POOLS)];
}

RG_CALL struct rg_entry *rg_entry_at(u32 row)
{
	return &entries[rg_masked(row, RG_ENTRIES)];
}

RG_CALL struct rg_shared *rg_shared(void)
{
	return &shared;
}

RG_CALL const volatile struct rg_options *rg_options(void)
{
	return &options;
}

RG_CALL struct rg_lock *rg_lock_of(u32 queue)
{
	return bpf_map_lookup_elem(&locks, &queue);
}

RG_CALL void rg_acquire(struct rg_lock *lock)
{
	bpf_spin_lock(&lock->held);
}

RG_CALL void rg_release(struct rg_lock *lock)
{
	bpf_spin_unlock(&lock->held);
}

#endif
