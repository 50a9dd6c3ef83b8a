# Two commands for a fresh machine: `make demo`, `make test`. They need python3 (3.11 to 3.13, with venv) and make;
# uv is installed into .venv if the machine has none.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A uv of the machine's own is used; otherwise one is installed into .venv, where it then serves.
UV := $(shell command -v uv 2>/dev/null || echo $(BIN)/uv)
RUN := env -u PYTHONDONTWRITEBYTECODE PATH="$(CURDIR)/$(BIN):$$PATH"
VAULT ?=

.DEFAULT_GOAL := help
.PHONY: help install demo test lint up bench eval clean

help: ## Show the commands
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/kos: pyproject.toml uv.lock
	@echo "Installing Knowledge OS into $(VENV) (about a minute with a cold package cache) ..."
	@if [ "$(UV)" = "$(BIN)/uv" ] && [ ! -x $(BIN)/uv ]; then \
	  $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9' || \
	  { echo "uv could not be installed. On Debian and Ubuntu: apt-get install python3-venv"; exit 1; }; \
	fi
	@env -u PYTHONDONTWRITEBYTECODE $(UV) sync --quiet --frozen --inexact --compile-bytecode
	@touch $(BIN)/kos

install: $(BIN)/kos ## Install into .venv

demo: install ## Show the product on an invented vault (KEEP=1 leaves it running)
	@$(RUN) $(BIN)/kos demo $(if $(KEEP),--keep)

test: install ## Run the tests on a real embedded Postgres
	@$(RUN) $(BIN)/python -m pytest $(TESTS)

lint: install ## Style, types, architecture, SQL
	@$(RUN) $(BIN)/ruff check . && $(RUN) $(BIN)/ruff format --check .
	@$(RUN) $(BIN)/lint-imports
	@$(RUN) $(BIN)/mypy
	@$(RUN) $(BIN)/sqlfluff lint --disable-progress-bar dbt_project
	@$(RUN) $(BIN)/sqlfluff lint --disable-progress-bar --templater placeholder kos_assets/store

up: install ## Run everything for a vault: make up VAULT=~/notes
	@test -n "$(VAULT)" || { echo "Which vault? make up VAULT=~/notes"; exit 2; }
	@$(RUN) $(BIN)/kos --vault "$(VAULT)" up

bench: install ## Measure ingest, search and freshness on this machine
	@$(RUN) $(BIN)/kos bench

eval: install ## Score retrieval: make eval FOLDERS="path/to/set ..."
	@$(RUN) $(BIN)/kos eval $(FOLDERS)

clean: ## Remove what was built here (not your data)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dbt_project/target dbt_project/logs
