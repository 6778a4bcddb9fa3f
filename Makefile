# Two commands for everyone: `make demo` and `make test`. Both set up .venv first if it is not current.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.current

# What the commands tell torch themselves (src/bes/machine.py), for tests and scripts.
export OMP_WAIT_POLICY ?= PASSIVE
export THP_MEM_ALLOC_ENABLE ?= 1

.PHONY: setup demo test lint clean docs first-look links results check-results speed picture screenshots

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@echo "Installing into .venv: a few minutes the first time."
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

demo: setup
	rm -rf runs/demo
	$(BIN)/bes run citeseer --seeds 0-2 --out runs/demo

lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/pytest -n 2

# The honest first look: runs what is not recorded yet (needs BES_DATA), then writes the documents.
first-look: setup
	$(BIN)/python scripts/first_look.py

# Links on four graphs, the same way.
links: setup
	$(BIN)/python scripts/links.py

# Every suite of the paper: runs what is not recorded yet (needs BES_DATA; hours), then writes docs/results.
results: setup
	$(BIN)/python scripts/results.py

# Every page of results is made again from the committed records and compared.
check-results: setup
	$(BIN)/python scripts/results.py --check

# Speed and memory against rivals and this machine's limits, then docs/results/speed.md, and in docs/scale.md what the cost
# model says of it (a quiet machine, an hour).
speed: setup
	$(BIN)/python scripts/speed.py
	$(BIN)/python scripts/cost_model.py --measure
	$(BIN)/python scripts/large.py

picture: demo
	$(BIN)/python scripts/picture.py

# The README's pictures of report and explorer (needs Chromium).
screenshots: demo
	$(BIN)/python scripts/screenshots.py

# The guide, as a site under site/.
docs: setup
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv runs dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
