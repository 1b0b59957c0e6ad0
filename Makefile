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

.PHONY: reproduce results test test-all check lint types contract doctest unit statsforecast sanitize docs packages clean

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
	@command -v $${CC:-cc} > /dev/null || { echo "prophecy needs a C compiler to be built: install gcc or clang"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade -c constraints.txt pip
	$(BIN)/python -m pip install --quiet -c constraints.txt meson-python meson ninja cython
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e ".[dev]"
	$(BIN)/python -c "import triton" 2> /dev/null || $(BIN)/python -m pip install --quiet -r constraints-triton.txt
	touch $(STAMP)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# Sources are read as files: an editable install shows the checker its loader instead.
contract: $(STAMP)
	PYTHONPATH="src:.:$$($(BIN)/python -c 'import site; print(site.getsitepackages()[0])')" $(BIN)/python -S $(BIN)/lint-imports

doctest: $(STAMP)
	$(BIN)/pytest --doctest-modules --doctest-ignore-import-errors src reproduction

# A test that does not end within 15 minutes is named and ended, compiled loops included. Kernels are built before, once.
BUILD := $(CURDIR)/build/$(shell $(PYTHON) -c "import sys; print('cp%d%d' % sys.version_info[:2])")

unit: $(STAMP)
	$(BIN)/python -c "import prophecy"
	OMP_NUM_THREADS=1 $(BIN)/pytest $(SLOW) -n 2 --dist loadfile --timeout 900 --timeout-method thread

# statsforecast needs pandas < 3, so its model is tested in an environment of its own, with a wheel of what is built already.
$(APART)/.installed: pyproject.toml constraints-statsforecast.txt $(STAMP)
	test -x $(APART)/bin/python || $(PYTHON) -m venv $(APART)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation -Cbuild-dir=$(BUILD) -w $(APART)/wheel .
	$(APART)/bin/python -m pip install --quiet -c constraints-statsforecast.txt "$$(ls $(APART)/wheel/*.whl)[statsforecast]" pytest
	touch $@

statsforecast: $(APART)/.installed
	$(APART)/bin/python -m pytest --noconftest tests/test_adapters_statsforecast.py

# Streams, files and dynamics with kernels that watch every address and every undefined operation.
SANITIZED := .venv-sanitize
sanitize: $(STAMP)
	test -x $(SANITIZED)/bin/python || $(PYTHON) -m venv $(SANITIZED)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation -w $(SANITIZED)/wheel \
	  -Csetup-args=-Db_sanitize=address,undefined -Csetup-args=-Db_lundef=false -Csetup-args=-Doptimization=1 .
	$(SANITIZED)/bin/python -m pip install --quiet --no-deps --force-reinstall $(SANITIZED)/wheel/*.whl
	$(BIN)/python -c "import site; print(site.getsitepackages()[0])" > $(SANITIZED)/lib/python3.$(shell $(PYTHON) -c "import sys; print(sys.version_info[1])")/site-packages/rest.pth
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 OMP_NUM_THREADS=1 $(SANITIZED)/bin/python -m pytest $(SANITIZED_TESTS)
SANITIZED_TESTS ?= tests/test_streams*.py tests/test_streams_*.py tests/test_fleet*.py tests/test_laws*.py

# The site, in docs/_build/html: warnings are errors, local links and anchors must lead somewhere.
docs: $(STAMP)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python docs/links.py

# Wheel and sdist, in dist/: contents looked at, then installed into a clean environment and used (tools/packages.py).
packages: $(STAMP)
	$(BIN)/python tools/packages.py

clean:
	rm -rf build docs/_build dist $(VENV) $(APART) $(SANITIZED) .pytest_cache .mypy_cache .ruff_cache .hypothesis results
