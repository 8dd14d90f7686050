/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Claim.   A pool is found at the row that holds its key, and claims one only that no other pool
 *          has. No two rows ever belong to one key, and a row lies in its bucket.
 * Bound.   One bucket of 8 rows, and any row as a hint. Any consistent bucket is the start, so
 *          any number of steps.
 * Assumed. Keys are 1 to 15. No other CPU claims at the same moment.
 * Run.     --unwind 9
 * Control. index/pools.h | (now && !(now & RG_POOL_EMPTY)) | (now && !(now & RG_POOL_EMPTY) && i)
 * Control. index/pools.h | if (pool->key == key) | if ((pool->key | RG_POOL_EMPTY) == empty)
 * Control. index/pools.h | (RG_POOLS - RG_BUCKET_ROWS) | (RG_POOLS - 1)
 */
#include "proof.h"

#include "index/pools.h"

PROOF_TABLE(struct rg_pool, pools);
static struct rg_pool elsewhere;
static u32 bucket;

struct rg_pool *rg_pool_at(u32 row)
{
	PROVE(row < RG_POOLS);
	for (u32 i = 0; i < RG_BUCKET_ROWS; i++)
		if (row == bucket + i)
			return pools[i];
	return &elsewhere;
}

static u64 name(u32 i)
{
	return pools[i]->key & ~RG_POOL_EMPTY;
}

/* No two rows that were ever claimed have the same key. */
static bool consistent(void)
{
	bool fine = 1;

	for (u32 i = 0; i < RG_BUCKET_ROWS; i++) {
		fine &= !pools[i]->key || name(i);
		for (u32 j = 0; j < i; j++)
			fine &= !pools[i]->key || name(i) != name(j);
	}
	return fine;
}

/* One of 16 keys, and whether its row is empty: a bucket only asks which keys are equal. */
static u64 some_key(void)
{
	return (nondet_u32() & 15) | (nondet_bool() ? RG_POOL_EMPTY : 0);
}

int main(void)
{
	u64 key = some_key() & ~RG_POOL_EMPTY, any = nondet_u64(), before[RG_BUCKET_ROWS];
	rg_maybe hint = nondet_u32() & (RG_POOLS - 1), row;
	u32 live = 0;

	bucket = rg_pool_bucket(key);
	PROVE(rg_pool_bucket(any) + RG_BUCKET_ROWS <= RG_POOLS);
	PROVE(!(rg_pool_bucket(any) & (RG_BUCKET_ROWS - 1)));
	elsewhere.key = some_key();
	ASSUME(key && (elsewhere.key & ~RG_POOL_EMPTY) != key);
	for (u32 i = 0; i < RG_BUCKET_ROWS; i++)
		before[i] = pools[i]->key = some_key();
	ASSUME(consistent());
	row = rg_pool_find(key, hint, 1);
	if (!row)
		row = rg_pool_claim(key);
	PROVE(consistent());
	for (u32 i = 0; i < RG_BUCKET_ROWS; i++) {
		live += before[i] && !(before[i] & RG_POOL_EMPTY) && before[i] != key;
		if (row == rg_some(bucket + i))
			PROVE(pools[i]->key == key &&
			      (before[i] == key || !before[i] || before[i] & RG_POOL_EMPTY));
		else
			PROVE(pools[i]->key == before[i]);
	}
	PROVE(row ? row - 1 - bucket < RG_BUCKET_ROWS : live == RG_BUCKET_ROWS);
	return 0;
}
