/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is computed with numbers alone, against the same in 128 bits or in floating point. */

typedef unsigned __int128 wide;

static u64 some_weight(void)
{
	return 1 + (any() >> between(24, 62));
}

static u64 some_time(void)
{
	return any() >> between(18, 62);
}

static void virtual_time_is_exact(void)
{
	u64 ran_ns = some_time(), weight = some_weight();
	u64 counted = ran_ns < 1ULL << 36 ? ran_ns : 1ULL << 36;

	SAME(rg_virtual(ran_ns, weight), (u64)(((wide)counted << 26) / weight) + control);
	SAME(rg_held_back(5, weight), 5 - rg_virtual(14 * MS, weight) - 300 * MS);
	SAME(rg_vruntime_most(5, weight), 5 + rg_virtual(18 * MS, weight) + 300 * MS);
	SAME(rg_virtual(ran_ns, 0), 0);
}

/* What one multiplication makes of a mask, the control. */
static u64 mixed_once(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

static int by_number(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

/* Adds a core of 96, of two CPUs each. */
static void add_core(u64 mask[3], u32 core)
{
	mask[core / 64] |= 1ULL << core % 64;
	mask[(core + 96) / 64] |= 1ULL << (core + 96) % 64;
}

/* How many masks have the number of another one: of all pairs of cores, and of all but a pair. */
static u32 masks_of_one_number(u64 (*mix)(u64, u64))
{
	static u32 numbers[96 * 95];
	u32 count = 0, same = 0;

	for (u32 i = 0; i < 96; i++) {
		for (u32 j = 0; j < i; j++) {
			u64 mask[3] = { 0 }, pair = 0, rest = 0;

			add_core(mask, i);
			add_core(mask, j);
			for (u32 k = 0; k < 3; k++) {
				pair = mix(pair, mask[k]);
				rest = mix(rest, ~mask[k]);
			}
			numbers[count++] = rg_mask_number(pair);
			numbers[count++] = rg_mask_number(rest);
		}
	}
	qsort(numbers, count, sizeof(numbers[0]), by_number);
	for (u32 i = 1; i < count; i++)
		same += numbers[i] == numbers[i - 1];
	return same;
}

static void masks_of_many_words_have_numbers_of_their_own(void)
{
	SAME(masks_of_one_number(rg_mask_mix), control);
	SAME(masks_of_one_number(mixed_once), 243);
	SAME(rg_mask_number(0), 1);
	SAME(rg_mask_number(1ULL << 32), 1);
}

/* Products that are shifted on the way. */
static void products_are_near(void)
{
	u64 span = any() >> between(20, 60), weight = between(1 << 20, 1ULL << 33);
	u32 used = (u32)below(1025);
	double product = (double)(span + control * span) * weight;

	if (product < 1ULL << 56)
		NEAR(rg_received(span, weight), product / (1 << 26), 60000, weight >> 20);
	NEAR(rg_earned(span, weight), product / (1 << 26), 4000, weight >> 17);
	NEAR(rg_need_of(-span, weight, used, 0), product * used / (1ULL << 36), 4000,
	     (weight >> 17) + 1025);
	SAME(rg_need_of(span + 1, weight, 1024, 1), 0);
	SAME(rg_earned(1ULL << 50, weight), rg_earned(1ULL << 46, weight));
}

static void what_fades_is_near_the_power_of_two(void)
{
	u32 value = (u32)below(1025);
	u64 span = below(400 * MS);
	double left = value;

	for (u64 half = 0; half < span / (32 * MS); half++)
		left /= 2;
	left -= left * (span % (32 * MS)) / (64.0 * MS);
	NEAR(rg_faded(value, span), left + 20 * control, 1e9, 2);
	SAME(rg_faded(1024, 320 * MS), 1);
	SAME(rg_faded(1024, 352 * MS), 0);
	SAME(rg_faded(1024, 64 * MS), 256);
	SAME(rg_faded(1000, 16 * MS), 750);
}

static void utilisation_rises_awake_and_falls_asleep(void)
{
	struct rg_thread thread = { .utilised = 512, .woke_at = now, .slept_at = now };

	SAME(rg_utilisation(&thread, now), 512);
	SAME(rg_utilisation(&thread, now + 32 * MS), 768);
	rg_utilisation_block(&thread, now + 32 * MS);
	SAME(thread.utilised, 768);
	rg_utilisation_wake(&thread, now + 32 * MS);
	SAME(thread.utilised, 384);
}

/* How far a group is past what costs nothing. */
static void parts_are_exact(void)
{
	u64 off = below(SECOND), tolerance = below(SECOND / 2), window = between(1, SECOND);
	u64 past = off > tolerance ? (off - tolerance) * 1024 / window : 0;

	SAME(rg_parts_past(off, tolerance, window), (past < 1024 ? past : 1024) + control);
}

static void means_are_exact(void)
{
	u64 mean = below(SECOND), value = below(SECOND);
	u32 shift = (u32)between(1, 7);
	u64 recent = between(1, 1 << shift), got = mean;

	SAME(rg_mean(0, value, shift), value);
	mean++;
	NEAR(rg_mean(mean, value, shift), mean + ((double)value - mean) / (1 << shift), 1e12, 2);
	mean--;
	rg_expect_mean(&got, value, recent, shift);
	NEAR(got, mean + ((double)value - mean) * recent / (1 << shift), 1e12, 2);
	NEAR(rg_expect_most(mean, value), value > mean * 0.875 ? value : mean * 0.875, 1e12, 1);
	value = 1 + below(1 << 16);
	NEAR(rg_reweighed(500 + mean, 500, value), 500 + mean / 65536.0 * value, 1e12, value);
	SAME(rg_reweighed(-mean - 1, 0, value), -mean - 1);
}

static void numbers_are_exact(void)
{
	for (u32 i = 0; i < 3000; i++) {
		virtual_time_is_exact();
		products_are_near();
		what_fades_is_near_the_power_of_two();
		parts_are_exact();
		means_are_exact();
	}
}

/* A debt is paid as far as an instalment ahead of where the payer stands, and then all. */
static void a_debt_is_paid_in_instalments(void)
{
	for (u32 i = 0; i < 2000; i++) {
		struct rg_thread thread = { .weight = some_weight() };
		u64 owed = thread.owes_ns = below(SECOND), from = 2 * SECOND + below(SECOND);
		u64 vruntime = SECOND + from - below(2 * SECOND);
		u64 most, all, paid;

		thread.top = (u32)between(1, 99999);
		thread.instalments = (u32)below(23);
		most = from + (100 * MS * 1024 / thread.top
			       << (thread.instalments < 20 ? thread.instalments : 20));
		all = vruntime + rg_virtual(owed, thread.weight);
		paid = rg_debt_pay(&thread, from, vruntime);
		if ((long long)(vruntime - most) >= 0)
			SAME(paid, vruntime + control);
		else
			SAME(paid, (all <= most ? all : most) + control);
		NEAR(thread.owes_ns, owed - (double)(paid - vruntime) * thread.weight / (1 << 26),
		     1e9, (thread.weight >> 20) + (double)(paid - vruntime) / (1 << 22) + 1);
		owed = thread.owes_ns;
		SAME(rg_debt_pay_all(&thread, paid), paid + rg_virtual(owed, thread.weight));
		SAME(thread.owes_ns, 0);
	}
}

/* What a thread of a group has received is owed at once, and no more than a second. */
static void no_debt_is_above_a_second(void)
{
	struct rg_thread thread = { .weight = 65536, .top = 1024, .group = 1, .instalments = 3 };
	struct rg_vtime vtime = { .min_vruntime = 1000 };

	rg_debt_charge(&thread, &vtime, 5 * SECOND);
	SAME(thread.account.vruntime, 1000 + 100 * MS);
	NEAR(thread.owes_ns, SECOND - 100 * MS / 1024.0, 1e6, 1000);
	SAME(thread.instalments, 0);
	/* From where it stands, if that is ahead. */
	rg_debt_charge(&thread, &vtime, 0);
	SAME(thread.account.vruntime, 1000 + 200 * MS);
	thread.owes_ns = 0;
	thread.weight = NICE_0;
	rg_debt_charge(&thread, &vtime, 30 * MS);
	SAME(thread.account.vruntime, 1000 + 230 * MS);
	SAME(thread.owes_ns, 0);
	TRUE(rg_may_owe(&thread));
	thread.group = 0;
	FALSE(rg_may_owe(&thread));
	thread.group = 1;
	options.fair = RG_FAIR_PROCESS;
	FALSE(rg_may_owe(&thread));
	options.fair = RG_FAIR_THREAD;
	options.min_vruntime = RG_MIN_VRUNTIME_QUEUE;
	FALSE(rg_may_owe(&thread));
}
