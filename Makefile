# SPDX-License-Identifier: Apache-2.0
# One word for each daily act. Everything a word needs it makes first, from the Debian packages up, and
# repeats no work. `make help` lists the words.

SHELL := /bin/sh
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 20
build := build

# Fetches, and tells CMake when a part has moved.
prepare = scripts/setup && mkdir -p $(build) && scripts/fetch --paths >$(build)/.parts.new && \
	{ cmp -s $(build)/.parts.new $(build)/.parts || mv $(build)/.parts.new $(build)/.parts; }
# $(call configure,PRESET,FOLDER)
configure = { [ -f $(2)/build.ninja ] || cmake --preset $(1) -B $(2) >$(build)/configure-$(1).log 2>&1 || \
	{ rm -f $(2)/build.ninja; cat $(build)/configure-$(1).log >&2; exit 2; }; }

# With one line that says how far it is; what that says is in build/logs.
steps = @scripts/setup && JOBS=$(JOBS) scripts/build

.PHONY: all
all: ## build everything: build/bin/cloche, the guests' system, tests and benches
	$(steps) all

# Optional, and found where it is: for isolation=gvisor of the linux engine.
.PHONY: gvisor
gvisor: ## compile gVisor's runsc from the Go module proxy into the cache, for sandboxes with isolation=gvisor: minutes, once
	@scripts/setup packages-gvisor.txt && /usr/bin/python3 -B scripts/gvisor/build.py >/dev/null

# With machine code and boot images of all guests, and the packages that tests want.
.PHONY: guests-ready
guests-ready: test-packages
	$(steps) test

.PHONY: test-packages
test-packages:
	@scripts/setup && scripts/setup packages-tests.txt

# The program and the guests' system, and nothing that only tests want.
.PHONY: run
run: ## build what it takes, then the demonstration: a shell, Python and a plot in one sandbox
	$(steps) run
	@scripts/demo

.PHONY: test
test: guests-ready ## run all tests; TEST=regex runs some
	@ctest --preset dev -j $(JOBS) --no-label-summary -LE '^adapters$$' $(if $(TEST),-R '$(TEST)')

# Not part of `make test`: each installs a framework from the package index, with all that it depends on.
.PHONY: test-adapters
test-adapters: guests-ready ## run the adapters' tests with the real frameworks, and the type checkers
	@ctest --preset dev -j $(JOBS) --no-label-summary -L '^adapters$$' $(if $(TEST),-R '$(TEST)')

# Not part of `make test`: it makes an image of Debian, and has packages of others. What they want is brought into the cache before.
.PHONY: test-linux
test-linux: test-packages ## real work in the linux engine: gcc, git, pip, npm, apt, servers, fifty sandboxes at once
	@scripts/setup packages-linux.txt
	@$(prepare) && $(call configure,dev,$(build)) && cmake --build $(build) -j $(JOBS) --target cloche cloche-warden cloche-unpack
	@/usr/bin/python3 -B tests/real_work/supplies.py $(build)/bin/cloche >/dev/null
	@ctest --preset dev --no-label-summary -C real_work -L '^real_work$$'

# The label of a layer's tests is the name of their program; cloche_test has those that stand on the whole.
.PHONY: test-fast
test-fast: test-packages ## run the layers' own tests, which need no guests' system: two minutes
	@$(prepare) && $(call configure,dev,$(build)) && cmake --build $(build) -j $(JOBS) --target layer_tests
	@ctest --preset dev -j $(JOBS) --no-label-summary -L '_test$$' -LE '^cloche_test$$' $(if $(TEST),-R '$(TEST)')
	@ctest --preset dev --no-label-summary -R '^source_rules$$'

# Those that docs/security.md names.
.PHONY: hostile
hostile: guests-ready ## run the tests that hold the promises of docs/security.md
	@ctest --preset dev -j $(JOBS) --no-label-summary -R "$$(python3 tests/scripts/security_page_test.py . --regex)"

# Not part of `make test`: it has HAProxy, and Kubernetes' own types from the Go module proxy.
.PHONY: test-cluster
test-cluster: guests-ready ## three servers behind HAProxy under load, ended and killed in turn; the Kubernetes chart
	@scripts/setup packages-cluster.txt && /usr/bin/python3 -B tests/cluster/plane/build.py >/dev/null
	@export CLOCHE_PROGRAM=$(abspath $(build))/bin/cloche CLOCHE_ROOTFS=$(abspath $(build))/rootfs && \
		for test in cluster chart_admission chart_pods control_plane node_loss rehearsal; do /usr/bin/python3 -B tests/cluster/$${test}_test.py || exit 1; done

# As large as docs/cluster.md has its figures of; it takes a quarter of an hour of a machine that does nothing else.
.PHONY: rehearse-cluster
rehearse-cluster: guests-ready ## the rehearsal of test-cluster with 10,000 sessions, 200 tunnels and five rolling updates
	@scripts/setup packages-cluster.txt
	@export CLOCHE_PROGRAM=$(abspath $(build))/bin/cloche CLOCHE_ROOTFS=$(abspath $(build))/rootfs && \
		CLUSTER_SESSIONS=10000 CLUSTER_TUNNELS=200 CLUSTER_UPDATES=5 CLUSTER_RATE=800 /usr/bin/python3 -B tests/cluster/rehearsal_test.py

# With a seed that it prints; SOAK_SEED=N repeats its draws.
SOAK_SECONDS ?= 1200
.PHONY: soak
soak: guests-ready ## ask a server this and that, and restart and kill it, for SOAK_SECONDS (1200): nothing is left
	@cd tests/http && CLOCHE_PROGRAM=$(abspath $(build)/bin/cloche) CLOCHE_ROOTFS=$(abspath $(build)/rootfs) \
		SOAK_SECONDS=$(SOAK_SECONDS) /usr/bin/python3 -B soak_test.py

# Not part of `make test`: CPython's own tests come from Debian, and take the better part of an hour. MODULES="test_json ..." runs some.
.PHONY: test-cpython
test-cpython: guests-ready ## run CPython's own tests of the library in sandboxes; failures are held against a list
	@CLOCHE_ROOTFS=$(abspath $(build))/rootfs /usr/bin/python3 -B tests/cpython/cpython_test.py --cloche $(build)/bin/cloche \
		--jobs $(JOBS) $(MODULES)

# With a seed that it prints: FAULTS_SEED=N repeats its draws; FAULTS_ONLY=write:upload is one kind of one act.
FAULTS_SECONDS ?= 600
.PHONY: faults
faults: guests-ready ## fail each call to the host once, in FAULTS_SECONDS (600) for each program: none hangs or loses
	@CLOCHE_PROGRAM=$(abspath $(build)/bin/cloche) CLOCHE_ROOTFS=$(abspath $(build)/rootfs) \
		CLOCHE_FAULTS_LIBRARY=$(abspath $(build)/lib/libcloche_faults.so) FAULTS_SECONDS=$(FAULTS_SECONDS) \
		/usr/bin/python3 -B tests/faults/faults_test.py

.PHONY: bench
bench: guests-ready ## measure against native processes of this machine
	@$(build)/bin/cloche_bench

# Their packages go into an environment of their own in the cache. Writes the table of docs/performance.md.
PEER_ROUNDS ?= 20
.PHONY: bench-peers
bench-peers: guests-ready ## measure beside other sandboxes, in one run, and write the table of docs/performance.md
	@scripts/setup packages-peers.txt
	@scripts/bench_peers $(build)/bin/cloche --rounds $(PEER_ROUNDS) --write docs/performance.md

# Builds the other commit in the cache; a busy machine only makes it less sharp.
BASE ?= HEAD~1
.PHONY: bench-check
bench-check: guests-ready ## compare CPU times with those of commit BASE (HEAD~1): fails where they are longer beyond noise
	@JOBS=$(JOBS) scripts/bench_check $(BASE)

# What is installed and packaged, made and not copied yet: the library, the manual, machine code of the guests (minutes,
# once; CODE=none leaves it out).
.PHONY: installation
installation: all ## build what install, deb and image copy
	@cmake --build $(build) -j $(JOBS) --target installation
	@[ "$(CODE)" = none ] || packaging/machine_code $(build)

# `make installation` as oneself, then `sudo make install`: that only copies, and asks no network.
PREFIX ?= /usr/local
.PHONY: install
install: $(if $(SUDO_UID),,installation) ## copy all of it to PREFIX (/usr/local), below DESTDIR
	@DESTDIR=$(abspath $(DESTDIR)) CLOCHE_CODE=$(CODE) cmake --install $(build) --prefix $(PREFIX) --strip >$(build)/install.log 2>&1 || \
		{ tail -5 $(build)/install.log >&2; exit 2; }
	@echo "installed in $(DESTDIR)$(PREFIX): bin/cloche, lib/libcloche.*, lib/cloche, include/cloche, share/man"

.PHONY: deb
deb: installation ## build Debian packages, with a systemd service: build/dist/*.deb
	@CLOCHE_CODE=$(CODE) packaging/deb/build.py $(build) $(build)/dist

.PHONY: image
image: installation ## build an OCI image: build/dist/image, and an archive for docker load
	@CLOCHE_CODE=$(CODE) packaging/oci/build.py $(build) $(build)/dist

.PHONY: wheel
wheel: all ## build the Python wheels: build/dist/cloche*.whl, which need nothing else
	@[ "$(CODE)" = none ] || packaging/machine_code $(build)
	@CLOCHE_BUILD=$(build) CLOCHE_CODE=$(CODE) python3 sdk/python/wheel_backend.py $(build)/dist

.PHONY: sdk-docs
sdk-docs: ## make the pages of the Python package from its docstrings: build/sdk-docs
	@scripts/sdk_docs $(build)

# Into $(build)/aarch64, with Debian's compiler and libraries for it; what was made is tried under qemu.
.PHONY: aarch64
aarch64: all ## compile the program for aarch64, and try it under an emulator
	@scripts/setup packages-aarch64.txt && scripts/sysroot aarch64 $(build)/sysroot-aarch64
	@export CLOCHE_MACHINE=aarch64 && $(call configure,aarch64,$(build)/aarch64) && \
		cmake --build $(build)/aarch64 -j $(JOBS) --target installation
	@packaging/try_foreign $(build)/aarch64 $(build)/sysroot-aarch64

# From a clean tree; MACHINES leaves out what is not wanted.
MACHINES ?= x86_64 aarch64
.PHONY: release
release: ## make all that is published, with checksums and a list of parts: build/dist
	@scripts/release $(MACHINES)

# wit/ as a component for any host; its test wants a Rust compiler. Not part of `make all`.
.PHONY: component
component: all ## build build/component/sandbox.wasm, the world eryx:sandbox as a component
	@cmake --build $(build) --target component && ctest --preset dev --no-label-summary -R component_world

# Not part of `make test`: it builds the crate and its tests, a quarter of an hour.
.PHONY: test-eryx
test-eryx: component ## run the tests of the crate eryx with our component as its runtime; failures are held against a list
	@/usr/bin/python3 -B tests/component/crate_tests.py $(build)/component

.PHONY: tidy
tidy: test-packages all ## format, clang-tidy and the rules of scripts/tidy.py
	@python3 scripts/tidy.py --jobs $(JOBS) $(TIDY)

.PHONY: format
format: test-packages ## lay out all sources by .clang-format
	@python3 scripts/tidy.py --fix format

.PHONY: asan
asan: test-packages ## build with ASan and UBSan, run all tests
	@$(prepare) && $(call configure,asan,$(build)/asan) && \
		cmake --build $(build)/asan -j $(JOBS) --target all userland guests && \
		$(build)/asan/bin/cloche prepare
	@ctest --preset asan -j $(JOBS) --no-label-summary $(if $(TEST),-R '$(TEST)')

.PHONY: tsan
tsan: test-packages ## the same with ThreadSanitizer
	@$(prepare) && $(call configure,dev,$(build)) && $(call configure,tsan,$(build)/tsan) && \
		cmake --build $(build) -j $(JOBS) --target cloche-warden cloche-unpack && \
		cmake --build $(build)/tsan -j $(JOBS) --target all userland guests && \
		$(build)/tsan/bin/cloche prepare
	@ctest --preset tsan -j $(JOBS) --no-label-summary $(if $(TEST),-R '$(TEST)')

.PHONY: fuzz
fuzz: ## search with each fuzz target for FUZZ_SECONDS (20)
	@$(prepare) && $(call configure,fuzz,$(build)/fuzz) && \
		cmake --build $(build)/fuzz -j $(JOBS) --target fuzzers userland guests
	@scripts/fuzz $(build)/fuzz $(FUZZ_SECONDS) $(JOBS)

.PHONY: clean
clean: ## remove what was compiled for the host; the guests' system and the caches stay
	@for f in $(build) $(build)/release $(build)/asan $(build)/tsan $(build)/fuzz; do \
		if [ -f $$f/build.ninja ]; then cmake --build $$f --target clean || exit 1; fi; done

.PHONY: distclean
distclean: ## remove all of build/, and the cache of fetched parts and compiled guests
	@rm -rf $(build) "$${CLOCHE_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/cloche}"

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/make \1|\2/p' Makefile | \
		while IFS='|' read -r word text; do printf '  %-21s %s\n' "$$word" "$$text"; done
