# The commands of this project. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --quiet --disable-pip-version-check
SOURCES := $(shell find crates catalogue machines python studies workloads -type f \
             -not -name '*.pyc' -not -path '*/target/*' -not -path '*.egg-info/*' 2>/dev/null) \
           Cargo.toml Cargo.lock pyproject.toml
STUDY ?= this-host
MACHINES ?= x86_64
SIZE ?= short
RELEASES := bookworm trixie
comma := ,

# Where it is set, each process of the tests would compile every module, and rewrite every test's assertions, anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup study test test-crates test-python test-fast test-guest fuzz sanitize audit lint format bench ebpf docs man packages sizes clean

help: ## List these commands.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: $(PYTHON) is older than 3.11"; echo "hint: make PYTHON=python3.12 …"; exit 2; }
	@command -v cargo >/dev/null && command -v cc >/dev/null || \
	  { echo "error: cargo or a C compiler is missing"; echo "hint: install Rust 1.85 or newer, and gcc (apt-get install gcc)"; exit 2; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "error: no virtual environment could be made"; echo "hint: apt-get install python3-venv"; exit 2; }
	@touch $@

# With the extras that a study's report and all commands use. What it needs is fetched while it is compiled. The programs are compiled at once, and the wheel takes them: its own
# build would do them one after the other, each with the features that it alone asks of its libraries, so that many of these would be compiled again.
$(VENV)/product: $(VENV)/made $(SOURCES)
	@echo "Building Satline and installing it into $(VENV) (the first time takes some minutes) …"
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' > $(VENV)/needs.txt
	@$(BIN)/python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; print(*extras["images"], *extras["pseudonyms"], sep="\n")' >> $(VENV)/needs.txt
	@rm -rf $(VENV)/wheel; \
	  $(PIP) install -r $(VENV)/needs.txt & needs=$$!; \
	  MAKEFLAGS= cargo build --release --workspace --bins --quiet && \
	    SATLINE_PROGRAMS=$${CARGO_TARGET_DIR:-$(CURDIR)/target}/release $(PIP) wheel --no-deps --wheel-dir $(VENV)/wheel .; made=$$?; \
	  wait $$needs && exit $$made
	@$(PIP) install --no-deps --force-reinstall $(VENV)/wheel/*.whl
	@touch $@

# Tools are one of the package's extras: `test`, `lint` or `docs`.
$(VENV)/test $(VENV)/lint $(VENV)/docs: $(VENV)/product pyproject.toml
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$(@F)"], sep="\n")' > $@.txt
	@$(PIP) install -r $@.txt
	@touch $@

setup: $(VENV)/product ## Build everything and install it into .venv.

study: $(VENV)/product ## Set everything up, run a study on this host (STUDY=name for another), print the verdict.
	@$(BIN)/satline study $(STUDY)

# In a fresh clone incremental compilation costs a quarter more; where `cargo` was used by hand it is what makes the
# next build short.
test test-fast: export CARGO_INCREMENTAL = $(if $(wildcard target/debug/incremental),1,0)

# The crates' tests are compiled beside the set-up and run beside pytest: many of
# both wait for what they started. The study that is `alone` comes when all the rest is done.
test: export SATLINE_SKIPPED = $(CURDIR)/target/skipped.txt
test: ## Set everything up and run all tests (about 8 minutes on 2 cores).
	@mkdir -p target && rm -f $(SATLINE_SKIPPED)
	@$(MAKE) --no-print-directory --jobs=2 test-crates test-python && \
	  $(BIN)/python -m pytest -m alone tests/system; ended=$$?; \
	  $(BIN)/python tests/skipped.py $(SATLINE_SKIPPED) target/tests.txt; exit $$ended

# Without --release: the tests' own dependencies change features of the others, so that a release build would
# compile nearly all of them a second time, optimised. --tests: examples are for benches, and the documentation
# has no tests. Cargo must not take make's two jobs for its own number. What tests that passed print tells which of
# them had nothing to do here.
test-crates: $(VENV)/made
	@mkdir -p target
	@MAKEFLAGS= cargo test --workspace --tests --quiet --no-run
	@MAKEFLAGS= cargo test --workspace --tests --quiet -- --show-output > target/tests.txt 2>&1; ended=$$?; \
	  echo; echo "cargo test --workspace --tests"; \
	  if [ $$ended = 0 ]; then grep '^test result' target/tests.txt; else cat target/tests.txt; fi; exit $$ended

# One worker more than processors: those that drive whole studies wait most of their time.
test-python: $(VENV)/test
	$(BIN)/python -m pytest -n $$(($$(nproc) + 1)) --dist worksteal -m 'not alone'

fuzz: $(VENV)/test ## Read 10,000 mutations of every kind of file, try every fault of power and disk, draw other examples (two hours).
	$(BIN)/python tests/fuzz/run.py --mutations 10000
	$(BIN)/python tests/faults/run.py
	SATLINE_OTHER_EXAMPLES=1 $(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow and not system'

# Each boots machines of its own, so one after the other.
test-guest: $(VENV)/test ## Build the guests of Debian 12 and 13 where they are not there (needs root), run all tests in them.
	@for release in $(RELEASES); do $(BIN)/satline guest build --release $$release || exit; done
	@$(BIN)/python -m tests.system.product_guest $(RELEASES)
	SATLINE_TEST_GUEST=1 $(BIN)/python -m pytest tests/system/test_guest.py tests/system/test_kernels.py tests/system/test_ordinary_host.py \
	  tests/system/test_swapper_guest.py tests/system/test_swapper_unit.py

# With --bins the programs that have no tests would be linked, for which each of their libraries is compiled once more.
test-fast: $(VENV)/test ## The crates' and the package's unit tests, without the slow ones and the studies: about 1.5 minutes.
	cargo test --workspace --quiet --lib --bin satline-disk --bin satline-thermometer
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow and not system'

# The sanitizer is no stable option of the compiler, though its runtime comes with each: hence RUSTC_BOOTSTRAP. It
# watches what `unsafe` parts do with memory; those of libraries in C are not compiled with it. The test that is left
# out counts its own page faults, to which the sanitizer adds.
sanitize: export RUSTC_BOOTSTRAP = 1
sanitize: export RUSTFLAGS = -Zsanitizer=address
sanitize: export CARGO_TARGET_DIR = $(CURDIR)/target/sanitized
sanitize: export ASAN_OPTIONS = suppressions=$(CURDIR)/crates/sanitizer-memory.txt
sanitize: export LSAN_OPTIONS = suppressions=$(CURDIR)/crates/sanitizer-leaks.txt:print_suppressions=0
sanitize: ## Run the crates' tests under AddressSanitizer (compiles everything anew: about 15 minutes).
	MAKEFLAGS= cargo test --workspace --lib --bins --tests --quiet --no-fail-fast --target $$(rustc -vV | sed -n 's/^host: //p') \
	  -- --skip users_are_charged_alike_while_threads_come_and_go

audit: $(VENV)/product ## Known faults, licences and origins of all dependencies (needs the network and cargo-deny).
	@command -v cargo-deny >/dev/null || \
	  { echo "error: cargo-deny is missing"; echo "hint: cargo install --locked cargo-deny"; exit 2; }
	cargo deny --all-features check bans licenses sources
	cargo deny --all-features check advisories
	@test -x $(VENV)/audit/bin/pip-audit || { $(PYTHON) -m venv $(VENV)/audit && $(VENV)/audit/bin/pip --quiet install pip-audit; }
	@$(PIP) freeze --exclude satline > $(VENV)/audited.txt
	$(VENV)/audit/bin/pip-audit --strict --disable-pip --no-deps --requirement $(VENV)/audited.txt

lint: $(VENV)/lint ## Check style and types: rustfmt, clippy, ruff, mypy.
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check packages python tests benches workloads examples notebooks website setup.py
	$(BIN)/ruff format --check packages python tests benches workloads examples notebooks website setup.py
	$(BIN)/mypy python/satline

format: $(VENV)/lint ## Bring the code into its style.
	cargo fmt --all
	$(BIN)/ruff check --fix-only --quiet packages python tests benches workloads examples notebooks website setup.py
	$(BIN)/ruff format packages python tests benches workloads examples notebooks website setup.py

# Options that make a bench short; with SIZE=full it has those of its own.
short = $(if $(filter short full,$(SIZE)),$(if $(filter short,$(SIZE)),$(1)),$(error SIZE=$(SIZE): it is short or full))

# benches/README.md says what each of them shows, and which are no part of it.
bench: $(VENV)/test ## Run the benches, each beside a peer or a floor: about 10 minutes; SIZE=full: over an hour.
	cargo build --release --workspace --bins --examples --quiet
	$(BIN)/python benches/monitor/run.py $(call short,--rounds 1 --load-seconds 20)
	$(BIN)/python benches/terminal/run.py $(call short,--seconds 5 --sessions 150 --window 20 --turns 3 --kinds pty$(comma)tcp$(comma)http)
	$(BIN)/python benches/reduce/run.py $(call short,--readings 3000000 --repeats 1)
	$(BIN)/python benches/diagnose/run.py $(call short,--repeats 2)
	$(BIN)/python benches/commands/run.py $(call short,--repeats 2)
	$(BIN)/python benches/saturation/run.py $(call short,--systems 200)
	$(BIN)/python benches/contamination/run.py $(call short,--systems 40)
	$(BIN)/python benches/machine/run.py $(call short,--rounds 3)
	$(BIN)/python benches/import/run.py $(call short,--rounds 3)
	$(BIN)/python benches/traces/run.py
	$(BIN)/python benches/prediction/run.py
	$(BIN)/python benches/scalability/run.py $(call short,--tables 200)
	$(BIN)/python benches/intervals/run.py
	$(BIN)/python benches/confusion/run.py $(call short,--pairs 8)
	$(BIN)/python benches/comparison/run.py $(call short,--pairs 40)
	$(BIN)/python benches/correlation/run.py $(call short,--repeats 1)
	$(BIN)/python benches/integrity/run.py $(call short,--corruptions 40 --megabytes 20 --repeats 3)
	$(BIN)/python benches/kills/run.py $(call short,--kills 12 --at-once 4)

ebpf: ## Compile the kernel's programs anew (needs clang, llvm and libbpf-dev; 14 made the objects that are committed).
	crates/satline-monitor/ebpf/build.sh

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/docs ## Make the reference pages from the catalogue, the rules and the results, and the site, in target/site.
	$(BIN)/python -m satline.catalogue docs/reference/variables.md
	$(BIN)/python -m satline.diagnosis.reference docs/reference/rules.md
	$(BIN)/python -m satline.present.schemas.reference docs/reference/json.md
	$(BIN)/mkdocs build --strict --config-file website/mkdocs.yml
	@echo "target/site/index.html: the site, to be opened as a file or served"

man: $(VENV)/product ## Make the manual pages from the commands, in target/man/man1.
	@$(BIN)/satline man -o target/man/man1

# Tools that only this needs are in an environment of their own.
$(VENV)/packaging/made: $(VENV)/made
	@$(PYTHON) -m venv $(VENV)/packaging
	@$(VENV)/packaging/bin/pip --quiet --disable-pip-version-check install build 'setuptools>=77' 'setuptools-rust>=1.10' \
	  ziglang cargo-zigbuild
	@touch $@

packages: $(VENV)/product $(VENV)/packaging/made ## Make wheel, source, recorder (.tar.gz, .deb) and image in dist (MACHINES="x86_64 aarch64" for others).
	@$(BIN)/python -m packages.make --tools $(VENV)/packaging/bin $(MACHINES)

sizes: ## What an installation of the wheel in dist takes, by library.
	@$(PYTHON) -m packages.sizes

clean: ## Remove what was built.
	rm -rf target $(VENV) build dist *.egg-info python/*.egg-info
