/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quotas of CPU time: whether a thread may not run because its group has used up its own, and when
 * the group has one again. The kernel tells neither by a tracepoint, but its timers that renew
 * quotas expire by one.
 */
#ifndef REARGUARD_QUOTA_H
#define REARGUARD_QUOTA_H

#include "waking.h"

/* As deep as groups are searched. */
#define GROUPS 8
/* So many queues of a group are looked at, one a CPU. */
#define QUEUES 256
/* Threads of the fair class have this priority or one behind it (MAX_RT_PRIO). */
#define FAIR_PRIO 100

/* Told of the thread itself since Linux 6.18, as soon as it would run: of its queue before that. */
struct task_struct___throttled {
	bool throttled;
} __attribute__((preserve_access_index));

static __always_inline bool is_throttled(const struct task_struct *task)
{
	const struct task_struct___throttled *own = (const void *)task;

	if (task->prio < FAIR_PRIO ||
	    !bpf_core_field_exists(task->se.cfs_rq->throttle_count))
		return false;
	if (bpf_core_field_exists(own->throttled) && BPF_CORE_READ(own, throttled))
		return true;
	return BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
}

/* The group whose quota is used up, of those that a throttled thread is in; 0: none any more. */
static __always_inline __u32 throttling_group(const struct task_struct *task)
{
	const struct sched_entity *entity = &task->se;

	for (int level = 0; entity && level < GROUPS; level++) {
		const struct cfs_rq *queue = BPF_CORE_READ(entity, cfs_rq);

		if (BPF_CORE_READ_BITFIELD_PROBED(queue, throttled))
			return BPF_CORE_READ(queue, tg, css.id);
		entity = BPF_CORE_READ(entity, parent);
	}
	return 0;
}

extern const void sched_cfs_period_timer __ksym __weak;
extern const void sched_cfs_slack_timer __ksym __weak;

static __always_inline bool is_period(const struct hrtimer *timer)
{
	return bpf_ksym_exists(&sched_cfs_period_timer) &&
	       (const void *)timer->function == &sched_cfs_period_timer;
}

/* Whether a timer gives a group a quota again: of a new period, or what other CPUs have left. */
static __always_inline bool is_renewal(const struct hrtimer *timer)
{
	return is_period(timer) || (bpf_ksym_exists(&sched_cfs_slack_timer) &&
				    (const void *)timer->function == &sched_cfs_slack_timer);
}

static __always_inline const struct cfs_bandwidth *bandwidth_of(const struct hrtimer *timer)
{
	if (is_period(timer))
		return (const void *)timer -
		       bpf_core_field_offset(struct cfs_bandwidth, period_timer);
	return (const void *)timer - bpf_core_field_offset(struct cfs_bandwidth, slack_timer);
}

/* By CPU: whether the group whose timer it is at had queues that were throttled. */
__u8 renewals[CPUS];

static __always_inline const void *throttled_queues(const struct cfs_bandwidth *bandwidth)
{
	return (const void *)bandwidth +
	       bpf_core_field_offset(struct cfs_bandwidth, throttled_cfs_rq);
}

static __always_inline void note_renewal(const struct hrtimer *timer)
{
	const struct cfs_bandwidth *bandwidth = bandwidth_of(timer);

	renewals[bpf_get_smp_processor_id() % CPUS] =
		BPF_CORE_READ(bandwidth, throttled_cfs_rq.next) != throttled_queues(bandwidth);
}

static __always_inline __u64 bit_of(__u32 cpu)
{
	return 1ULL << cpu % 64;
}

/*
 * The group whose quota was renewed, and the CPUs where it has none still, for it had used more
 * than its own before: bits, of which a CPU has that of its number's remainder. 0: nothing was
 * throttled.
 */
static __always_inline __u32 renewed_group(const struct hrtimer *timer, __u64 *held)
{
	const struct cfs_bandwidth *bandwidth = bandwidth_of(timer);
	const struct task_group *group = (const void *)bandwidth -
					 bpf_core_field_offset(struct task_group, cfs_bandwidth);
	const void *end = throttled_queues(bandwidth);
	const void *one = BPF_CORE_READ(bandwidth, throttled_cfs_rq.next);

	if (!renewals[bpf_get_smp_processor_id() % CPUS])
		return 0;
	for (int at = 0; one != end && at < QUEUES; at++) {
		const struct cfs_rq *queue =
			one - bpf_core_field_offset(struct cfs_rq, throttled_list);

		/* One with time again that is in the list waits for its CPU to take it out. */
		if (BPF_CORE_READ(queue, runtime_remaining) <= 0)
			*held |= bit_of(BPF_CORE_READ(queue, rq, cpu));
		one = BPF_CORE_READ(queue, throttled_list.next);
	}
	return BPF_CORE_READ(group, css.id);
}

#endif
