# Two commands for users: `make demo` and `make test`. Everything they need is set up on the way,
# into .tools (uv), .venv (Python packages) and target (Rust); nothing is installed elsewhere.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

UV_VERSION := 0.13.8
PYTHON ?= python3
UV := .tools/bin/uv
# the interpreter found here is used; uv downloads none
export UV_PYTHON_DOWNLOADS := never
export UV_PROJECT_ENVIRONMENT := .venv
RUN := .venv/bin
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates tunnel/crates -type f \( -name '*.rs' -o -name 'Cargo.toml' -o -name '*.pem' -o -name '*.der' \))
JOBS ?= $(shell nproc)
# the environment and the pages of the documentation site
SITE := .tools/site
# of Cargo.toml: `local` builds fast, `release` runs fast
PROFILE ?= local
# all crates with all features: of a part of them, dependencies would have other features and be built again
RUST_TESTS = --workspace --features quiclab-tunnel/connect-ip
# dependencies are synchronised before; one of them requires quiclab itself, which is in no index before a release
DEVELOP = UV_EXCLUDE=.tools/excluded VIRTUAL_ENV=$(CURDIR)/.venv PATH="$(CURDIR)/.tools/bin:$$PATH" $(RUN)/maturin develop --quiet --uv
PYTEST = $(RUN)/pytest --numprocesses $(JOBS) --dist loadgroup --durations 10

include tunnel/tunnel.mk

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

.PHONY: demo
demo: .venv/.built ## a published finding repeated in a minute: runs, verdicts, a page (quiclab demo)
	$(RUN)/quiclab demo --jobs $(JOBS)

.PHONY: setup
setup: .venv/.built .venv/.live ## the private environment with quiclab in it

.PHONY: release
release: ## the private environment with everything optimised as in wheels, for long studies and benchmarks
	rm -f .venv/.built .venv/.live
	$(MAKE) setup PROFILE=release

.PHONY: toolchain
toolchain:
	@command -v cargo >/dev/null || { echo 'cargo is missing: install Rust 1.88 or later, for example with rustup (https://rustup.rs).' >&2; exit 1; }
	@command -v cc >/dev/null || { echo 'a C compiler is missing: install one, for example with `apt-get install build-essential`.' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo 'Python 3.11 or later is missing: install it, for example with `apt-get install python3 python3-venv`, or name it: make PYTHON=python3.12.' >&2; exit 1; }

$(UV): | toolchain
	@echo 'setting up uv $(UV_VERSION) in .tools'
	@$(PYTHON) -m venv .tools || { echo 'the Python module venv is missing: install it, for example with `apt-get install python3-venv`.' >&2; exit 1; }
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check 'uv==$(UV_VERSION)'

.venv/.synced: pyproject.toml studies/pyproject.toml uv.lock | $(UV)
	$(UV) sync --quiet --locked --compile-bytecode --no-install-project --all-extras --python $(PYTHON)
	@touch $@

.tools/excluded: | $(UV)
	@echo quiclab-studies > $@

.venv/.built: .venv/.synced $(RUST_SOURCES) | toolchain .tools/excluded
	@echo 'building the Rust extension (takes a few minutes the first time)'
	@touch $@.begun # a source that changes during the build is newer
	$(DEVELOP) --profile $(PROFILE)
	@mv $@.begun $@

# the program of the kernel lane is for Linux only
.venv/.live: .venv/.built
ifeq ($(shell uname -s),Linux)
	@echo 'building quiclab-live, the program of the kernel lane'
	cargo build --quiet --profile $(PROFILE) -p quiclab-live
	install -m 755 target/$(PROFILE)/quiclab-live $(RUN)/quiclab-live
endif
	@touch $@

.PHONY: quick
quick: .venv/.synced .tools/excluded ## rebuild the extension after a change of Rust, in seconds: slower runs, the same results
	CARGO_INCREMENTAL=1 $(DEVELOP) --profile quick

.PHONY: test
test: setup ## everything that is fast, and everything users rely on
	$(RUN)/python tools/rust_tests.py $(RUST_TESTS)
	$(PYTEST) -m 'not slow'

.PHONY: rust-tests
rust-tests: toolchain
	cargo test $(RUST_TESTS) --no-run --quiet

.PHONY: test-all
test-all: test $(SITE)/.synced ## the same, then the second tier: whole studies and the documents that run them
	$(PYTEST) -m slow

.PHONY: reference
reference: setup ## write the generated pages of docs/reference
	cargo run --quiet -p quiclab-tunnel -- schema | $(RUN)/python tools/reference.py --vpn-schema

$(SITE)/.synced: pyproject.toml uv.lock | $(UV)
	UV_PROJECT_ENVIRONMENT=$(SITE)/venv $(UV) sync --quiet --locked --only-group site --no-install-project --python $(PYTHON)
	@touch $@

.PHONY: site
site: setup $(SITE)/.synced ## the documentation as a site in dist/site, with gallery and playground if they are made; fails at a dead link
	$(RUN)/python tools/site_build.py --zensical $(SITE)/venv/bin/zensical --work $(SITE) --out dist/site --gallery dist/gallery --playground dist/playground.html

.PHONY: gallery
gallery: setup ## the figures of the gallery, with their data, in dist/gallery; then: make site
	$(RUN)/python tools/gallery.py --out dist/gallery --jobs $(JOBS)

.PHONY: teardown
teardown: setup ## kill a hundred runs of the kernel lane at random moments and count leftover objects
	QUICLAB_KILLED_RUNS=100 cargo test --quiet -p quiclab-live --test teardown

.PHONY: animation
animation: setup ## the animation of README.md, from a run of scenarios/tcp_bbr_and_cubic.toml
	$(RUN)/python tools/animation.py --write

# pages by what their runs need: verdicts on claims with ablations, a study or a group of that name, only the settings that they read
CLAIM_PAGES := tunnel pacing page_load dual_connectivity
GROUP_PAGES := controls slow_start
VALIDATION_PAGES := answers linux_tcp loss_detection lab_quic
SETTING_PAGES := pacing_beyond dual_connectivity_model
STUDY_PAGES := $(CLAIM_PAGES) $(GROUP_PAGES) $(VALIDATION_PAGES) $(SETTING_PAGES)
.PHONY: study-pages $(STUDY_PAGES:%=%-page)
study-pages: $(STUDY_PAGES:%=%-page) ## all results that simulated pages of docs/studies state, and the pages (one: make NAME-page); takes hours, and goes on where it was stopped

$(STUDY_PAGES:%=%-page): %-page: setup
	$(if $(filter $*,$(CLAIM_PAGES) $(GROUP_PAGES)),$(RUN)/quiclab study run $* --jobs $(JOBS))
	$(if $(filter $*,$(VALIDATION_PAGES)),$(RUN)/quiclab study run validation/$* $(if $(filter lab_quic,$*),--engines all) --jobs $(JOBS))
	$(if $(filter $*,$(CLAIM_PAGES)),$(RUN)/quiclab study decide $* --jobs $(JOBS))
	$(if $(filter $*,$(CLAIM_PAGES)),$(RUN)/quiclab study ablate $* --jobs $(JOBS))
	$(if $(filter lab_quic,$*),$(RUN)/quiclab study ablate validation/$* --jobs $(JOBS))
	$(RUN)/python tools/study_pages.py $* --results results --run --jobs $(JOBS)
	$(if $(filter dual_connectivity_model,$*),$(RUN)/python tools/dual_connectivity_model.py)

.PHONY: check-pages
check-pages: setup ## whether pages of docs/studies are current: samples of their runs have the recorded digests; some minutes
	$(RUN)/python tools/study_pages.py --check --jobs $(JOBS)

.PHONY: lanes-page
lanes-page: setup ## results and page of docs/studies/lanes.md, with the virtual clock (first: make adapters, quiclab kernel build)
	$(RUN)/quiclab study run validation/lanes --engines sim,kernel-virtual --runs 1 --jobs $(JOBS)
	$(RUN)/quiclab study run validation/linux_tcp/dual_connectivity --jobs $(JOBS)
	$(RUN)/python tools/study_pages.py lanes --results results

AQM_VARIANTS := start_200us,start_400us,start_600us,start_800us,serialised
.PHONY: aqm-page
aqm-page: setup ## results and page of docs/studies/aqm.md (first: as lanes-page)
	$(RUN)/quiclab study run validation/aqm --engines lab-tcp,kernel-queues --jobs $(JOBS)
	$(RUN)/quiclab study run validation/aqm --lane sim --variants $(AQM_VARIANTS) --jobs $(JOBS)
	$(RUN)/python tools/further_runs.py kernel validation/aqm --jobs $(JOBS)
	$(RUN)/python tools/study_pages.py aqm --results results

.PHONY: regressions-page
regressions-page: setup ## results and page of docs/studies/regressions.md (first: as lanes-page)
	$(RUN)/quiclab study run validation/regressions --engines all --jobs $(JOBS)
	$(RUN)/python tools/study_pages.py regressions --results results

BLIND_SEED ?= 13
BLIND_QUIC_SEED ?= 2
.PHONY: blind-page
blind-page: setup ## results and page of docs/studies/blind.md for BLIND_SEED (13) and BLIND_QUIC_SEED (2); takes hours (first: as lanes-page)
	$(RUN)/quiclab study run validation/blind --seed $(BLIND_SEED) --engines all --jobs $(JOBS)
	$(RUN)/quiclab study run validation/blind_quic --seed $(BLIND_QUIC_SEED) --engines all --jobs $(JOBS)
	$(RUN)/python tools/further_runs.py scattered validation/blind_quic --jobs $(JOBS)
	$(RUN)/python tools/further_runs.py starts validation/blind --jobs $(JOBS)
	$(RUN)/python tools/further_runs.py starts validation/blind_quic --number 3 --jobs $(JOBS)
	$(RUN)/python tools/study_pages.py blind --results results

FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: toolchain ## random input for parsers of untrusted bytes, FUZZ_SECONDS (60) each; stops at a failure
	QUICLAB_FUZZ_SECONDS=$(FUZZ_SECONDS) cargo test --quiet -p quiclab-fuzz -- --nocapture

.PHONY: random-captures
random-captures: setup ## compare the analyser of captures with tshark on 1000 captures made at random
	QUICLAB_RANDOM_CAPTURES=1000 $(RUN)/pytest tests/test_random_captures.py

.PHONY: pacing-memory
pacing-memory: setup ## analyse a capture of 500 MB in less than 200 MB of memory
	QUICLAB_CAPTURE_MB=500 $(RUN)/pytest tests/test_pacing_analysis.py -k memory

.PHONY: check
check: setup lint test ## formatting, lints, types, layers, then `make test`

.PHONY: lint
lint: setup
	cargo fmt --check
	cargo clippy $(RUST_TESTS) --all-targets --quiet -- -D warnings
	cargo clippy -p quiclab-tunnel --quiet -- -D warnings # without its features, as packages have it
	$(RUN)/python tools/check_layers.py
	$(RUN)/python tools/phrases.py
	$(RUN)/ruff format --check
	$(RUN)/ruff check
	$(RUN)/mypy

.PHONY: adapters
adapters: toolchain ## programs of the kernel lane that are built from source, into adapters/bin: quinn, quic-go, connect-ip-go
	mkdir -p adapters/bin
	cargo build --profile $(PROFILE) --quiet -p quiclab-quinn
	cp target/$(PROFILE)/quiclab-quinn adapters/bin/
	@if command -v go >/dev/null; then \
		(cd adapters/quic-go && go build -trimpath -o ../bin/quiclab-quic-go .) && \
		(cd adapters/connect-ip-go && go build -trimpath -o ../bin/quiclab-connect-ip-go .); \
	else \
		echo 'quic-go and connect-ip-go are left out: Go 1.26 or later is missing, see https://go.dev/dl' >&2; \
	fi

.PHONY: aioquic-old
aioquic-old: ## the version of aioquic in published measurements, for the kernel lane, into adapters/bin; needs headers of Python and OpenSSL
	mkdir -p adapters/bin
	$(PYTHON) -m venv adapters/bin/aioquic-0.9
	adapters/bin/aioquic-0.9/bin/python -m pip install --quiet --disable-pip-version-check 'aioquic==0.9.0' 'pylsqpack==0.3.24'

PACING_RUNS ?= 3
.PHONY: pacing-kernel
pacing-kernel: setup ## the pacing study with real programs and the virtual clock (first: make adapters, quiclab kernel build)
	$(RUN)/quiclab study run pacing/kernel --lane kernel --runs $(PACING_RUNS)

.PHONY: scale
scale: release ## what sweeps cost, and a million runs, on this machine: docs/scale.md
	$(RUN)/python benches/sweeps.py --out benches/sweeps.json
	$(RUN)/python tools/scale_page.py --write

.PHONY: bench
bench: release ## speed as one flat JSON object in bench.json
	cargo build --release --quiet --examples
ifeq ($(shell uname -s),Linux)
	cargo build --release --quiet -p quiclab-tunnel
endif
	$(RUN)/python benches/bench.py --out bench.json

.tools/wheels/.synced: pyproject.toml uv.lock | $(UV)
	UV_PROJECT_ENVIRONMENT=.tools/wheels $(UV) sync --quiet --locked --only-group wheels --python $(PYTHON)
	@touch $@

PROCESSORS ?= x86_64 aarch64
.PHONY: wheels
wheels: .tools/wheels/.synced | toolchain ## what is published, in dist: wheels for Linux on PROCESSORS, sources, the studies; then: python tools/try_wheel.py
	rm -f dist/quiclab*
	.tools/wheels/bin/python tools/wheels.py $(PROCESSORS)
	.tools/wheels/bin/maturin sdist --out dist
	$(UV) build --quiet --package quiclab-studies --out-dir dist

.PHONY: playground
playground: ## the simulator as one web page, dist/playground.html (with Rust for wasm32: playground/README.md)
	$(PYTHON) playground/build.py

.PHONY: lock
lock: $(UV) ## renew Cargo.lock and uv.lock within the ranges of the manifests
	cargo update
	$(UV) lock --upgrade --python $(PYTHON)

.PHONY: version
version: .venv/.synced ## set the version of the next release everywhere (VERSION=0.2.0), build it, and renew the documents that show it
	@[[ -n "$${VERSION:-}" ]] || { echo 'VERSION: expected three numbers, such as `make version VERSION=0.2.0`, got nothing' >&2; exit 2; }
	$(RUN)/python tools/release.py set "$$VERSION"
	$(MAKE) setup
	$(RUN)/python tools/document_sessions.py docs/transports.md --write

.PHONY: release-check
release-check: .venv/.synced ## whether changelog, versions, tag and checkout are those of a release, and what differs
	$(RUN)/python tools/release.py check --release $(if $(TAG),--tag "$$TAG")

.PHONY: clean
clean: ## remove everything built (results stay)
	rm -rf target .venv .tools
