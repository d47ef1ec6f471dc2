# make demo   fit the banana data and draw what was learned
# make test   check style and types, and run every test
# Both create .venv first, from the pinned versions in constraints.txt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test format clean

demo: $(VENV)/demo
	$(BIN)/python -m fewknots.demo --out out/banana.png

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
