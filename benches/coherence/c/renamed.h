/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The policy's callbacks get other names: wrapped.h defines those that the platform calls. */
#ifndef RG_RENAMED_H
#define RG_RENAMED_H

#define rg_select_cpu rg_inner_select_cpu
#define rg_enqueue rg_inner_enqueue
#define rg_dispatch rg_inner_dispatch
#define rg_yield rg_inner_yield
#define rg_tick rg_inner_tick
#define rg_stopping rg_inner_stopping
#define rg_idle rg_inner_idle

#endif
