/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unit tests of the policy's parts, one after the other: each against a slow and obvious model over
 * random inputs of a fixed seed, or by its promise where that is one number. Says what differs.
 */
#include "platform.h"

#include "heap.c"
#include "pools.c"
#include "arithmetic.c"
#include "groups.c"
#include "budget.c"
#include "quota.c"
#include "promise.c"
#include "credits.c"
#include "target.c"
#include "steal.c"
#include "vruntime.c"
#include "wake.c"
#include "surplus.c"
#include "look.c"
#include "span.c"
#include "give_way.c"
#include "preempt.c"
#include "choose.c"
#include "scheduler.c"
#include "pick.c"
#include "resume.c"

struct part {
	const char *name;
	void (*run)(void);
	bool has_model; /* that a control can break */
};

#define MODEL(name) { #name, name, 1 }
#define PROMISE(name) { #name, name, 0 }

static const struct part parts[] = {
	MODEL(a_heap_is_a_sorted_list),
	PROMISE(a_deep_heap_is_in_order),
	MODEL(what_a_queue_publishes_is_the_least_of_its_heaps),
	PROMISE(no_vruntime_reads_as_none),
	PROMISE(each_heap_has_its_part),
	PROMISE(a_full_heap_moves_into_an_extent),
	PROMISE(extents_are_given_out_once),
	PROMISE(a_set_has_a_row_while_it_is_in_use),
	PROMISE(a_thread_finds_the_row_of_its_set),
	PROMISE(a_set_has_eight_rows_to_choose_from),
	MODEL(a_pool_is_a_list_by_arrival),
	PROMISE(a_late_arrival_is_found_from_the_end),
	PROMISE(keys_of_pools_differ),
	PROMISE(keys_are_spread),
	PROMISE(rows_of_pools_are_claimed_and_left),
	PROMISE(threads_of_a_process_and_a_nice_value_are_a_pool),
	PROMISE(a_process_with_one_account_is_one_pool),
	PROMISE(a_thread_that_yields_arrives_anew),
	PROMISE(orders_are_keys),
	PROMISE(utilisation_rises_awake_and_falls_asleep),
	MODEL(numbers_are_exact),
	MODEL(a_debt_is_paid_in_instalments),
	PROMISE(no_debt_is_above_a_second),
	MODEL(weights_are_counted_from_end_to_end),
	PROMISE(a_process_counts_once),
	PROMISE(all_levels_are_active),
	PROMISE(a_sum_in_between_is_no_less_than_the_member),
	PROMISE(the_top_weight_fades),
	PROMISE(rounds_do_not_see_groups),
	PROMISE(surplus_changes_weights),
	PROMISE(members_of_an_owed_group_are_heavier),
	PROMISE(a_subgroup_of_an_owed_group_is_lifted_as_one),
	PROMISE(surplus_changes_what_a_thread_weighs),
	PROMISE(surplus_of_each_level_counts),
	MODEL(a_turn_is_what_all_that_are_held_can_have),
	MODEL(a_budget_is_counted_period_by_period),
	PROMISE(a_budget_knows_that_its_timer_came),
	MODEL(a_turn_is_admitted_if_enough_is_left),
	MODEL(a_turn_is_short_where_others_have_spoken_for_the_rest),
	PROMISE(edges_of_a_budget),
	PROMISE(batch_threads_are_owed_more_than_their_turns),
	PROMISE(a_debt_is_paid_by_the_next_periods),
	MODEL(the_shortest_bursts_come_first),
	PROMISE(classes_come_back_after_a_while),
	PROMISE(a_period_ends),
	PROMISE(a_period_says_who_comes_first),
	PROMISE(classes_come_first_again),
	PROMISE(a_new_quota_begins_anew),
	PROMISE(what_runs_is_noted),
	PROMISE(a_brief_thread_has_not_run_for_much_longer_than_before),
	PROMISE(bursts_are_of_classes),
	PROMISE(a_timer_comes_once),
	PROMISE(what_runs_is_taken_off_all_groups),
	PROMISE(active_threads_are_counted),
	PROMISE(a_thread_that_leaves_lets_another_go),
	PROMISE(a_group_without_a_turn_holds_a_thread),
	PROMISE(a_thread_after_its_turn_gives_way),
	PROMISE(held_threads_stand_in_order),
	PROMISE(one_change_of_a_held_thread_wins),
	PROMISE(a_timer_sweeps_now_and_then),
	PROMISE(a_timer_comes_again_while_threads_are_held),
	PROMISE(a_turn_may_end_before_a_tick),
	PROMISE(a_quota_of_all_cpus_limits_nothing),
	PROMISE(the_nearest_promise_counts),
	MODEL(a_promise_fills_with_time),
	PROMISE(a_promise_begins),
	PROMISE(a_promise_pays_beside_others_alone),
	PROMISE(a_thread_is_urgent_after_half_of_the_time),
	PROMISE(a_thread_that_computes_leaves_half),
	PROMISE(what_is_lent_is_forgiven),
	PROMISE(wakes_are_counted),
	PROMISE(a_waking_thread_learns_its_promise),
	PROMISE(a_queue_knows_when_to_look),
	PROMISE(a_deadline_is_the_end_of_the_promise),
	PROMISE(the_earliest_deadline_is_found),
	PROMISE(an_urgent_crowd_is_asked_in_part),
	PROMISE(only_an_urgent_thread_comes_before_another),
	PROMISE(an_urgent_thread_is_fetched),
	PROMISE(a_credited_weight_is_feasible),
	MODEL(shares_of_credits_are_summed),
	PROMISE(credits_are_given_out_every_30_ms),
	PROMISE(a_credit_has_bounds),
	PROMISE(threads_earn_by_weight),
	PROMISE(a_sleeper_keeps_half),
	PROMISE(earnings_have_a_bound),
	PROMISE(a_group_shares_what_it_earns),
	PROMISE(the_balance_is_of_active_threads),
	PROMISE(a_tick_in_ten_ms_counts),
	PROMISE(the_best_class_goes_first),
	PROMISE(a_waking_thread_preempts_a_lower_class),
	PROMISE(a_better_class_comes_from_another_cpu),
	PROMISE(domains_come_into_being),
	MODEL(the_machines_least_target_is_that_of_busy_caches),
	PROMISE(a_domain_that_slept_takes_up),
	PROMISE(a_target_rises_by_intervals),
	PROMISE(what_cannot_keep_up_is_left_behind),
	PROMISE(what_could_keep_up_is_not),
	PROMISE(the_first_domain_is_left_behind),
	PROMISE(a_queue_needs_what_its_threads_do),
	PROMISE(a_heavy_thread_needs_nothing_more),
	PROMISE(many_are_estimated_from_some),
	PROMISE(a_pull_evens_two_queues),
	PROMISE(small_needs_are_tolerated),
	PROMISE(a_cpu_looks_once_its_threads_have_reached_the_target),
	PROMISE(a_target_rises_as_far_as_the_least_that_waits),
	PROMISE(a_look_goes_on_where_the_last_one_ended),
	PROMISE(a_waking_thread_moves_up),
	PROMISE(a_sleeping_thread_remembers_the_target),
	PROMISE(a_look_tolerates_a_part_of_the_interval),
	PROMISE(an_idle_cpu_takes_from_its_node_first),
	PROMISE(a_woken_cpu_takes_what_it_was_woken_for),
	PROMISE(a_cpu_asks_eight_queues_at_a_time),
	PROMISE(only_lesser_vruntimes_are_taken_where_there_is_a_limit),
	PROMISE(a_cpu_far_ahead_takes_from_a_queue_far_behind),
	PROMISE(the_least_here_is_what_the_cpu_may_take),
	PROMISE(a_pull_between_caches_evens_them),
	PROMISE(two_queues_are_nearer_after_a_move),
	PROMISE(a_new_thread_goes_to_the_emptiest_queue),
	PROMISE(a_round_takes_what_has_not_used_it_up),
	PROMISE(threads_of_a_queue_are_counted),
	PROMISE(sets_that_wait_beyond_are_fetched_early),
	PROMISE(a_search_for_a_new_threads_cpu_goes_on),
	PROMISE(two_queues_are_held_together),
	PROMISE(a_thread_is_charged_by_its_weight),
	PROMISE(a_thread_that_has_a_cpu_to_itself_gets_little_ahead),
	PROMISE(a_thread_that_has_a_cpu_is_not_left_behind),
	PROMISE(a_charge_reaches_all_accounts),
	PROMISE(a_process_is_charged_for_its_threads),
	PROMISE(an_account_keeps_its_distance),
	PROMISE(a_new_account_begins_half_a_slice_behind),
	PROMISE(a_thread_competes_in_its_set),
	PROMISE(virtual_time_goes_on_by_what_all_receive),
	PROMISE(bound_threads_have_no_clock),
	PROMISE(a_cpu_shows_what_it_runs),
	PROMISE(the_credit_of_a_waking_thread),
	PROMISE(a_waking_thread_is_placed),
	PROMISE(debts_of_a_waking_thread),
	PROMISE(a_thread_that_was_cut_off_keeps_its_distance),
	PROMISE(a_waking_thread_comes_before_what_runs_on),
	PROMISE(a_bound_thread_begins_where_its_cpu_is),
	PROMISE(a_surplus_is_what_exceeds_the_due),
	PROMISE(all_levels_have_a_surplus),
	PROMISE(a_tolerance_is_of_a_turn),
	PROMISE(what_is_owed_has_a_bound),
	PROMISE(a_group_earns_in_one_virtual_time),
	PROMISE(a_moment_is_of_a_virtual_time),
	PROMISE(a_surplus_delays_who_wakes),
	PROMISE(a_row_begins_without_its_last_ones_surplus),
	PROMISE(groups_are_within_each_other),
	PROMISE(a_heavier_group_waits_for_less),
	PROMISE(a_lighter_group_waits_as_before),
	PROMISE(leads_are_without_moves),
	MODEL(the_min_vruntime_is_the_least_of_all),
	PROMISE(a_look_goes_on_by_two_busy_cpus),
	PROMISE(a_queue_may_have_a_look_of_its_own),
	PROMISE(offers_are_the_least),
	PROMISE(a_min_vruntime_is_of_the_settled),
	PROMISE(the_settled_of_a_heap),
	PROMISE(a_heavy_thread_does_not_hold_it_back),
	PROMISE(an_infeasible_weight_is_more_than_the_mean),
	PROMISE(a_look_notes_who_competes),
	PROMISE(waiting_is_remembered_for_some_looks),
	PROMISE(batch_threads_hold_the_clock_for_some_looks),
	PROMISE(means_of_looks_fade),
	PROMISE(bound_threads_are_where_their_cpu_is),
	PROMISE(what_is_lent_is_not_looked_at),
	PROMISE(the_foremost_cpu_is_remembered),
	PROMISE(a_look_begins_anew),
	PROMISE(settled_threads_that_wait_are_followed),
	PROMISE(a_set_far_behind_is_raised),
	PROMISE(a_placed_thread_puts_no_set_behind),
	PROMISE(a_set_of_other_cpus_is_left_alone),
	PROMISE(a_set_is_where_it_waits_in_any_queue),
	PROMISE(what_runs_is_raised_to_where_its_set_waits),
	PROMISE(a_newcomer_has_no_lead),
	PROMISE(one_virtual_time_is_converged),
	PROMISE(bound_threads_come_after_the_sets),
	PROMISE(bound_threads_come_back_to_the_sets),
	PROMISE(a_bound_thread_alone_is_raised_by_itself),
	PROMISE(sets_that_fall_behind_are_raised_together),
	PROMISE(a_set_takes_part_in_raises_elsewhere),
	PROMISE(a_span_knows_the_last_two),
	PROMISE(a_cpu_is_wanted_by_bound_threads),
	PROMISE(what_runs_gives_way_to_an_idle_cpu),
	PROMISE(an_idle_cpu_relieves_a_crowded_one),
	PROMISE(what_runs_leaves_for_a_cpu_that_runs_later),
	PROMISE(what_runs_leaves_for_another_queue),
	PROMISE(raises_are_noted_of_the_last_sets),
	PROMISE(a_set_beyond_counts),
	PROMISE(a_thread_leaves_by_way_of_another_cpu),
	PROMISE(a_tick_lets_what_runs_leave),
	PROMISE(sets_of_other_queues_are_noted),
	PROMISE(what_runs_leaves_for_the_first_cpu),
	PROMISE(a_set_beyond_has_a_floor),
	PROMISE(the_foremost_cpu_is_preempted),
	PROMISE(a_cpu_beyond_is_preempted),
	PROMISE(a_large_queue_is_asked_in_part),
	PROMISE(a_large_machine_is_asked_in_part),
	PROMISE(what_is_urgent_preempts),
	PROMISE(a_helper_is_preempted_early),
	PROMISE(a_thread_that_computes_hands_on),
	PROMISE(a_lone_waking_thread_passes_by),
	PROMISE(an_earlier_sibling_outlasts_its_follower),
	PROMISE(a_follower_is_shown_when_it_runs),
	PROMISE(a_full_bucket_makes_a_batch_thread),
	PROMISE(a_helper_is_known_from_its_bursts),
	PROMISE(bursts_have_means),
	PROMISE(batch_threads_hold_the_clock),
	PROMISE(a_wait_begins_with_a_burst),
	PROMISE(the_first_of_a_pool_runs_on_its_least_vruntime),
	PROMISE(orphans_are_adopted_or_dropped),
	PROMISE(a_thread_behind_many_orphans_is_found),
	PROMISE(a_thread_alone_has_its_own_vruntime),
	PROMISE(what_replaced_an_old_vruntime_is_known),
	PROMISE(threads_of_sets_are_counted),
	PROMISE(threads_without_room_are_found_by_a_walk),
	PROMISE(a_cpu_has_two_queues),
	PROMISE(a_set_that_does_not_admit_the_cpu_is_refused),
	PROMISE(a_thread_that_is_not_there_yet_is_put_back),
	PROMISE(a_cpus_own_thread_is_compared),
	PROMISE(batch_threads_stay_on_their_cpu),
	PROMISE(a_thread_that_owes_waits_on),
	PROMISE(who_has_waited_for_six_seconds_goes_first),
	PROMISE(a_cpu_shows_its_own_thread_again),
	PROMISE(a_picked_thread_is_weighed_anew),
	PROMISE(a_pool_without_vruntimes_leaves_its_row),
	PROMISE(another_queue_is_asked_without_an_own_thread),
	PROMISE(a_thread_that_cannot_be_moved_is_not_taken),
	PROMISE(a_thread_of_another_queue_is_renormalised),
	PROMISE(a_walk_finds_what_is_not_listed),
	PROMISE(a_question_begins_without_instalments),
	PROMISE(a_dispatch_compares_what_runs),
	PROMISE(a_heap_without_threads_leaves_its_extent),
	PROMISE(a_new_thread_is_blank),
	PROMISE(a_thread_becomes_active),
	PROMISE(a_cut_off_thread_comes_back),
	PROMISE(an_idle_cpu_takes_a_waking_thread_at_once),
	PROMISE(a_waking_thread_goes_to_its_victim),
	PROMISE(a_bound_thread_preempts_its_cpu),
	PROMISE(an_enqueued_thread_waits),
	PROMISE(a_promised_thread_tells_its_queue),
	PROMISE(a_cpu_chooses),
	PROMISE(what_goes_on_is_asked_anew),
	PROMISE(a_thread_stops),
	PROMISE(a_tick_meets_what_runs),
	PROMISE(a_yield_ends_the_slice),
	PROMISE(an_idle_cpu_asks_again),
	PROMISE(walks_of_an_idle_cpu_end),
	PROMISE(eight_queues_are_looked_at_beyond),
	PROMISE(a_thread_is_handed_on_when_it_wakes),
	PROMISE(order_by_vruntime_is_that_of_the_new_queue),
	PROMISE(an_idle_cpu_takes_from_another_queue_in_dispatch),
	PROMISE(threads_are_held_and_let_go),
	PROMISE(a_timer_lets_go_as_many_as_may),
	PROMISE(a_thread_without_a_turn_leaves_its_cpu),
	PROMISE(a_held_thread_may_leave),
	PROMISE(a_thread_goes_from_one_holder_to_the_next),
	PROMISE(a_chosen_thread_has_its_turn),
	PROMISE(what_could_not_be_moved_is_tried_again),
	PROMISE(a_held_batch_thread_is_owed_its_turn),
	PROMISE(a_turn_is_reckoned_with_the_thread_itself),
	PROMISE(a_thread_is_let_go_at_an_idle_cpu),
};

static u32 differences_of(const struct part *part, bool broken)
{
	differences = 0;
	control = broken;
	seed = 0x9e3779b97f4a7c15ULL;
	reset(8, 4);
	part->run();
	return differences;
}

int main(void)
{
	u32 failed = 0;

	for (u32 i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		bool holds = !differences_of(&parts[i], 0);
		bool notices = !parts[i].has_model || differences_of(&parts[i], 1);

		if (!holds || !notices)
			printf("%s: %s\n", parts[i].name, holds ? "control" : "differs");
		failed += !holds || !notices;
	}
	return failed != 0;
}
