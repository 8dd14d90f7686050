/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Effective weights (weight.h): sums of active members against a count from end to end. */

#define MEMBERS 60

/* A tree: group g below g / 2. */
static void some_groups(void)
{
	for (u32 g = 1; g < GROUPS; g++)
		rg_init_group(g, g / 2, (u32)between(20, 2000));
}

static u64 own_weight(u32 g)
{
	return groups[g].idle ? 3 : (u64)groups[g].weight * 1024 / 100;
}

static bool is_below(u32 g, u32 above)
{
	while (g && g != above)
		g /= 2;
	return g;
}

static u64 active_in(u32 g)
{
	u64 sum = 0;

	for (u32 row = 1; row <= MEMBERS; row++)
		sum += threads[row].group == g ? threads[row].counted : 0;
	for (u32 child = 1; child < GROUPS; child++) {
		bool active = 0;

		for (u32 row = 1; row <= MEMBERS; row++)
			active |= threads[row].counted && is_below(threads[row].group, child);
		sum += child / 2 == g && active ? own_weight(child) : 0;
	}
	return sum;
}

/* The weight of a thread as fractions of fractions; 0: an idle group, where few bits are left. */
static double effective(u32 row)
{
	double weight = threads[row].counted * 65536.0;

	for (u32 g = threads[row].group; g; g /= 2)
		weight *= groups[g].idle ? 0 : (double)own_weight(g) / active_in(g);
	return weight;
}

static void weights_are_counted_from_end_to_end(void)
{
	some_groups();
	for (u32 row = 1; row <= MEMBERS; row++)
		thread_in(row, row, (u32)below(GROUPS), 0)->weight = (u32)between(100, 5000);
	for (u32 step = 0; step < 3000; step++) {
		u32 row = 1 + (u32)below(MEMBERS), g = 1 + (u32)below(GROUPS - 1);

		if (!below(10))
			rg_weigh_group(g, (u32)between(20, 2000));
		else if (!below(10))
			rg_idle_group(g, below(2));
		else if (threads[row].counted)
			rg_weight_leave(&tasks[row], &threads[row]);
		else
			TRUE(rg_weight_join(&tasks[row], &threads[row]));
		SAME(groups[g].share.active, active_in(g) + control);
		if (!threads[row].counted || !effective(row))
			continue;
		rg_weight_refresh(&threads[row]);
		NEAR(threads[row].weight, effective(row), 100, 2);
	}
}

/* A process with one account counts as its first active thread. */
static void a_process_counts_once(void)
{
	struct task_struct *a = thread_in(1, 7, 1, 0), *b = thread_in(2, 7, 1, 0);

	rg_init_group(1, 0, 100);
	options.fair = RG_FAIR_PROCESS;
	b->weight = 15;
	TRUE(rg_weight_join(a, &threads[1]));
	FALSE(rg_weight_join(b, &threads[2]));
	SAME(groups[1].share.active, 1024);
	SAME(processes[7].share.active, 1039);
	rg_weight_leave(a, &threads[1]);
	SAME(groups[1].share.active, 1024);
	rg_weight_leave(b, &threads[2]);
	SAME(groups[1].share.active, 0);
	SAME(processes[7].share.active, 0);
	TRUE(rg_weight_join(b, &threads[2]));
	SAME(groups[1].share.active, 15);
}

/* Eight levels below the root become active with a thread, and cease to be. */
static void all_levels_are_active(void)
{
	for (u32 g = 1; g <= 8; g++)
		rg_init_group(g, g - 1, 100);
	thread_in(1, 1, 8, 0);
	rg_weight_join(&tasks[1], &threads[1]);
	for (u32 g = 1; g <= 8; g++)
		SAME(groups[g].share.active, 1024);
	rg_weight_leave(&tasks[1], &threads[1]);
	for (u32 g = 1; g <= 8; g++)
		SAME(groups[g].share.active, 0);
}

/* A sum that other CPUs change at this moment does not make a weight of nothing, or too much. */
static void a_sum_in_between_is_no_less_than_the_member(void)
{
	SAME(rg_weight_sum_of(1025, 1024), 1025);
	SAME(rg_weight_sum_of(1000, 1024), 1024);
	SAME(rg_weight_sum_of(-1024ULL, 1024), 1024);
	SAME(rg_weight_sum_of((1ULL << 62) - 1, 1024), (1ULL << 62) - 1);
	SAME(rg_weight_sum_of(1ULL << 62, 1024), 1024);
}

/* The greatest weight of the group below the root, which fades by a 64th. */
static void the_top_weight_fades(void)
{
	thread_in(1, 1, 0, 0);
	threads[1].counted = 2048;
	rg_weight_refresh(&threads[1]);
	SAME(threads[1].top, 2048);
	threads[1].counted = 1024;
	rg_weight_refresh(&threads[1]);
	SAME(threads[1].top, 2016);
	SAME(threads[1].weight, NICE_0);
	threads[1].counted = 0;
	FALSE(rg_weight_refresh_row(1));
	SAME(threads[1].weight, NICE_0);
}

/* dwrr does not see groups. */
static void rounds_do_not_see_groups(void)
{
	rg_init_group(1, 0, 10);
	thread_in(1, 1, 1, 0);
	rg_weight_join(&tasks[1], &threads[1]);
	rg_weight_refresh(&threads[1]);
	NEAR(threads[1].weight, 102 * 65536.0, 1000, 0);
	options.balance = RG_BALANCE_DWRR;
	rg_weight_refresh(&threads[1]);
	SAME(threads[1].weight, NICE_0);
}

/* A group that has received too much has lighter threads, of which only batch ones pay. */
static void surplus_changes_weights(void)
{
	struct rg_group *group = &groups[1];
	struct rg_thread thread = { .group = 1, .account.vtime = rg_some(0), .batch = 1 };

	rg_init_group(1, 0, 100);
	group->tolerance_ns = 50 * MS;
	SAME(rg_surplus_weight(&thread, NICE_0), NICE_0);
	group->surplus_ns = -SECOND;
	SAME(rg_surplus_weight(&thread, NICE_0), NICE_0);
	group->surplus_ns = 50 * MS;
	SAME(rg_surplus_weight(&thread, NICE_0), NICE_0);
	group->surplus_ns = 75 * MS;
	SAME(rg_surplus_weight(&thread, NICE_0), NICE_0 - NICE_0 * 15 / 32);
	group->surplus_ns = 100 * MS;
	SAME(rg_surplus_weight(&thread, NICE_0), NICE_0 / 16);
	group->surplus_ns = SECOND;
	SAME(rg_surplus_weight(&thread, NICE_0), NICE_0 / 16);
	thread.batch = 0;
	SAME(rg_surplus_weight(&thread, NICE_0), NICE_0);
}

/* One that is owed has heavier members, at last as heavy as itself. */
static void members_of_an_owed_group_are_heavier(void)
{
	struct rg_group *group = &groups[1];
	u64 tolerance = 50 * MS * 9;

	rg_init_group(1, 0, 100);
	SAME(rg_owed_tolerance(), tolerance);
	SAME(rg_owed_part(1, 16, 1024, NICE_0), NICE_0);
	group->surplus_ns = -2 * tolerance;
	SAME(rg_owed_part(1, 16, 1024, NICE_0), 64 * NICE_0);
	group->surplus_ns = -(3 * tolerance / 2);
	SAME(rg_owed_parts(group), 512);
	SAME(rg_owed_part(1, 16, 1024, NICE_0), NICE_0 + 63 * NICE_0 / 4);
	group->surplus_ns = -tolerance;
	SAME(rg_owed_part(1, 16, 1024, NICE_0), NICE_0);
	group->surplus_ns = 50 * MS;
	SAME(rg_owed_parts(group), 0);
	SAME(rg_owed_part(1, 16, 1024, NICE_0), NICE_0);
	SAME(rg_owed_part(1, 0, 1024, NICE_0), 0);
}

/* A subgroup is lifted as one: a thread of it keeps to its part. So is what the subgroup earns. */
static void a_subgroup_of_an_owed_group_is_lifted_as_one(void)
{
	rg_init_group(1, 0, 400);
	rg_init_group(2, 1, 100);
	thread_in(1, 1, 2, 0);
	rg_weight_join(&tasks[1], &threads[1]);
	threads[1].account.vtime = rg_some(0);
	groups[1].flat = 4 * NICE_0;
	groups[1].share.active = 4096; /* three members as heavy beside the subgroup, */
	groups[2].share.active = 2048; /* and a sibling in it */
	rg_weight_refresh(&threads[1]);
	SAME(threads[1].weight, NICE_0 / 2);
	SAME(rg_flat_weight(&groups[2]), NICE_0);
	groups[1].surplus_ns = -2 * 50 * MS * 9;
	rg_weight_refresh(&threads[1]);
	SAME(threads[1].weight, 2 * NICE_0);
	SAME(rg_flat_weight(&groups[2]), 4 * NICE_0);
	/* Others shall not wait for what it cannot have there. */
	threads[1].account.vtime = rg_some(1);
	rg_weight_refresh(&threads[1]);
	SAME(threads[1].weight, NICE_0 / 2);
}

/* The weight that a thread is charged by has it. */
static void surplus_changes_what_a_thread_weighs(void)
{
	rg_init_group(1, 0, 100);
	thread_in(1, 1, 1, 0);
	rg_weight_join(&tasks[1], &threads[1]);
	threads[1].batch = 1;
	groups[1].tolerance_ns = 50 * MS;
	groups[1].surplus_ns = SECOND;
	rg_weight_refresh(&threads[1]);
	SAME(threads[1].weight, NICE_0 / 16);
	groups[1].share.active = 1ULL << 60; /* as light as can be */
	rg_weight_refresh(&threads[1]);
	SAME(threads[1].weight, 1);
}

/* Of nested groups each changes it. */
static void surplus_of_each_level_counts(void)
{
	struct rg_thread thread = { .group = 2, .account.vtime = rg_some(0), .batch = 1 };

	rg_init_group(1, 0, 100);
	rg_init_group(2, 1, 100);
	groups[1].tolerance_ns = groups[2].tolerance_ns = 50 * MS;
	groups[1].surplus_ns = groups[2].surplus_ns = SECOND;
	SAME(rg_surplus_weight(&thread, NICE_0), NICE_0 / 256);
	for (u32 g = 3; g <= 8; g++)
		rg_init_group(g, g - 1, 100);
	thread.group = 8; /* the deepest */
	groups[2].surplus_ns = 0;
	SAME(rg_surplus_weight(&thread, NICE_0), NICE_0 / 16);
}
