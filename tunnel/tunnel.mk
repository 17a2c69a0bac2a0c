# quiclab-tunnel, the VPN: part of ../Makefile, whose targets and variables it uses. `make deb FEATURES=connect-ip` builds CONNECT-IP in.
FEATURES ?=
BUILD_TUNNEL = cargo build --release --quiet -p quiclab-tunnel --features '$(FEATURES)'

MUSL := $(shell uname -m)-unknown-linux-musl
.PHONY: static
static: toolchain ## quiclab-tunnel as one static program for any Linux, in dist
	@command -v musl-gcc >/dev/null || { echo 'musl-gcc is missing: install it, for example with `apt-get install musl-tools`.' >&2; exit 1; }
	@rustc --print target-libdir --target $(MUSL) | xargs test -d || { echo 'Rust for $(MUSL) is missing: `rustup target add $(MUSL)`.' >&2; exit 1; }
	CC_$(subst -,_,$(MUSL))=musl-gcc $(BUILD_TUNNEL) --target $(MUSL)
	install -D -m 755 target/$(MUSL)/release/quiclab-tunnel dist/static/quiclab-tunnel

.PHONY: deb
deb: toolchain ## the Debian package of quiclab-tunnel, in dist
	$(BUILD_TUNNEL)
	$(PYTHON) tunnel/packaging/debian_package.py --program target/release/quiclab-tunnel --out dist

CONTAINER ?= $(shell command -v podman || command -v docker || echo docker)
.PHONY: container
container: static ## an image of quiclab-tunnel with the static program alone, by podman or docker
	$(CONTAINER) build --tag quiclab-tunnel --file tunnel/packaging/container/Containerfile dist/static

# versions as in tunnel/bench/vpn_bench/catalogue.py; a test compares them
WIREGUARD_GO := v0.0.0-20260522210424-ecfc5a8d5446
BORINGTUN := 0.7.1
.PHONY: vpn-programs
vpn-programs: toolchain ## VPNs that the benchmark of quiclab-tunnel compares it with, into target/vpn/bin: wireguard-go, boringtun
	mkdir -p target/vpn/bin
	@if command -v go >/dev/null; then \
		GOBIN=$(CURDIR)/target/vpn/bin CGO_ENABLED=0 go install -trimpath golang.zx2c4.com/wireguard@$(WIREGUARD_GO); \
	else \
		echo 'wireguard-go is left out: Go 1.23 or later is missing, see https://go.dev/dl' >&2; \
	fi
	CARGO_TARGET_DIR=$(CURDIR)/target/vpn/build cargo install --quiet --locked --root target/vpn --version $(BORINGTUN) boringtun-cli

.PHONY: vpn-bench
vpn-bench: release vpn-programs ## results and page of tunnel/docs/benchmark.md; as root, on a machine that does nothing else, six minutes (first: quiclab kernel build)
	$(BUILD_TUNNEL)
	$(RUN)/python tunnel/bench/tunnel_bench.py --out tunnel/docs/data/benchmark.json >/dev/null
	$(RUN)/python tunnel/bench/tunnel_page.py --write

FAULT_PROFILE ?= release
.PHONY: tunnel-faults
tunnel-faults: setup ## what faults cost the VPN between network namespaces, and tunnel/docs/faults.md; as root, some minutes
	cargo test --profile $(FAULT_PROFILE) -p quiclab-tunnel --test vpn -- --ignored --exact table::faults table::pairs --test-threads 1 --nocapture | $(RUN)/python tunnel/bench/tunnel_faults.py faults --profile $(FAULT_PROFILE)

SOAK_SECONDS ?= 3600
.PHONY: tunnel-soak
tunnel-soak: setup ## ten clients at one server for SOAK_SECONDS (3600), with faults, and tunnel/docs/faults.md; as root
	QUICLAB_SOAK_SECONDS=$(SOAK_SECONDS) cargo test --profile $(FAULT_PROFILE) -p quiclab-tunnel --test vpn -- soak --nocapture | $(RUN)/python tunnel/bench/tunnel_faults.py soak --profile $(FAULT_PROFILE)
