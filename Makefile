# Everything is installed into .venv and .clients, both inside this folder.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
DEMO := .demo
EXAMPLE := $(wildcard examples/codex-home/sessions/*/*/*/rollout-*T18-13-15-*.jsonl)
MIGRATE = $(BIN)/session-migrator migrate $(EXAMPLE) --to claude-code \
	--model claude-opus-5-5 --home $(DEMO)/claude-home --into $(DEMO)/project

# ctok, which counts for Claude, needs 3.12.
PYTHON312 ?= $(shell for p in python3.12 python3.13 $$HOME/.pyenv/versions/3.1[23]*/bin/python python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && echo $$p && break; done)

SIDE_BY_SIDE = --numprocesses auto --dist worksteal

.PHONY: run test test-vocabularies check clients clients-install clean

run: .venv/run
	@mkdir -p $(DEMO)/project
	@echo "--- a recorded Codex session, into a model that it fits:"
	@SESSION_MIGRATOR_HOME=$(DEMO)/store $(MIGRATE)
	@echo
	@echo "--- the same session, within 3,000 tokens:"
	@SESSION_MIGRATOR_HOME=$(DEMO)/store $(MIGRATE) --budget 3000

test: .venv/dev
	$(BIN)/python -m pytest $(SIDE_BY_SIDE) --cov

test-vocabularies: .venv312/dev
	.venv312/bin/python -m pytest tests/vocabularies tests/test_tokens.py

check: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

clients-install: .venv/dev
	$(BIN)/python tests/clients/install.py

clients: clients-install
	SESSION_MIGRATOR_CLIENTS=required SESSION_MIGRATOR_CASES=all SESSION_MIGRATOR_RECORD=1 \
		$(BIN)/python -m pytest $(SIDE_BY_SIDE) tests/clients

clean:
	rm -rf .venv .venv312 .clients $(DEMO)

.venv/python:
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or newer is needed"; echo "try: make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/run: .venv/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/dev: .venv/run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.venv312/dev: pyproject.toml
	@test -n "$(PYTHON312)" || { echo "error: Python 3.12 or newer is needed"; echo "try: make PYTHON312=/path/to/python3.12"; exit 2; }
	$(PYTHON312) -m venv .venv312
	.venv312/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,claude,tokenizers]'
	@touch $@
