# kab: `make demo` runs the main job, `make test` the tests; both install what they need (Debian, Ubuntu; apt).

SHELL := /bin/bash
.DELETE_ON_ERROR:
# Steps build on each other, and what boots a board wants the host for itself. cargo and the kernel's make use all cores.
.NOTPARALLEL:

HOST := x86_64-unknown-linux-gnu
AGENT := target/agents/kab-agent-x86_64
SOURCE := $(HOME)/.cache/kab/linux-source
export KAB_AGENTS := $(CURDIR)/target/agents
export CARGO_TARGET_DIR := $(CURDIR)/target
export KAB_TEST_SOURCE := $(SOURCE)

.PHONY: all build agent packages source demo test test-fast test-qemu test-browser test-kernel test-long calibrate lint clean

all: build

build: agent
	cargo build --release --locked -p kab

# Static, so that it runs on any board: the C library is linked in.
agent:
	CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS='-C target-feature=+crt-static' \
		cargo build --locked -p kab-agent --profile agent --target $(HOST)
	mkdir -p $(dir $(AGENT))
	cp --remove-destination target/$(HOST)/agent/kab-agent $(AGENT)

packages:
	bash labs/demo/packages.sh

source: packages
	bash labs/demo/linux-source.sh "$(SOURCE)"

demo: packages build source
	target/release/kab run labs/demo/ufs-threaded-irq.yaml --lab labs/demo/lab.yaml

test: packages source agent test-fast test-qemu

# cargo-nextest where present, else cargo test; either way everything that boots a board runs serially, at the end.
test-fast:
	@if command -v cargo-nextest >/dev/null; then cargo nextest run --locked --workspace --profile fast; \
	else cargo test --locked --workspace -- --skip qemu_ --skip chromium_ --skip kernel_build_; fi

test-qemu:
	@if command -v cargo-nextest >/dev/null; then cargo nextest run --locked --workspace --profile qemu; \
	else cargo test --locked --workspace -- qemu_ --test-threads=1 --nocapture; fi

# The page of a report in a real Chromium, which is too large for every test run.
test-browser:
	bash labs/demo/browser.sh
	@if command -v cargo-nextest >/dev/null; then cargo nextest run --locked -p kab-report --profile browser; \
	else cargo test --locked -p kab-report -- chromium_ --nocapture; fi

# Real kernels, cross-built for 64-bit Arm by gcc and clang, with device trees and modules, twice (ten minutes and more).
test-kernel: packages source agent
	bash labs/demo/llvm.sh
	@if command -v cargo-nextest >/dev/null; then cargo nextest run --locked -p kab-kernels -p kab --profile kernel; \
	else cargo test --locked -p kab-kernels -p kab -- kernel_build_ --test-threads=1 --nocapture; fi

test-long: packages source agent
	KAB_TEST_KILLS=20 $(MAKE) test-fast test-qemu test-browser test-kernel

# Error rates and power of the verdicts, simulated in full (minutes).
calibrate:
	cargo run --release --locked -p kab-stats --example calibrate

lint:
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

clean:
	cargo clean
