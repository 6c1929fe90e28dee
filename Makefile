# Everything runs in ./.venv, which each target makes when it is missing or pyproject.toml has changed.
#   make demo | test | quick | lint | venv | clean
#   make test ARGS="-m 'not slow and not long' -k cones" WORKERS=1
# The newest Python that runs here and that jax has wheels for.
PYTHON  ?= $(shell for p in python3.13 python3.12 python3; do $$p -c '' 2>/dev/null && echo $$p && break; done || echo python3)
WORKERS ?= 2
ARGS    ?=
DEMO    ?= $(BIN)/jaxccp identify --demo --horizons 40 --out out/demo

# Some of most folders, gradients and both laws among them: minutes instead of the whole suite's.
QUICK := test_layers.py math execution $(addprefix ccp/test_,cones.py bb.py delassus.py admm.py) \
         $(addprefix model/test_,shapes.py joints.py) $(addprefix collision/test_,capsule.py detect.py) \
         $(addprefix scene/test_,builder.py names.py) sensors \
         $(addprefix dynamics/contact/test_,contact_data.py grip.py) dynamics/descriptor/test_descriptor.py \
         dynamics/mechanisms/test_elimination.py \
         envs/test_wrappers.py $(addprefix io/test_,bad_problems.py trajectory.py sensors.py) viz/test_mesh.py \
         $(addprefix identify/test_,checks.py read.py) reference/test_gears.py \
         $(addprefix cli/test_,start.py simulate_model.py)

BIN   := .venv/bin
STAMP := .venv/installed

# Half of the time goes into compiling, and a fifth of that into malloc: mimalloc takes less. Where it is not
# installed nothing is preloaded. (By shell, since make remembers which files there were before the installation.)
FASTER = $(addprefix LD_PRELOAD=,$(shell ls $(CURDIR)/.venv/lib/python3*/site-packages/cmeel.prefix/lib/libmimalloc.so 2>/dev/null))

.PHONY: demo test quick lint venv clean
.DEFAULT_GOAL := test

demo: venv
	$(DEMO)

test: venv
	$(FASTER) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(ARGS)

quick: venv
	$(FASTER) $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(addprefix tests/,$(QUICK)) $(ARGS)

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
