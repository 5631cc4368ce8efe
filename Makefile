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
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test,peer,bench,docs]'
	@touch $@

run: setup
	$(BIN)/serq run examples/multi-turn/vllm.sq --horizon 600
	$(BIN)/serq prove

test: setup
	$(BIN)/ruff check serq tests bench tools
	$(BIN)/ruff format --check serq tests bench tools
	$(BIN)/mypy
	$(BIN)/serq fmt --check $$(find examples -name '*.sq')
	$(BIN)/serq prove
	$(BIN)/serq oracle --setup
	$(BIN)/pytest -n 2 --dist loadfile

# Every comparison on random programs; `make fuzz SECONDS=3600`, `make fuzz FUZZ='lean --seed 7'`.
SECONDS := 600
fuzz: setup
	$(BIN)/serq fuzz --seconds $(SECONDS) $(FUZZ)

clean:
	rm -rf $(VENV) .lake build dist
