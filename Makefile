# Two commands: `make reproduce` regenerates the paper and ends with its report; `make test` runs every quick check,
# `make test-all` all of them.
# Each makes its own environment in .venv from the versions pinned in constraints.txt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
OUT ?= results
SLOW := -m 'not slow'
APART := .venv-statsforecast

.PHONY: reproduce results test test-all check lint types contract doctest unit statsforecast docs packages clean

reproduce: $(STAMP)
	$(BIN)/python -m reproduction --out $(OUT)

# Result files whose code has changed since, as far as this machine can, the oldest first: stop it, run it again to go on.
results: $(STAMP)
	$(BIN)/python -m benchmarks --all

# Lint, types, contract and doctests on one core while the tests run on what is left.
test: $(STAMP)
	$(MAKE) -j 2 lint types contract doctest unit

# Slow tests too (tests/slow.txt), and statsforecast's in an environment of its own: what continuous integration runs.
test-all: $(STAMP)
	$(MAKE) -j 2 lint types contract doctest unit SLOW=
	$(MAKE) statsforecast

check: lint types contract doctest

$(STAMP): pyproject.toml constraints.txt constraints-triton.txt
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'prophecy needs Python 3.11 or later')"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade -c constraints.txt pip
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	$(BIN)/python -c "import triton" 2> /dev/null || $(BIN)/python -m pip install --quiet -r constraints-triton.txt
	touch $(STAMP)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

contract: $(STAMP)
	$(BIN)/lint-imports

doctest: $(STAMP)
	$(BIN)/pytest --doctest-modules --doctest-ignore-import-errors src reproduction

# A test that does not end within 15 minutes is named and ended, compiled loops included.
unit: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/pytest $(SLOW) -n 2 --dist loadfile --timeout 900 --timeout-method thread

# statsforecast needs pandas < 3, so its model is tested in an environment of its own.
$(APART)/.installed: pyproject.toml constraints-statsforecast.txt
	test -x $(APART)/bin/python || $(PYTHON) -m venv $(APART)
	$(APART)/bin/python -m pip install --quiet -c constraints-statsforecast.txt -e ".[statsforecast]" pytest
	touch $@

statsforecast: $(APART)/.installed
	$(APART)/bin/python -m pytest --noconftest tests/test_adapters_statsforecast.py

# The site, in docs/_build/html: warnings are errors, local links and anchors must lead somewhere.
docs: $(STAMP)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/links.py

# Wheel and sdist, in dist/: contents looked at, then installed into a clean environment and used (tools/packages.py).
packages: $(STAMP)
	$(BIN)/python tools/packages.py

clean:
	rm -rf docs/_build dist $(VENV) $(APART) .pytest_cache .mypy_cache .ruff_cache .hypothesis results
