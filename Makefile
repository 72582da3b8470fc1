# Everything happens beside the checkout: packages in .venv, builds and temporary files in build/.
#   make run    set up, plan 100 TB, then plan, sort and validate 1 GB on this machine
#   make test   set up, check style, types and imports, run all tests
#   make soak   the long tests that `make test` leaves out; make soak-quick runs the shorter half of them
#   make bench  benchmarks, other tools beside: a quiet machine with 30 GB of free disk, please
#   make docs   the site, in build/site
#   make lowest tests of planning with the oldest versions of dependencies that pyproject.toml allows, in build/lowest
#   make lock   constraints.txt again after a change of pyproject.toml; LOCK_FLAGS="--upgrade-package NAME" raises a version
#   make audit  known weaknesses of the versions in constraints.txt
#   make wheel  source distribution and wheel, in dist/
#   make wheels wheels for rented machines, x86-64 and arm64, in dist/: for Python 3.12, as they have, with PYTHON=python3.12
# PYTHON=python3.12 chooses an interpreter, CXX=clang++ a compiler.

VENV   := .venv
PYTHON_IN_VENV := $(VENV)/bin/python
STAMPS := $(VENV)/stamps
PIP    := $(PYTHON_IN_VENV) -m pip --disable-pip-version-check install --quiet
LOCKED := $(PIP) --require-hashes --constraint constraints.txt
NATIVE := $(shell find native -type f)
CPP    := $(shell find native tests benchmarks -name '*.[ch]pp')

unexport PYTHONDONTWRITEBYTECODE  # the hundreds of processes that tests start would each compile the planner
export TMPDIR := $(CURDIR)/build/tmp
$(shell mkdir -p build/tmp)

.PHONY: always help run setup lint format test soak soak-quick bench docs lowest lock audit wheel wheels clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#   //p' Makefile

run: $(STAMPS)/install
	$(VENV)/bin/plan --data 100TB --model daytona
	$(VENV)/bin/planner run --data 1GB --model daytona

setup: $(STAMPS)/install $(STAMPS)/develop

lint: setup
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/clang-format --dry-run -Werror $(CPP)

format: setup
	$(VENV)/bin/ruff format .
	$(VENV)/bin/clang-format -i $(CPP)

test: lint
	$(PYTHON_IN_VENV) -m pytest --numprocesses 4 $(PYTEST_FLAGS)

soak: setup
	$(PYTHON_IN_VENV) -m pytest -m soak $(PYTEST_FLAGS)

soak-quick: setup
	$(PYTHON_IN_VENV) -m pytest --numprocesses 2 -m "soak and quick" $(PYTEST_FLAGS)

bench: $(STAMPS)/peers
	for benchmark in benchmarks/*/bench_*.py; do $(PYTHON_IN_VENV) "$$benchmark" || exit 1; done

docs: setup
	$(PYTHON_IN_VENV) -m mkdocs build --quiet --strict
	@echo "open build/site/index.html"

LOWEST := build/lowest/bin/python
LOWEST_TESTS := tests/test_units.py tests/catalog/test_documentation.py tests/exports/test_documented.py tests/planning/ranking
UV := $(VENV)/bin/uv
lowest: $(STAMPS)/lock  # Python 3.11: the oldest versions have no wheels for later ones
	$(UV) venv --quiet --clear --python $(PYTHON_IN_VENV) build/lowest
	$(UV) pip compile --quiet --resolution lowest-direct --all-extras --python $(LOWEST) pyproject.toml --output-file build/lowest/versions.txt
	SORTPLANNER_NO_NATIVE=1 $(UV) pip install --quiet --python $(LOWEST) --constraint build/lowest/versions.txt '.[plots,yaml]' pytest pytest-xdist hypothesis
	build/lowest/bin/plan --data 100TB --html build/lowest/plan.html --force
	$(LOWEST) -m pytest -p no:cacheprovider -W ignore::DeprecationWarning $(LOWEST_TESTS)  # old packages over new ones warn

GROUPS := build test lint bench wheel lock
lock: $(STAMPS)/lock
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock" \
	  --all-extras $(addprefix --group ,$(GROUPS)) --output-file constraints.txt $(LOCK_FLAGS) pyproject.toml

audit: $(STAMPS)/lock
	$(VENV)/bin/pip-audit --requirement constraints.txt --require-hashes --disable-pip

wheel: $(STAMPS)/install
	$(LOCKED) --group wheel
	rm -rf build/dist && mkdir -p dist
	SORTPLANNER_NATIVE=1 $(PYTHON_IN_VENV) -m build --no-isolation --outdir build/dist .
	mv build/dist/*.tar.gz dist
	@if [ "$$(uname)" = Linux ]; then PATH="$(VENV)/bin:$$PATH" auditwheel repair --wheel-dir dist build/dist/*.whl; \
	else mv build/dist/*.whl dist; fi

wheels: $(STAMPS)/install
	$(LOCKED) --group wheel
	PYTHON=$(PYTHON_IN_VENV) sh scripts/cross_wheels.sh x86_64-gnu aarch64-gnu

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Set-up, in steps that are repeated only when what they depend on changes.

$(STAMPS)/venv:
	@python=$$(sh scripts/preflight.sh) && echo "setting up $(VENV) with $$python" && "$$python" -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/build-tools: $(STAMPS)/venv constraints.txt pyproject.toml
	@sed -n '/^pip==/,/[^\\]$$/p' constraints.txt > build/tmp/pip.txt  # older ones take no hashes from constraints
	$(PIP) --require-hashes --requirement build/tmp/pip.txt
	$(LOCKED) --group build
	@touch $@

# The editable install knows the package's modules by name, and goes wrong when one becomes a package.
$(STAMPS)/modules: $(STAMPS)/venv always
	@find planner -name '*.py' | sort | cmp -s - $@ || find planner -name '*.py' | sort > $@

$(STAMPS)/install: $(STAMPS)/build-tools $(STAMPS)/modules $(NATIVE)
	@$(PYTHON_IN_VENV) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' > build/tmp/run.txt
	$(LOCKED) --requirement build/tmp/run.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	$(PYTHON_IN_VENV) -m compileall -q planner  # as pip does for a wheel: the first call is as quick as the next
	@touch $@

$(STAMPS)/develop: $(STAMPS)/build-tools constraints.txt pyproject.toml
	$(LOCKED) --group test --group lint
	@touch $@

$(STAMPS)/lock: $(STAMPS)/build-tools
	$(LOCKED) --group lock
	@touch $@

$(STAMPS)/peers: $(STAMPS)/install $(STAMPS)/develop
	$(LOCKED) --group bench
	@touch $@
