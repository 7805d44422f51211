# Everything happens in a virtual environment of its own; Python 3.11 or newer and make are all that is needed.
PYTHON ?= python3
VENV   ?= .venv
RUN    := $(VENV)/bin/python -m
LOWEST := $(VENV)-lowest
WHEEL  := $(VENV)-wheel
RLLIB  := $(VENV)-rllib

.PHONY: help install train play test test-slow test-lowest test-wheel test-rllib lint golden docs screenshots benchmark clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(VENV)/installed  ## make the virtual environment with everything in it

$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(RUN) pip install --quiet --constraint constraints.txt --editable ".[train,render,openspiel,play,test,dev]"
	@touch $@

train: $(VENV)/installed  ## train a Treehouse agent by self-play (about 5 minutes on 2 cores) and measure it
	$(RUN) training.train --config configs/treehouse.yaml

play: $(VENV)/installed  ## play in the browser, against people and agents
	$(RUN) pyramid_envs.play --web

test: $(VENV)/installed  ## the whole fast suite (under 10 minutes on 2 cores)
	$(RUN) pytest --numprocesses logical

test-slow: $(VENV)/installed  ## the tests that train or play for long
	$(RUN) pytest -m slow

test-lowest: $(LOWEST)/installed  ## the fast suite on the lowest supported versions (Python 3.11 or 3.12)
	NUMBA_CACHE_DIR=$(abspath $(LOWEST))/numba $(LOWEST)/bin/python -m pytest --numprocesses logical

# Pins of constraints-lowest.txt go over those of constraints.txt. Compiled code is kept apart, for numba keeps that of one version.
$(LOWEST)/installed: pyproject.toml constraints.txt constraints-lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	awk -F == 'NR == FNR { print; low[$$1] } NR != FNR && !($$1 in low)' constraints-lowest.txt constraints.txt > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt --editable ".[train,render,openspiel,play,test]"
	@touch $@

# First in an environment of the wheel's own needs, then, for stable-baselines3, with the extra [train].
test-wheel:  ## build wheel and sdist, and run the contract and golden tests against the installed wheel
	rm -rf $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet build
	$(WHEEL)/bin/python -m build --outdir $(WHEEL)/dist
	$(PYTHON) -m venv $(WHEEL)/base
	$(WHEEL)/base/bin/python -m pip install --quiet --constraint constraints.txt $(WHEEL)/dist/*-py3-none-any.whl pytest pytest-xdist hypothesis
	mkdir $(WHEEL)/checkout
	cp -r tests pyproject.toml $(WHEEL)/checkout
	cd $(WHEEL)/checkout && ../base/bin/python -m pytest --numprocesses logical \
		tests/test_aec.py tests/test_batch.py tests/test_game.py tests/test_golden.py tests/games \
		--ignore tests/games/test_tic_tac_toe.py
	$(WHEEL)/base/bin/python -m pip install --quiet --constraint constraints.txt --find-links $(WHEEL)/dist "pyramid-envs[train]"
	cd $(WHEEL)/checkout && ../base/bin/python -m pytest --numprocesses logical tests/test_learner_envs.py \
		tests/games/test_tic_tac_toe.py

test-rllib: $(RLLIB)/installed  ## the distributed trainer, and the environments with the gymnasium that it pins
	$(RLLIB)/bin/python -m pytest -m "slow or not slow" tests/test_rllib.py
	$(RLLIB)/bin/python -m pytest tests/test_aec.py tests/test_learner_envs.py tests/test_batch.py

# Pins of constraints-rllib.txt go over those of constraints.txt.
$(RLLIB)/installed: pyproject.toml constraints.txt constraints-rllib.txt
	$(PYTHON) -m venv $(RLLIB)
	awk -F == 'NR == FNR { print; low[$$1] } NR != FNR && !($$1 in low)' constraints-rllib.txt constraints.txt > $(RLLIB)/constraints.txt
	$(RLLIB)/bin/python -m pip install --quiet --constraint $(RLLIB)/constraints.txt --editable ".[train,distributed,render,test]"
	@touch $@

lint: $(VENV)/installed  ## style and types
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy

golden: $(VENV)/installed  ## write the golden playthroughs anew (read the difference before committing it)
	$(RUN) tests.golden

docs: $(VENV)/installed  ## write the pages that are made from docstrings anew
	$(RUN) docs.api

screenshots: $(VENV)/installed  ## take the pictures of the page anew (needs Chromium)
	PYRAMID_ENVS_SCREENSHOTS=docs/images $(RUN) pytest tests/play/test_browser.py -k pictures

benchmark: $(VENV)/installed  ## steps a second of every game and interface
	$(RUN) benchmarks.throughput

clean:  ## remove the virtual environment and all caches
	rm -rf $(VENV) $(LOWEST) $(WHEEL) $(RLLIB) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
