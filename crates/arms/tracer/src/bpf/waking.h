/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which CPU asked for a wake-up. A thread that an idle CPU is to run is put into its queue by that
 * CPU itself, and its wake-up is told there. What woke it is known where it was asked for alone.
 */
#ifndef REARGUARD_WAKING_H
#define REARGUARD_WAKING_H

#define CPUS 1024
#define WAKINGS 4096

/*
 * By a thread's number: the thread (22 bits), the CPU that asked for its wake-up last (10 bits),
 * and when (32 bits of nanoseconds). One word, so that no CPU reads half of it.
 */
__u64 wakings[WAKINGS];

static __always_inline void note_waking(__u32 pid)
{
	__u32 by = bpf_get_smp_processor_id() % CPUS;

	wakings[pid % WAKINGS] = (__u64)pid << 42 | (__u64)by << 32 | (__u32)bpf_ktime_get_ns();
}

/* The other CPU that asked for a wake-up, from 1 on, and how long ago; 0: none did. */
static __always_inline __u32 asked_by(__u32 pid, __u32 *age_ns)
{
	__u64 waking = wakings[pid % WAKINGS];
	__u32 by = (waking >> 32) % CPUS;

	if (waking >> 42 != pid || by == bpf_get_smp_processor_id())
		return 0;
	*age_ns = (__u32)bpf_ktime_get_ns() - (__u32)waking;
	return by + 1;
}

#endif
