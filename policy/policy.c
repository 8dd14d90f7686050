/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The policy as one translation unit with the platform's calls left open, as the native build links
 * it and check-bpf compiles it.
 */
#include "scheduler.h"
