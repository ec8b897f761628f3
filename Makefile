VENV   ?= .venv
PYTHON ?= python3
PY     := $(VENV)/bin/python

.PHONY: demo test lint docs clean

# The main job: six methods compared on digits with 40 % wrong labels.
demo: $(VENV)/.ready
	$(PY) -m labelnoise train

# Linter, type checker and every test.
test: lint
	$(PY) -m pytest -n 2 --dist worksteal

lint: $(VENV)/.ready
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

# The page of all settings, the table of data sets, and the pages of what is measured, from code and records.
docs: $(VENV)/.ready
	$(PY) docs/generate.py

$(VENV)/.ready: pyproject.toml constraints.txt requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
