# The front door. Each target does all that it needs, from the packages on; `make help` lists them.

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help demo test build bench bench-full asan tsan fuzz format format-check tidy install clean \
        setup

# Configures the preset $(1) if that was not done, and builds $(2); Ninja configures anew as needed.
define build
	@test -f build/$(1)/build.ninja || cmake --preset $(1)
	@cmake --build --preset $(1) -j $(JOBS) $(2)
endef

# ThreadSanitizer of g++ 12 cannot start where the kernel spreads addresses more widely than it knows.
NO_ASLR = $(shell setarch -R true 2>/dev/null && echo setarch -R)

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

demo: build ## simulate a training job with a fault, ingest it and show what Telltale finds
	@scripts/demo.sh

test: setup ## check the format, build, run all tests
	@scripts/format.sh --check
	$(call build,release)
	@ctest --preset release -j $(JOBS)

build: setup ## build build/release/telltale
	$(call build,release,--target telltale)

bench: setup ## measure against the references; writes build/bench.json
	$(call build,release,--target telltale benchmarks)
	@bench/run.sh

bench-full: setup ## the same on the full data sizes
	$(call build,release,--target telltale benchmarks)
	@bench/run.sh --full

asan: setup ## run all tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(call build,asan)
	@ctest --preset asan -j $(JOBS)

tsan: setup ## run all tests under ThreadSanitizer
	@test -f build/tsan/build.ninja || cmake --preset tsan
	@$(NO_ASLR) cmake --build --preset tsan -j $(JOBS)
	@$(NO_ASLR) ctest --preset tsan -j $(JOBS)

fuzz: ## run each fuzz target for FUZZ_SECONDS
	@scripts/setup.sh fuzz
	$(call build,fuzz)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz.sh

format: setup ## format all C++ code
	@scripts/format.sh

format-check: setup ## fail if some C++ code is not formatted
	@scripts/format.sh --check

tidy: ## run clang-tidy on all C++ code
	@scripts/setup.sh tidy
	@test -f build/release/build.ninja || cmake --preset release
	@scripts/tidy.sh

install: build ## install into PREFIX (/usr/local)
	@cmake --install build/release --prefix $(PREFIX)

clean: ## remove what was built, and the installed DuckDB
	@rm -rf build

setup: ## install the packages and DuckDB
	@scripts/setup.sh
