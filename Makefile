# Everything starts from Python 3.11+, make and pip.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
GRAPH  ?=
PARTS  ?= 8
JOBS   ?= 2

.PHONY: demo test lint format bench-reads bench-plans clean

$(BIN)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

demo: $(BIN)/.installed
	$(BIN)/parge demo --parts $(PARTS) $(if $(GRAPH),--graph $(GRAPH))

lint: $(BIN)/.installed
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

format: $(BIN)/.installed
	$(BIN)/ruff check --fix src tests benchmarks
	$(BIN)/ruff format src tests benchmarks

bench-reads: $(BIN)/.installed
	$(BIN)/python benchmarks/reads_fast.py

bench-plans: $(BIN)/.installed
	$(BIN)/python benchmarks/plans_at_scale.py

clean:
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
