# Everything happens in a virtual environment of its own; Python 3.11 or newer and make are all that is needed.
PYTHON ?= python3
VENV   ?= .venv
RUN    := $(VENV)/bin/python -m

.PHONY: help install train test test-slow lint golden docs benchmark clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(VENV)/installed  ## make the virtual environment with everything in it

$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --constraint constraints.txt --editable ".[train,render,test,dev]"
	@touch $@

train: $(VENV)/installed  ## train a Treehouse agent by self-play (about 5 minutes on 2 cores) and measure it
	$(RUN) training.train --config configs/treehouse.yaml

test: $(VENV)/installed  ## the whole fast suite (under 10 minutes on 2 cores)
	$(RUN) pytest --numprocesses logical

test-slow: $(VENV)/installed  ## the tests that train or play for long
	$(RUN) pytest -m slow

lint: $(VENV)/installed  ## style and types
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

golden: $(VENV)/installed  ## write the golden playthroughs anew (read the difference before committing it)
	$(RUN) tests.golden

docs: $(VENV)/installed  ## write the pages that are made from docstrings anew
	$(RUN) docs.api

benchmark: $(VENV)/installed  ## steps a second of every game and interface
	$(RUN) benchmarks.throughput

clean:  ## remove the virtual environment and all caches
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
