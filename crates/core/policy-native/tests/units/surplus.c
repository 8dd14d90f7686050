/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What groups have received beyond their due (surplus.h), and new weights (reweigh.h). */

/* Groups 1 > 2, of which each has an active sum of so much. */
static void two_groups(u64 active)
{
	rg_init_group(1, 0, 100);
	rg_init_group(2, 1, 50);
	groups[1].share.active = 512;
	groups[2].share.active = active;
	thread_in(1, 1, 2, 0);
	threads[1].counted = 1024;
}

static void vtime_goes_to(u32 set, long long ms)
{
	shared.cpusets[set].vtime.min_vruntime = at(ms);
}

/* What it received, less what its weight earns while virtual time advances. */
static void a_surplus_is_what_exceeds_the_due(void)
{
	two_groups(1024);
	SAME(groups[1].seen, rg_moment(0, vtime_of_all()));
	rg_surplus_charge(1, 0, 1, 0); /* a group's weight is known once its parent's is */
	rg_surplus_charge(1, 0, 1, 5 * MS);
	SAME(groups[1].flat, NICE_0);
	SAME(groups[2].flat, NICE_0);
	SAME(groups[1].surplus_ns, 5 * MS);
	vtime_goes_to(0, 3);
	rg_surplus_charge(1, 0, 1, MS);
	NEAR(groups[2].surplus_ns, 3.0 * MS, 100, 0);
	rg_surplus_charge(1, 0, 1, MS);
	NEAR(groups[2].surplus_ns, 4.0 * MS, 100, 0);
	groups[1].share.active = 2048; /* half of its parent's weight */
	vtime_goes_to(0, 13);
	rg_surplus_charge(1, 0, 1, 0);
	SAME(groups[2].flat, NICE_0 / 4);
	NEAR(groups[2].surplus_ns, 1.5 * MS, 50, 0);
	rg_surplus_charge(1, 0, 0, MS); /* no other one wants it */
	SAME(groups[1].surplus_ns + groups[2].surplus_ns, 0);
}

/* Of eight groups within each other each has it. */
static void all_levels_have_a_surplus(void)
{
	for (u32 g = 1; g <= 9; g++)
		rg_init_group(g, g - 1, 100);
	thread_in(1, 1, 9, 0);
	rg_surplus_charge(1, 0, 1, 5 * MS);
	for (u32 g = 1; g <= 9; g++)
		SAME(groups[g].surplus_ns, g > 1 ? 5 * MS : 0);
}

/* It has 50 ms in advance, and what its threads get in a turn. */
static void a_tolerance_is_of_a_turn(void)
{
	two_groups(1024);
	vtime_of_all()->turn = 20 * MS;
	rg_surplus_charge(1, 0, 1, 0);
	NEAR(groups[1].tolerance_ns, 70.0 * MS, 1000, 0);
	vtime_of_all()->turn = 5 * SECOND;
	rg_surplus_charge(1, 0, 1, 0);
	NEAR(groups[1].tolerance_ns, 1050.0 * MS, 1000, 0);
}

static void what_is_owed_has_a_bound(void)
{
	u64 most = 2 * 50 * MS * 9;

	two_groups(1024);
	rg_surplus_charge(1, 0, 1, 0);
	groups[1].surplus_ns = -most;
	rg_surplus_charge(1, 0, 1, 0);
	SAME(-groups[1].surplus_ns, most);
	groups[1].surplus_ns = -most - 1;
	rg_surplus_charge(1, 0, 1, 0);
	SAME(-groups[1].surplus_ns, most);
	/* A group owes nothing of a parent that is itself owed. */
	groups[1].surplus_ns = -most;
	groups[2].surplus_ns = 9 * MS;
	rg_surplus_charge(1, 0, 1, 0);
	SAME(groups[2].surplus_ns, 0);
	groups[1].surplus_ns = -most / 2;
	groups[2].surplus_ns = 9 * MS;
	rg_surplus_charge(1, 0, 1, 0);
	SAME(groups[2].surplus_ns, 9 * MS);
	groups[1].surplus_ns = -most;
	groups[2].surplus_ns = -9 * MS;
	rg_surplus_charge(1, 0, 1, 0);
	SAME(groups[2].surplus_ns, -9 * MS);
}

/* It earns in one virtual time: the first, until it is left or a second was received elsewhere. */
static void a_group_earns_in_one_virtual_time(void)
{
	struct rg_group *group = &groups[1];

	two_groups(1024);
	SAME(rg_clock_of(group, 3, MS), 3); /* the first charge says where */
	group->seen = rg_moment(3, vtime_of_set(3));
	group->aside_ns = 0;
	SAME(rg_clock_of(group, 5, 600 * MS), 3);
	SAME(rg_clock_of(group, 5, 400 * MS), 3);
	SAME(group->aside_ns, SECOND);
	SAME(rg_clock_of(group, 5, 1), 5);
	SAME(group->aside_ns, 0);
	SAME(rg_clock_of(group, 5, MS), 3);
	SAME(rg_clock_of(group, 3, MS), 3);
	SAME(group->aside_ns, 0);
	SAME(rg_clock_of(group, 2, MS), 2); /* of more CPUs */
	vtime_of_set(3)->used_at = SECOND;
	vtime_of_set(5)->used_at = SECOND + 20 * MS;
	SAME(rg_clock_of(group, 5, MS), 3);
	vtime_of_set(5)->used_at++;
	SAME(rg_clock_of(group, 5, MS), 5);
	FALSE(rg_is_left(5, 3));
}

/* A moment says of which virtual time it is. What one passes a second time was earned. */
static void a_moment_is_of_a_virtual_time(void)
{
	struct rg_group *group = &groups[1];
	u64 moment;

	vtime_goes_to(3, 100);
	vtime_of_set(3)->shift = 40 * MS;
	moment = rg_moment(3, vtime_of_set(3));
	SAME(moment & 16383, 3);
	SAME(moment >> 14, at(60) >> 14);
	SAME(rg_since(moment), 0);
	vtime_goes_to(3, 200);
	NEAR(rg_since(moment), 100.0 * MS, 1000, 20000);
	group->seen = moment;
	moment = rg_moment(3, vtime_of_set(3));
	NEAR(rg_advance(group, moment), 0, 1, 0);
	vtime_goes_to(3, 300);
	NEAR(rg_advance(group, rg_moment(3, vtime_of_set(3))), 100.0 * MS, 1000, 20000);
	SAME(rg_advance(group, moment), 0);
	SAME(group->seen, rg_moment(3, vtime_of_set(3)));
	/* In another one since it was there last: from where that is now. */
	SAME(rg_advance(group, rg_moment(4, vtime_of_set(4))), 0);
	SAME(group->seen, rg_moment(4, vtime_of_set(4)));
}

/* What exceeds twice the tolerance is waited for; a group that slept is owed nothing. */
static void a_surplus_delays_who_wakes(void)
{
	two_groups(1024);
	rg_surplus_charge(1, 0, 1, 0);
	groups[2].surplus_ns = 100 * MS;
	SAME(rg_surplus_delay(1, 0), 0);
	groups[2].surplus_ns = 130 * MS;
	SAME(rg_surplus_delay(1, 0), 30 * MS);
	groups[1].surplus_ns = 170 * MS;
	SAME(rg_surplus_delay(1, 0), 70 * MS);
	groups[1].surplus_ns = 20 * SECOND;
	SAME(rg_surplus_delay(1, 0), 4 * SECOND);
	groups[1].surplus_ns = groups[2].surplus_ns = -MS;
	rg_surplus_delay(1, 0);
	SAME(groups[1].surplus_ns, 0); /* 512 of group 2 is all that is active in it */
	SAME(groups[2].surplus_ns, 0);
	groups[1].share.active = 513;
	groups[2].share.active = 1025;
	groups[1].surplus_ns = groups[2].surplus_ns = -MS;
	SAME(rg_surplus_delay(1, 0), 0);
	SAME(groups[1].surplus_ns, -MS);
	SAME(groups[2].surplus_ns, -MS);
	groups[1].share.active = 512; /* group 2 alone, which was awake: group 1 has not slept */
	SAME(rg_surplus_delay(1, 0), 0);
	SAME(groups[1].surplus_ns, -MS);
}

static void a_row_begins_without_its_last_ones_surplus(void)
{
	groups[1].surplus_ns = groups[1].seen = 7;
	groups[1].share.active = groups[1].share.counted = 9;
	groups[1].idle = 1;
	groups[1].promise.within_ns = groups[1].budget.limited = 3;
	vtime_goes_to(0, 70);
	rg_init_group(1, 4, 250);
	SAME(groups[1].seen, rg_moment(0, vtime_of_all())); /* from where virtual time is now */
	SAME(groups[1].surplus_ns + groups[1].share.active + groups[1].share.counted, 0);
	SAME(groups[1].idle + groups[1].promise.within_ns + groups[1].budget.limited, 0);
	SAME(groups[1].aside_ns, SECOND);
	SAME(groups[1].budget.due_at, RG_NEVER);
	SAME(groups[1].parent, 4);
	SAME(groups[1].weight, 250);
}

/* ---- reweigh.h ---- */

static void groups_are_within_each_other(void)
{
	for (u32 g = 1; g < 9; g++)
		rg_init_group(g, g - 1, 100);
	for (u32 at = 0; at < 9; at++)
		for (u32 above = 1; above < 9; above++)
			SAME(rg_is_within(at, above), above <= at);
}

/* A thread of a group waits in a queue, alone in its pool or not, ahead by so much. */
static void waits_ahead(u32 row, u32 group, u32 queue, long long ms, bool alone)
{
	enters(row, queue, at(ms));
	rg_index_leave_row(row);
	threads[row].group = group;
	threads[row].pool = row << 1 | alone;
	rg_index_enter_row(row, queue, at(ms));
	threads[row].counted = 1024;
	rg_weight_change(group, 1024);
}

static u64 waits_at(u32 row)
{
	struct rg_queue *queue = &queues[rg_number(threads[row].waits)];
	u32 i = 0;

	while (rg_heap_at(&queue->heaps[0], i)->row != rg_number(threads[row].row))
		i++;
	return rg_heap_at(&queue->heaps[0], i)->vruntime;
}

/* When a group becomes heavier its leads become less by as much, wherever its threads wait. */
static void a_heavier_group_waits_for_less(void)
{
	reset(8, 4);
	rg_init_group(1, 0, 100);
	rg_init_group(2, 1, 100);
	rg_init_group(3, 0, 100);
	waits_ahead(1, 2, 0, 40, 1);
	waits_ahead(2, 1, 1, 80, 0);
	waits_ahead(3, 3, 0, 30, 1);
	waits_ahead(4, 2, 11, 60, 1);
	waits_ahead(5, 2, 0, -20, 1);
	for (u32 row = 6; row < 20; row++)
		waits_ahead(row, 1, 1, 100 + row, 1);
	rg_weigh_group(1, 400);
	NEAR(waits_at(1) - at(0), 10.0 * MS, 1000, 0);
	SAME(threads[1].account.vruntime, waits_at(1));
	SAME(pools[rg_number(threads[1].row)].vruntime, waits_at(1));
	NEAR(waits_at(2) - at(0), 20.0 * MS, 1000, 0);
	SAME(threads[2].account.vruntime, at(80));
	SAME(waits_at(3), at(30));
	NEAR(waits_at(4) - at(0), 15.0 * MS, 1000, 0);
	SAME(waits_at(5), at(-20));
	for (u32 row = 6; row < 20; row++)
		NEAR(waits_at(row) - at(0), (100.0 + row) * MS / 4, 1000, 0);
	NEAR(queues[1].least - at(0), 20.0 * MS, 1000, 0);
	SAME(queues[0].least, at(-20));
	SAME(groups[1].share.counted, 4096);
}

static void a_lighter_group_waits_as_before(void)
{
	for (u32 reason = 0; reason < 4; reason++) {
		reset(8, 4);
		rg_init_group(1, 0, 100);
		waits_ahead(1, 1, 0, 40, 1);
		if (reason == 1)
			options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
		if (reason == 2)
			groups[1].share.active = 0;
		rg_weigh_group(1, reason == 3 ? 50 : 200);
		NEAR(waits_at(1) - at(0), (reason ? 40.0 : 20.0) * MS, 1000, 0);
	}
	/* The root's weight of an idle group is 3. */
	reset(8, 4);
	rg_init_group(1, 0, 100);
	rg_idle_group(1, 1);
	waits_ahead(1, 1, 0, 1024, 1);
	SAME(rg_flat_weight(&groups[1]), 3 * 65536);
	rg_idle_group(1, 0);
	NEAR(waits_at(1) - at(0), 3.0 * MS, 100, 0);
}

/* Leads are from the min_vruntime, without what the virtual time was moved by. */
static void leads_are_without_moves(void)
{
	reset(8, 4);
	rg_init_group(1, 0, 100);
	vtime_of_all()->shift = 500 * MS;
	vtime_goes_to(0, 510);
	waits_ahead(1, 1, 0, 50, 1);
	rg_weigh_group(1, 200);
	NEAR(waits_at(1) - at(0), 30.0 * MS, 1000, 0);
}

/* Of two groups of one parent a heavier one counts with its new weight in the sum of both. */
static void a_heavier_group_is_one_of_its_parents(void)
{
	reset(8, 4);
	rg_init_group(1, 0, 100);
	rg_init_group(2, 1, 100);
	rg_init_group(3, 1, 100);
	waits_ahead(1, 2, 0, 60, 1);
	waits_ahead(2, 3, 0, 60, 1);
	rg_surplus_charge(1, 0, 1, 0); /* a group's weight is known once its parent's is */
	rg_weigh_group(2, 300);
	NEAR(waits_at(1) - at(0), 40.0 * MS, 1000, 0);
	SAME(waits_at(2), at(60));
}
