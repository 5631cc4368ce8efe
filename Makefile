# The two commands: `make run` does the main job, `make test` passes all tests.
# Both install what they need into .venv and are quick the second time.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: setup run test fuzz clean
setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test,peer,bench,docs,lsp]'
	@touch $@

run: setup
	$(BIN)/serq run examples/single-turn/mg1.sq --horizon 3000

test: setup
	$(BIN)/ruff check serq tests
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist loadfile

clean:
	rm -rf $(VENV) build dist
