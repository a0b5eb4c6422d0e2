# Each target sets up what it needs. `make help` lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
CARGO ?= cargo
# dev builds in a minute and is fast enough for everything but measuring; PROFILE=release takes longer.
PROFILE ?= dev
BUILD = $(CARGO) build --profile $(PROFILE) --package neutrino
NEUTRINO = target/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))/neutrino
# Arguments for the program: make run ARGS="--bind_port 9697"
ARGS ?=

.PHONY: help
help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/make \1\t\2/' | expand -t 16

.PHONY: run
run: tools-build ## Build, then run server and agents in one process: API on 127.0.0.1:9696, state in ./var.
	@if [ "$$(id -u)" -eq 0 ]; then tools/need dnsmasq ip udhcpc dhclient ping; fi
	@$(BUILD)
	@exec $(NEUTRINO) up $(ARGS)

.PHONY: demo
demo: root tools-build ## Watch instances get their network, in throw-away namespaces; DEMO_STAY=1 keeps it up.
	@tools/need dnsmasq ip udhcpc dhclient ping
	@$(BUILD)
	@exec $(NEUTRINO) demo $(ARGS)

.PHONY: demo-vm
demo-vm: root tools-build ## The same with a real guest: a Debian kernel under QEMU, without KVM.
	@tools/need dnsmasq ip udhcpc dhclient ping qemu-system-x86_64 busybox-static cpio xz
	@$(BUILD)
	@NEUTRINO=$(NEUTRINO) tools/demo-vm

.PHONY: test
test: root tools-build ## Run all tests; the last line is `N passed, N failed, N skipped`.
	@tools/need dnsmasq ip udhcpc dhclient ping tcpdump linux.uml python3 python3-venv mariadbd postgresql-15 rabbitmq-server openssl \
	  ovs-vswitchd dhcp_release iptables ipset conntrack
	@CARGO="$(CARGO)" tools/test $(ARGS)

.PHONY: interop
interop: root tools-build ## Their agents with our server, our agents with theirs (neutron 29 and 25 from PyPI).
	@tools/need dnsmasq ip udhcpc ping python3 python3-venv mariadbd rabbitmq-server ovs-vswitchd dhcp_release iptables ipset conntrack
	@$(BUILD)
	@export NEUTRINO=$(CURDIR)/$(NEUTRINO); failed=0; \
	  for scenario in "their-agents ovs" "their-agents linuxbridge" "our-agents 29"; do \
	    tests/reference/$$scenario || failed=1; done; exit $$failed

.PHONY: lint
lint: tools-build ## Formatting, clippy, and which package may know which.
	@tools/lint

.PHONY: bench
bench: root tools-build ## Measure a release build: figures, not thresholds.
	@tools/need dnsmasq ip udhcpc dhclient ping
	@$(CARGO) build --release --package neutrino --package bench
	@exec target/release/bench --program target/release/neutrino $(ARGS)

.PHONY: bench-reference
bench-reference: tools-build ## The same beside the reference, on one MariaDB: a table of both with the ratios.
	@tools/need python3 python3-venv mariadbd rabbitmq-server
	@$(CARGO) build --release --package neutrino --package bench
	@exec target/release/bench --program target/release/neutrino --reference --seconds 10 $(ARGS)

.PHONY: both
both: tools-build ## Ours and the reference on one database: 10,000 random requests to both, then both say the same.
	@tools/need python3 python3-venv mariadbd rabbitmq-server
	@$(CARGO) run --quiet --package shared-database -- $(ARGS)

.PHONY: clean
clean: ## Remove what was built; the state in ./var stays.
	@$(CARGO) clean

.PHONY: tools-build
tools-build:
	@tools/need cc
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing; install Rust's stable toolchain: https://rustup.rs" >&2; exit 1; }

.PHONY: root
root:
	@if [ "$$(id -u)" -ne 0 ]; then \
	  echo "making namespaces needs root; run:  sudo --preserve-env=HOME,PATH make $(MAKECMDGOALS)" >&2; exit 1; fi
