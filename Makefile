# Peal. `make demo` shows the whole pipeline on this machine; `make help` lists the rest.

SWIFT ?= swift
COUNT ?= 20000
# Of `make chaos`: runs with the seeds SEED, SEED + 1, ..., each with JOBS jobs and FAULTS faults.
SEED ?= 1
JOBS ?= 50000
FAULTS ?= 25
RUNS ?= 1
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
BIN = $(shell $(SWIFT) build -c release --show-bin-path)

# Libraries to build against, and the programs that the demo and the tests start for themselves.
DEPS := make pkg-config librdkafka-dev libnghttp2-dev libhiredis-dev libcurl4-openssl-dev \
	libmicrohttpd-dev libyaml-dev libsimdjson-dev libssl-dev redis-server
# What the tests need besides: promtool and Prometheus for metrics and alert rules, a browser for the dashboard.
TEST_DEPS := prometheus chromium
# h2load and redis-benchmark, the yardsticks of `make bench`.
BENCH_DEPS := nghttp2-client redis-tools
# Of `make bench`: the parts to measure, all unless given; `peal bench --help` lists them.
PARTS ?=

# The targets that hold C handles, sockets or threads: what the sanitizers are for.
SANITIZE := ^(CoreTests|EventLoopTests|SecurityTests|HTTP2Tests|RedisTests|JobsTests)\.

.PHONY: help deps deps-test deps-bench build demo chaos up test test-sanitize bench bench-record format lint clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

deps: ## install the Debian packages that are missing
	@$(call install,$(DEPS))

deps-test: deps
	@$(call install,$(TEST_DEPS))

deps-bench:
	@$(call install,$(BENCH_DEPS))

build: deps ## optimised build of every program
	$(SWIFT) build -c release

demo: build ## send COUNT notifications through the whole pipeline and check every one
	$(BIN)/peal demo --count $(COUNT)

chaos: build ## RUNS runs under seeded faults (SEED, JOBS, FAULTS), every promise checked
	@for seed in $$(seq $(SEED) $$(($(SEED) + $(RUNS) - 1))); do \
		$(BIN)/peal chaos --seed $$seed --jobs $(JOBS) --faults $(FAULTS) || exit $$?; \
	done

up: build ## run the whole pipeline on loopback until Ctrl-C
	$(BIN)/peal up

test: deps-test ## debug build and every test; tests start the servers they need
	$(SWIFT) build --build-tests
	$(SWIFT) test --skip-build --disable-xctest

test-sanitize: deps ## the wrappers and the loop under the address and thread sanitizers
	$(SWIFT) build --build-tests --sanitize address --scratch-path .build/address
	$(SWIFT) test --skip-build --disable-xctest --sanitize address --scratch-path .build/address \
		--filter '$(SANITIZE)'
	$(SWIFT) build --build-tests --sanitize thread --scratch-path .build/thread
	$(SWIFT) test --skip-build --disable-xctest --sanitize thread --scratch-path .build/thread \
		--filter '$(SANITIZE)'

bench: build deps-bench ## throughput, CPU and latency against the targets: everything, or PARTS="transport retry"
	$(BIN)/peal bench $(PARTS) --compare docs/bench.json

bench-record: build deps-bench ## the same of everything; replaces docs/bench.json and the plots in docs/plots
	$(BIN)/peal bench --record docs/bench.json --plots docs/plots

format: ## rewrite the sources in the house style
	$(SWIFT) format -i -r Sources Tests Package.swift

lint: ## complain about what `make format` would change
	$(SWIFT) format lint --strict -r Sources Tests Package.swift

clean: ## remove everything that was built
	rm -rf .build

# install(packages): asks dpkg first, so that it costs nothing and needs no network when all is there.
# Without dpkg it takes pkg-config's word for the libraries.
define install
	missing=""; \
	if ! command -v dpkg-query >/dev/null \
		&& pkg-config --exists rdkafka libnghttp2 hiredis libcurl libmicrohttpd yaml-0.1 simdjson openssl \
		&& command -v redis-server >/dev/null; then exit 0; fi; \
	for package in $(1); do \
		dpkg-query -W -f='$${db:Status-Status}' $$package 2>/dev/null | grep -qx installed \
			|| missing="$$missing $$package"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if command -v apt-get >/dev/null; then \
		echo "installing:$$missing"; \
		$(SUDO) apt-get update -q && \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; \
	else \
		echo "This system has no apt-get. Install what these Debian packages hold, then build with" \
			"'$(SWIFT) build -c release':$$missing" >&2; \
		exit 1; \
	fi
endef
