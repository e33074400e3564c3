# Everything starts from Python 3.11+, make and pip.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
GRAPH  ?=
PARTS  ?= 8
JOBS   ?= 2
SEEDS  ?= 5
QUICK  ?=
ONLY   ?=
COUNT  ?= 10000
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
FAST   := not (slow or ray or browser)

# Hundreds of tests start a process: without compiled sources each of them compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: bench-quality bench-backbone demo docs test test-slow test-all test-processors package pythons lint format fuzz soak bench-parts bench-memory bench-shards bench-reads bench-plans bench-f1 bench-kernel bench-pip bench-paper bench-peers bench-pbg bench-scale bench-passes bench-eigen bench-links bench-auto bench-fidelity bench-space bench-neighbors clean

$(BIN)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

demo: $(BIN)/.installed
	$(BIN)/parge demo --parts $(PARTS) $(if $(GRAPH),--graph $(GRAPH))

# The site, in build/site; a warning is an error. Its tools are an extra of their own.
docs: $(BIN)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'Open build/site/index.html'

$(BIN)/.docs: $(BIN)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

lint: $(BIN)/.installed
	$(BIN)/ruff check src tests benchmarks docs/examples docs/site
	$(BIN)/ruff format --check src tests benchmarks docs/examples docs/site
	$(BIN)/mypy

# What a contributor runs: linters, types, and one test of each behaviour; at most 5 minutes on two cores.
test: lint
	$(PYTEST) -m '$(FAST)' --hypothesis-profile fast

# What `make test` leaves out: measured memory, kills, fuzzers, Ray, a browser; property tests again, with more examples.
test-slow: $(BIN)/.installed
	$(PYTEST) -m 'slow or ray or browser or hypothesis'

# Everything once.
test-all: lint
	$(PYTEST)

# After the above: the numerical tests under other core types and vector units, all fast tests under two.
test-processors: $(BIN)/.installed
	$(BIN)/python .ci/processors

# Wheel and sdist, checked, then used in a new environment and a folder without the sources.
package: $(BIN)/.installed
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python .ci/package

# The same wheel under every Python from 3.11 to 3.14 that is found.
pythons: $(BIN)/.installed
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python .ci/package --pythons

format: $(BIN)/.installed
	$(BIN)/ruff check --fix src tests benchmarks docs/examples docs/site
	$(BIN)/ruff format src tests benchmarks docs/examples docs/site

# 1,000 kills of workers, coordinators and both at random moments, on Ray too where it is installed; about 40 minutes.
soak: $(BIN)/.installed
	$(BIN)/python -m benchmarks.soak

# COUNT random command lines, damaged files and damaged run folders, each; under an hour.
fuzz: $(BIN)/.installed
	$(BIN)/python -m tests.fuzz.command_lines --count $(COUNT)
	folder=$$(mktemp -d) && $(BIN)/python -m tests.fuzz.readers $$folder $$(($(COUNT) / 18)) && rm -r $$folder
	folder=$$(mktemp -d) && $(BIN)/python -m tests.fuzz.run_folder $$folder $(COUNT) && rm -r $$folder

# 8 parts against the whole graph, wall time on two cores, as a user types it: ten minutes on a free machine.
bench-parts: $(BIN)/.installed
	$(BIN)/python -m benchmarks.parts_take_no_longer $(if $(ONLY),--only $(ONLY))

# The picture of the README: two minutes of one core.
.PHONY: bench-front
bench-front: $(BIN)/.installed
	$(BIN)/python benchmarks/front_page.py

bench-memory: $(BIN)/.installed
	$(BIN)/python benchmarks/memory_of_parts.py $(if $(EDGES),--edges $(EDGES))

bench-shards: $(BIN)/.installed
	$(BIN)/python -m benchmarks.shards $(if $(EDGES),--edges $(EDGES)) $(if $(PARTS),--parts $(PARTS)) $(MORE)

bench-reads: $(BIN)/.installed
	$(BIN)/python benchmarks/reads_fast.py

bench-plans: $(BIN)/.installed
	$(BIN)/python benchmarks/plans_at_scale.py

bench-f1: $(BIN)/.installed
	$(BIN)/python benchmarks/matches_published_f1.py

# Against gensim and pecanpy (which wants an older numpy, so an environment of its own): half an hour, goes on where it stopped.
bench-kernel: $(BIN)/.installed $(VENV)-pecanpy/.installed
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python benchmarks/faster_than_gensim.py $(if $(ONLY),--only $(ONLY))

$(VENV)-pecanpy/.installed:
	$(PYTHON) -m venv $(VENV)-pecanpy
	-$(VENV)-pecanpy/bin/python -m pip install --quiet pecanpy==2.0.9 gensim==4.4.0
	touch $@

# Against pycleora, scikit-network and PyTorch-BigGraph: hours on one core, but it goes on where it stopped.
bench-peers: $(BIN)/.installed $(VENV)-pbg/.installed
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks.against_peers $(if $(QUICK),--quick)

# Whitened propagation against pycleora and a plain copy: ten minutes; LARGE=1 has a graph of 10 M edges, too.
bench-passes: $(BIN)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks.passes_at_memory_speed $(if $(LARGE),--large)

# Links in 8 and 16 parts, both kinds of pairs, beside three peers: half an hour, goes on where it stopped.
bench-links: $(BIN)/.installed $(VENV)-pbg/.installed
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks.links_in_parts --peers --seeds $(SEEDS) $(if $(ONLY),--graphs $(ONLY))

# What --technique auto chooses, beside the best fixed technique, why it tries nothing on small graphs, and how long it tries: 20 minutes.
bench-auto: $(BIN)/.installed
	$(BIN)/python -m benchmarks.auto_chooses
	$(BIN)/python -m benchmarks.small_graphs_blend
	$(BIN)/python -m benchmarks.auto_trials

# PIP of parts to the whole graph, as they are and with --refine scale: five minutes.
bench-fidelity: $(BIN)/.installed
	$(BIN)/python -m benchmarks.scale_is_faithful --seeds $(SEEDS) $(if $(ONLY),--graphs $(ONLY))

# Eigenvectors against scikit-network and ARPACK: five minutes.
bench-eigen: $(BIN)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks.eigenvectors $(if $(ONLY),--only $(ONLY))

# Nearest neighbours through an index, and without: a minute.
bench-neighbors: $(BIN)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[vectors]'
	$(BIN)/python -m benchmarks.neighbors_through_an_index

# Against PyTorch-BigGraph in 1, 2, 4, 8 parts, as the paper did, and as PyTorch-BigGraph is meant.
bench-pbg: $(BIN)/.installed $(VENV)-pbg/.installed
	$(BIN)/python -m benchmarks.against_pbg $(if $(QUICK),--quick)

# It wants an old setuptools; where it cannot be had, the benchmarks leave it out and say so.
$(VENV)-pbg/.installed:
	$(PYTHON) -m venv $(VENV)-pbg
	-$(VENV)-pbg/bin/python -m pip install --quiet torch==2.13.0 torchbiggraph==1.0.0 'setuptools<81'
	touch $@

# Planted graphs of 0.1 to 34.5 M edges: two hours of one core, but it goes on where it stopped. What it measures
# becomes the constants of `parge plan --estimate`.
bench-scale: $(BIN)/.installed
	$(BIN)/python benchmarks/scales_with_edges.py --constants

# What a frozen space keeps; ONLY=ages, times, large or calibrate for the other tables, GRAPHS=cora,planted for some
# graphs. It goes on where it stopped (results/space).
bench-space: $(BIN)/.installed
	$(BIN)/python -m benchmarks.space_stays --seeds $(SEEDS) $(if $(ONLY),--only $(ONLY)) $(if $(GRAPHS),--graphs $(GRAPHS))

bench-pip: $(BIN)/.installed
	$(BIN)/python benchmarks/pip_at_scale.py

# DeepWalk in 8 parts against the whole graph, rotated and around a backbone, refined and not.
bench-backbone: $(BIN)/.installed
	$(BIN)/python benchmarks/backbone_keeps_quality.py

# Parts against the whole graph: techniques, methods, 1 to 32 parts; hours, but it goes on where it stopped.
bench-quality: $(BIN)/.installed
	$(BIN)/python -m benchmarks.quality_against_whole_graph --seeds $(SEEDS) $(if $(ONLY),--graphs $(ONLY))

# The paper's tables and figures: over an hour, but it goes on where it stopped; QUICK=1 tries it in two minutes.
bench-paper: $(BIN)/.installed
	$(BIN)/python -m benchmarks.paper --seeds $(SEEDS) $(if $(QUICK),--quick)

clean:
	rm -rf $(VENV) $(VENV)-pecanpy $(VENV)-pbg demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
