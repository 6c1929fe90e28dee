# Everything runs in ./.venv, which each target makes when it is missing or pyproject.toml has changed.
#   make demo | test | lint | venv | clean
#   make test ARGS="-m 'not slow' -k cones" WORKERS=1
# The newest Python that runs here and that jax has wheels for.
PYTHON  ?= $(shell for p in python3.13 python3.12 python3; do $$p -c '' 2>/dev/null && echo $$p && break; done || echo python3)
WORKERS ?= 2
ARGS    ?=
DEMO    ?= $(BIN)/jaxccp identify --demo --horizons 40 --out out/demo

BIN   := .venv/bin
STAMP := .venv/installed

.PHONY: demo test lint venv clean
.DEFAULT_GOAL := test

demo: venv
	$(DEMO)

test: venv
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

venv: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "jaxccp needs Python 3.11 or newer; '$(PYTHON)' is" \
	       "$$($(PYTHON) --version 2>/dev/null || echo 'not to be found')." \
	       "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing jaxccp and its dependencies into .venv (a minute or two the first time) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,viz]'
	@touch $@

clean:
	rm -rf .venv .pytest_cache .ruff_cache out build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
