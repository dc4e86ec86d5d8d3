# verify and test set everything up by themselves; they need Python 3.11+ with venv, git and make.
VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
# Most of the tests' time is waiting, so that four at once fit two cores. How they are grouped: tests/conftest.py.
WORKERS ?= 4
RUN ?= $(shell ls -dt runs/*/ 2>/dev/null | head -n 1)

# Where the environment forbids it, Python keeps nothing of what it compiles, and each of hundreds of processes does so anew.
export PYTHONDONTWRITEBYTECODE :=

# The seed of where `make campaign` plants its thousand violations, and of its two thousand mutations of sealed runs.
SEED ?= 1

# What `make kills` has done so far; it goes on where it was.
KILLED ?= kills.jsonl

.PHONY: verify test unit lint campaign kills bench picture setup clean

verify: setup
	$(BIN)/mqlab verify

test: setup
	$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

unit: setup
	$(BIN)/python -m pytest tests/unit -n 4

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@echo "modules of more than 400 lines:"; wc -l $$(git ls-files 'mqlab/*.py' 'harness/*.py' 'analysis/*.py') | awk '$$1 > 400 && $$2 != "total"'

campaign: setup
	PLANTED=1000 PLANTED_SEED=$(SEED) YARDSTICK=whole MUTATIONS=2000 MUTATIONS_SEED=$(SEED) POWER_CUTS=20 KILLS=40 PACKETS=whole \
	  $(BIN)/python -m pytest tests/spark/test_planted.py tests/spark/test_yardstick.py tests/spark/test_sealed_runs.py \
	  tests/cluster/test_killed_harness.py tests/root/test_power_cut_of_a_run.py tests/root/test_kills.py tests/root/test_packets.py

kills: setup
	PYTHONPATH=. $(BIN)/python benchmarks/kills.py --kills 300 --seed $(SEED) --minutes 60 --out $(KILLED)

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[benchmarks]'
	for benchmark in benchmarks/*.py; do PYTHONPATH=. $(BIN)/python $$benchmark || exit 1; done

picture:
	tools/picture.sh $(RUN)/report.html docs/report.png

setup: $(VENV)/.complete

$(VENV)/.complete: pyproject.toml constraints.txt
	@echo "Python packages: about 600 MB to download into pip's cache, once (PySpark alone 460 MB); 1.1 GB in $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	[ ! -x $(BIN)/mqlab ] || $(BIN)/mqlab runs clean
	rm -rf $(VENV) build ./*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
