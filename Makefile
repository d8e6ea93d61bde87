# make demo   four sites in one process: the first thing to look at
# make test   builds, vets and tests every package, with the race detector where there is a C compiler
# make help   the rest

GO       ?= go
TIMEOUT  ?= 40m
FUZZTIME ?= 10s
BENCH    ?= .
BENCHES  ?= ./...

# What kills daemons, brokers, links and disks under hundreds of instances takes long. It runs without the race
# detector, since all that is tested is in other processes: that would look at the judge only. CROWDED starts
# as many daemons and programs as two processors carry, or tells a story in steps; CALM runs beside the brokers.
CALM    = ./test/partition ./test/upgrade
CROWDED = ./test/crash ./test/golden ./test/rebuild ./test/sites
LONG    = ./test/broker $(CALM) $(CROWDED)

# Each test runs each time: many run daemons that are built beside them, and where only a daemon has changed
# Go would give the result of the time before.
TEST = $(GO) test -count 1 -timeout $(TIMEOUT)

# `make test` runs two packages for each processor, since many wait for brokers, disks and links most of their
# time; and has vetted everything before, which Go would do once more for the build with the race detector.
BESIDE = -vet off -p $(shell expr 2 '*' "$$(getconf _NPROCESSORS_ONLN)")

# What runs one task at a time has no races to find. With the race detector a world is twenty times slower
# and takes gigabytes, the limits of definitions are tried in minutes. internal/purity holds the rest of
# the list to it: no goroutine in it, and none in its tests.
WORLDS = ./sim/world
ALONE  = ./behaviour ./container ./definition ./event ./interpret ./link/core ./link/frame ./link/seal \
         ./message ./navigator ./node/thread ./processtable ./queue/record ./schedule ./sim/generate ./sim/oracle

# The linter and its formatter are pinned in a module of their own.
LINT = $(GO) tool -modfile=tools/go.mod golangci-lint

# The race detector needs cgo, a C compiler and the C library's headers.
CGO := $(or $(CGO_ENABLED),$(shell $(GO) env CGO_ENABLED))
CC_WORKS := $(shell echo '\#include <stdlib.h>' | $$($(GO) env CC) -E - >/dev/null 2>&1 && echo yes)
RACE := $(if $(and $(filter 1,$(CGO)),$(CC_WORKS)),-race)

.DEFAULT_GOAL := build
.PHONY: help build demo test test-long tested-with storm faults sim mutants bench microbench lint fmt fuzz man clean

help:
	@echo 'make build   bin/fmqmd, bin/fmqm, bin/fmqm-define, and bin/fmqm-launch, which fmqmd starts programs through'
	@echo 'make demo    builds, then runs `bin/fmqmd demo`'
	@echo 'make test    builds, vets, and tests every package; ten minutes on two cores'
	@echo 'make test-long  the rest of the tests: daemons, brokers, links and disks that fail under hundreds of instances'
	@echo 'make storm   kills daemons, cuts links and fills a disk under 500 instances, again and again for MINUTES=10, and then as long under clerks'
	@echo 'make faults  does to a RabbitMQ what can be done to one under 500 instances, again and again for MINUTES=10'
	@echo 'make sim     runs networks of sites from seeds: SEEDS=n from SEED_BASE=n on, or for MINUTES=n; SEED=n runs one and tells it'
	@echo 'make mutants  puts mistakes into the product, one at a time, and has worlds find each (MINUTES=5 for one)'
	@echo 'make bench   terminations a second, beside the bare store in the same run'
	@echo 'make microbench  the benchmarks of the rooms (BENCH=regexp, BENCHES=packages)'
	@echo 'make lint    format and rules; `make fmt` formats'
	@echo 'make fuzz    every fuzz target for FUZZTIME=$(FUZZTIME) each, or all in MINUTES=n'
	@echo 'make man     man/*.1, the manual pages'
	@echo 'make clean   removes bin/ and man/'

build:
	$(GO) build -o bin/ ./cmd/...

demo: build
	bin/fmqmd demo

test: build tested-with
	$(GO) vet ./...
	$(TEST) $(BESIDE) $(RACE) $(or $(filter-out $(patsubst ./%,fmqm/%,$(LONG) $(WORLDS) $(ALONE)),$(shell $(GO) list ./...)),$(error go list names no package))
	$(TEST) $(BESIDE) $(WORLDS) $(ALONE)
	$(GO) run ./sim/run -seeds 60 -base 441  # those before are of TestWorlds

test-long: build tested-with
	$(GO) run ./sim/run -seeds 5000
	$(TEST) -p 2 ./test/broker $(CALM)
	$(TEST) -p 1 $(CROWDED)

tested-with:
	@if [ -z '$(RACE)' ]; then \
		echo '################################################################'; \
		echo '## NO C COMPILER: the tests run WITHOUT the race detector.    ##'; \
		echo '## For the full test: apt-get install gcc libc6-dev           ##'; \
		echo '################################################################'; \
	fi
	@scripts/install-rabbitmq.sh || { \
		echo '################################################################'; \
		echo '## NO RABBITMQ: the tests of links over a broker are SKIPPED. ##'; \
		echo '## For the full test: apt-get install rabbitmq-server         ##'; \
		echo '################################################################'; \
	}
	@scripts/install-slapd.sh || { \
		echo '################################################################'; \
		echo '## NO SLAPD: the tests of staff from a directory are SKIPPED. ##'; \
		echo '## For the full test: apt-get install slapd                   ##'; \
		echo '################################################################'; \
	}

storm:
	FMQM_STORM=$(or $(MINUTES),10) $(GO) test -count=1 -timeout 0 -v -run '^TestStorm(OfClerks)?$$' ./test/sites

faults:
	FMQM_FAULTS=$(or $(MINUTES),10) $(GO) test -count=1 -timeout 0 -v -run '^TestFaults$$' ./test/broker

sim:
	$(GO) run ./sim/run $(if $(SEED),-seed $(SEED),-seeds $(or $(SEEDS),500) -base $(or $(SEED_BASE),1) -minutes $(or $(MINUTES),0))

mutants:
	$(GO) run ./sim/mutants -minutes $(or $(MINUTES),5)

bench:
	$(GO) run ./bench

microbench:
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -timeout $(TIMEOUT) $(BENCHES)

lint:
	$(LINT) fmt --diff
	$(LINT) run

fmt:
	$(LINT) fmt

fuzz:
	GO='$(GO)' MINUTES='$(MINUTES)' scripts/fuzz.sh $(FUZZTIME)

man: build
	mkdir -p man
	for p in fmqm fmqm-define fmqmd; do bin/$$p man > man/$$p.1 || exit 1; done

clean:
	rm -rf bin man
