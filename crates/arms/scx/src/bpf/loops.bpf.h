/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loops that the verifier can bound, also under a lock. */
#ifndef RG_LOOPS_BPF_H
#define RG_LOOPS_BPF_H

/*
 * A counter that begins at a number unknown to the verifier is not followed step by step, and the
 * compiler may not step through a table by addresses instead, which the verifier cannot bound. It
 * is hidden before it is compared: else the compiler compares the number before its last step, and
 * kernels before 7.0 take the one after it for unbounded. (The kernel's iterators, bpf_for, do all
 * this at some hundred instructions a loop.)
 */
#define rg_for(i, from, to, goes_on)                                                            \
	for (u32 i = rg_opaque(from); rg_hidden(i) && i < (u32)(to) && (goes_on); i++)
#ifndef RG_OLD_VERIFIER
#define RG_FOR(i, from, to) rg_for(i, from, to, can_loop)
#else
/*
 * Before Linux 6.15 the verifier compares registers that nothing reads any more, so it may take
 * each path through a loop's body for another state of the loop: those of a nested loop are more
 * than a million instructions. Registers that are 0 at each step are alike. The compiler keeps
 * fewer values in registers then, so kernels that need none of it have programs of their own.
 */
#define RG_FOR(i, from, to)                                                                     \
	rg_for(i, from, to,                                                                     \
	       rg_goes_on("r1 = 0; r2 = 0; r3 = 0; r4 = 0; r5 = 0;", "r1", "r2", "r3", "r4", "r5"))
#define RG_FOR_OUTER(i, from, to)                                                               \
	rg_for(i, from, to,                                                                     \
	       rg_goes_on("r0 = 0; r1 = 0; r2 = 0; r3 = 0; r4 = 0; r5 = 0;", "r0", "r1", "r2",  \
			  "r3", "r4", "r5"))
/* can_loop, and registers that it forgets. */
#define rg_goes_on(forget, ...)                                                                 \
	({                                                                                      \
		__label__ rg_ends, rg_known;                                                    \
		bool rg_on = 1;                                                                 \
                                                                                                \
		asm volatile goto(forget "may_goto %l[rg_ends]" ::: "memory", __VA_ARGS__       \
				  : rg_ends);                                                   \
		goto rg_known;                                                                  \
	rg_ends:                                                                                \
		rg_on = 0;                                                                      \
	rg_known:;                                                                              \
		rg_on;                                                                          \
	})
#endif
#define rg_hidden(number) ({ barrier_var(number); 1; })

#endif
