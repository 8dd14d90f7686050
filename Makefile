# Two commands set up everything on a fresh Debian machine with Rust: `make demo` and `make test`.
SHELL := /bin/bash
# Real-time priorities take privileges.
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
CARGO ?= cargo
# What `make torture` loads.
POLICY ?= rearguard
# How many seeds `make swarm` runs, unless MINUTES says for how long.
SEEDS ?= 10000
# What `make demo` compares with: its build leaves out what hooks into the kernel, for which clang is needed.
DEMO := $${CARGO_TARGET_DIR:-target}/demo/rearguard
# What --version says; a tree with changes says so.
COMMIT = $(shell git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null)
# The folder of what is distributed.
DIST := target/dist

.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

demo: setup-demo ## compare schedulers on a service beside batch work, simulated and for real
	RG_COMMIT=$(COMMIT) $(CARGO) build --profile demo --package rearguard --no-default-features
	$(DEMO) compare scenarios/service-and-batch.toml --on sim --seeds 3 --policy cfs,eevdf,fifo,rearguard --report report.html
	@echo
	$(AS_ROOT) $(DEMO) compare scenarios/service-and-batch.toml --on host --seeds 2 --policy default,fifo --report report.html || \
		{ [ $$? = 1 ] && echo "demo: no answer for real requests on this machine now; report.html shows the simulation"; }

test: setup-test ## set up and pass every check: format, clippy, style, policies as BPF, tests, report in a browser, the Python package
	$(CARGO) fmt --all --check
	$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings
	policy/check-bpf
	RG_PERFETTO=$$(tools/perfetto/fetch) RG_MONITORING=$$(tools/monitoring/fetch) $(CARGO) test --workspace
	RG_MONITORING=$$(tools/monitoring/fetch) PYTHONPATH=tools python3 -m unittest discover --quiet -t tools -s tools
	RG_COMMAND=$${CARGO_TARGET_DIR:-target}/debug/rearguard python/test

quick: ## the inner loop: format, clippy, the rules, the policies as BPF and natively, unit tests of the simulator (under a minute, once built)
	$(CARGO) fmt --all --check
	$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings
	$(CARGO) test --quiet --package rules
	policy/check-bpf
	$(CARGO) test --quiet --package policy_native
	$(CARGO) test --quiet --package sim --lib

check: ## what `make test` checks without privileges, clang, libelf or a browser: all but what loads BPF
	RG_NO_BROWSER=1 $(CARGO) test --workspace --exclude bpf --exclude scx --exclude scx_rearguard --exclude tracer --exclude kernel-cost --exclude interleave --exclude coherence --no-default-features

lab-test: setup-lab ## fetch stock kernels and boot them in QEMU: the lab's own check, what every arm must show, cells and knobs, a short torture (about half an hour, network)
	$(CARGO) build --quiet --package scx_rearguard
	$(CARGO) test --package rearguard --test lab --test cells --test knobs --test prove --test watch -- --include-ignored --test-threads=1
	$(CARGO) test --package scx --test guest -- --include-ignored
	$(CARGO) run --quiet --package rearguard -- lab fetch newest
	$(CARGO) test --package machine --test guest -- --include-ignored
	PATH="$${CARGO_TARGET_DIR:-$$PWD/target}/debug:$$PATH" $(CARGO) test --package conformance --test arms -- --include-ignored
	$(CARGO) test --package torture --test lab -- --include-ignored --test-threads=1

torture: setup-lab ## torture POLICY (rearguard) in the lab's guests: all pieces, 30 minutes of them
	$(CARGO) build --quiet --package scx_rearguard --package torture
	$${CARGO_TARGET_DIR:-target}/debug/torture --policy $(POLICY)

vm-results: setup-lab ## measure ours beside all rivals on real kernels and write the tables of docs/evidence/kernel.md (hours; it resumes)
	tools/rivals
	tools/vm-results

kernel-matrix: setup-lab ## which policies and tests hold on which kernel of the lab, into docs/evidence/kernels.md (ARGS=--help)
	$(CARGO) run --quiet --package rearguard -- lab fetch all
	tools/kernel-matrix $(ARGS)

tales-story: setup-lab ## the story of Tales section 4 on real kernels: default, then each mitigation, into docs/evidence/tales-on-real-kernels.md (an hour or two; it resumes)
	@tools/setup memcached:memcached /usr/sbin/nginx:nginx-light wrk:wrk
	PATH=$$PATH:/usr/sbin tools/tales-story

planted-causes: setup-test ## plant causes in real servers and hold verdicts against ftrace, into docs/evidence/planted-culprits.md (root, 20 minutes)
	@tools/setup go:golang-go javac:default-jdk-headless
	$(CARGO) build --quiet --package rearguard
	$(AS_ROOT) tools/planted-causes --write docs/evidence/planted-culprits.md
	$(AS_ROOT) tools/planted-causes --with watch --write docs/evidence/planted-culprits.md

fidelity: vm-results ## how far the simulator is from real kernels, into docs/evidence/fidelity.md (what vm-results measures, then minutes)
	tools/fidelity

build: ## build the release binaries, target/release/rearguard and target/release/scx_rearguard
	RG_COMMIT=$(COMMIT) $(CARGO) build --release --package rearguard
	RG_COMMIT=$(COMMIT) $(CARGO) build --release --package scx_rearguard

dist: setup-dist ## pack the commit that is checked out: .deb, tarball, wheel, parts and notices, checksums, into target/dist/packages
	tools/dist/build $(DIST)
	cd $(DIST)/source && RG_PROFILE=dist CARGO_TARGET_DIR=$(abspath $(DIST)/target) python/wheel $(abspath $(DIST)/venv)
	tools/dist/package $(DIST)

arm64: ## what compiles for arm64 on another machine: the policy natively and as BPF, the command without BPF
	@tools/setup aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu /usr/aarch64-linux-gnu/include/stdlib.h:libc6-dev-arm64-cross $(KERNEL_NEEDS)
	tools/arm64

fuzz: ## random inputs for every reader of files and addresses, SECONDS=60 each: no panic, 2 GiB, 5 s
	$(CARGO) run --quiet --package fuzz -- --seconds $(or $(SECONDS),60)

swarm: ## random machines, scenarios, policies and faults under every checker: SEEDS=10000, or MINUTES=60
	$(CARGO) run --release --quiet --package swarm -- $(if $(MINUTES),--minutes $(MINUTES),--seeds $(SEEDS))

interleave: ## callbacks of several CPUs stepped against each other, POLICY for MINUTES=60; it resumes
	@tools/setup cc:gcc cargo: clang-19:clang-19
	$(CARGO) run --release --quiet --package interleave -- --policy $(POLICY) --minutes $(or $(MINUTES),60) --resume target/interleave-$(POLICY)

proofs: ## bounded proofs of the policy's small parts by CBMC, each with controls (minutes; brings CBMC from Debian 13)
	@tools/setup cc:gcc
	tests/proofs/run

mutants: ## small changes of the policy, drawn: which ones does no test notice? SAMPLE=100 (minutes, of which the slow tests take most)
	@tools/setup cc:gcc cargo:
	tools/mutants --sample $(or $(SAMPLE),100)

differential: ## random scenarios under rearguard, eevdf and cfs: where is it worse? SEEDS=100 (some seconds each)
	@tools/setup cc:gcc cargo:
	tools/differential --seeds $(or $(SEEDS),100)

papers: ## run every figure of the papers that we can and write docs/evidence/papers.md (a minute)
	$(CARGO) run --release --quiet --package rearguard --no-default-features -- paper all --write docs/evidence/papers.md

production-node: ## run the sweeps of docs/evidence/production-node.md in the simulator and draw their pictures (a minute)
	$(CARGO) build --release --quiet --package rearguard --no-default-features
	tools/production-node --rearguard $${CARGO_TARGET_DIR:-target}/release/rearguard

bench: setup-build ## our speed beside peers, in one run each: the ideal, scheduler events, clusters, the load generator, calls from Python, sweeps
	@tools/setup /usr/sbin/nginx:nginx-light wrk:wrk
	benches/ideal/run
	benches/sim/run
	benches/cluster/run
	$(AS_ROOT) env "PATH=$$PATH" benches/measure/run
	benches/python/run

bench-kernel: setup-lab ## instructions a pipe round trip on a real kernel, ours beside the kernel's class and rivals (about 30 minutes)
	benches/kernel/run --policy default,cts,gvts,rearguard,dwrr,credit
	benches/kernel/run --policy default,rearguard --cpus 4,16,64

bench-coherence: ## cache lines that go from CPU to CPU under each policy, counted in the simulator (a minute)
	@tools/setup cc:gcc cargo: clang-19:clang-19
	$(CARGO) run --release --quiet --package coherence

coverage: ## how often 95% intervals cover the truth on exact queues (about 10 minutes)
	$(CARGO) run --release --package stats --example coverage
	$(CARGO) run --release --package queue --example ideal_coverage

book: ## make the pages of docs/ a static site, target/book (installs mdbook from crates.io, if it is missing: minutes)
	@command -v mdbook >/dev/null || $(CARGO) install --locked mdbook
	mdbook build

fmt: ## format the sources
	$(CARGO) fmt --all

# What crates/arms/{bpf,scx,tracer} are built with: libbpf is compiled from source and leans on libelf and zlib.
KERNEL_NEEDS := clang-19:clang-19 pkg-config:pkg-config /usr/include/gelf.h:libelf-dev /usr/include/zlib.h:zlib1g-dev

setup-build: ## install what a build needs, if it is missing
	@tools/setup cc:gcc cargo: $(KERNEL_NEEDS)

setup-demo: ## install what the demo needs, if it is missing
	@tools/setup cc:gcc cargo:

setup-dist: ## install what packing needs, if it is missing
	@tools/setup cc:gcc cargo: $(KERNEL_NEEDS) dh:debhelper dpkg-buildpackage:dpkg-dev fakeroot:fakeroot xz:xz-utils pip3:python3-pip

setup-test: ## install what the tests need, if it is missing
	@tools/setup cc:gcc cargo: $(KERNEL_NEEDS) chromium:chromium node:nodejs pip3:python3-pip \
		memcached:memcached /usr/sbin/nginx:nginx-light redis-server:redis-server /usr/sbin/apache2:apache2-bin \
		/usr/lib/postgresql:postgresql

setup-lab: ## install what the VM lab needs, if it is missing
	@tools/setup cc:gcc cargo: $(KERNEL_NEEDS) qemu-system-x86_64:qemu-system-x86

.PHONY: help demo planted-causes dist arm64 setup-demo setup-dist test quick check lab-test torture swarm interleave proofs mutants differential fuzz papers production-node vm-results kernel-matrix tales-story fidelity build bench bench-coherence bench-kernel coverage book fmt setup-build setup-test setup-lab
