# make demo   fit the banana data and draw what was learned
# make quick  run the tests of the mathematics, in a minute or two
# make test   check style and types, and run every test
# Each creates .venv first, from the pinned versions in constraints.txt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo quick test format clean

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

format: $(VENV)/test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) out build dist

# One stamp per set of extras: installing again only when the pins or the extras change.
$(VENV)/%: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$*]'
	touch $@
