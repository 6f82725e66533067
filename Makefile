# `make demo`: from a fresh clone to a result. `make test`: every check but the slow ones.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS := 1

.PHONY: demo test test-all faults lint install docs clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt setup.py src/headwise/model/kernel_sources.py $(wildcard src/headwise/model/*.cpp src/headwise/model/*.h)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@

# TransformerLens is heavy and only its own tests need it: `make test-all` adds it.
$(VENV)/.lens: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,lens]'
	touch $@

demo: install
	$(BIN)/headwise train minimal --preset published --seed 6 --steps 1000 --measure.at.dense "[[1, 1, 1]]" --measure.bayes "[1, 2, 3]" --out demo
	$(BIN)/headwise show demo/minimal/*-s6 --figure demo/minimal.png
	$(BIN)/headwise phases demo/minimal/*-s6
	$(BIN)/python -m headwise.paper.beside demo/minimal/*-s6
	$(BIN)/headwise reproduce --run demo/minimal/*-s6
	$(BIN)/headwise report demo/minimal/*-s6 -o demo/minimal.html

lint: install
	$(BIN)/ruff check src tests examples scripts
	$(BIN)/ruff format --check src tests examples scripts
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/deptry src

test: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-all: lint $(VENV)/.lens
	$(BIN)/python -m pytest -n 2

# Crashes, errors, damage, nonsense, signals and hosts, in an hour on two cores; writes docs/reliability.md.
$(VENV)/.faults: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,faults]' \
	  || echo "atheris could not be installed: its part will not pass" >&2
	touch $@

faults: $(VENV)/.faults
	$(BIN)/python -m tests.faults

# The site is built offline and stops at the first warning: a link that leads nowhere is one.
$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,docs]'
	touch $@

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "open build/site/index.html"

clean:
	rm -rf $(VENV) build src/*.egg-info demo
