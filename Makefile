# linerate: `make demo` sets up and runs the main job on this machine, `make test`
# installs what the tests need and runs them. Both want root; without it the demo
# runs what it can.

export CGO_ENABLED = 0
GO      ?= go
BIN     := bin/linerate

.PHONY: all demo test lint bench bench-peers bench-search bench-pace generate clean deps

all: $(BIN)

.PHONY: $(BIN)
$(BIN):
	$(GO) build -trimpath -o $@ ./cmd/linerate

# The main job in a lab of two namespaces: an exact rate first, then each path's
# top speed, at three frame sizes.
demo: $(BIN)
	bench/demo.sh $(BIN)

# What the tests drive: captures, stock peers, a C compiler for the race detector.
deps:
	@.ci/deps gcc:gcc tcpdump:tcpdump tshark:tshark iperf:iperf iperf3:iperf3 ip:iproute2 tc:iproute2 \
		ethtool:ethtool nft:nftables ping:iputils-ping pgrep:procps script:bsdutils \
		qemu-aarch64-static:qemu-user-static qemu-arm-static:qemu-user-static

# Packages that need nothing but a processor, so that another machine's can be
# emulated, and their tests that are too much for that.
PURE  := ./gen/frame ./gen/pace ./internal/cadence ./internal/iperf2 ./internal/probe ./internal/units ./rx/track
HEAVY := Alloc|Bounded|Load|Many|Million|Model|Most|Tshark

# Packages that test whole programs, or whole tests of both ends, without the race
# detector: it holds what these are made of, and of sessions those with the most
# goroutines.
WHOLE := /internal/(cli|conformance|session)$$
RACY  := Threads|Intervals|IPerf2Client

test: deps $(BIN)
	@{ CGO_ENABLED=1 $(GO) test -race -json -p 1 -parallel 8 -timeout 10m $$($(GO) list ./... | grep -vE '$(WHOLE)') ; \
	   CGO_ENABLED=1 $(GO) test -race -json -parallel 8 -run '$(RACY)' ./internal/session ; \
	   $(GO) test -json -p 1 -parallel 8 -timeout 10m $$($(GO) list ./... | grep -E '$(WHOLE)') ; \
	   $(GO) test -json -p 1 -timeout 10m -run 'Alloc' ./... ; \
	   echo '{"Action":"once"}' ; \
	   GOARCH=arm64 $(GO) test -json -exec qemu-aarch64-static -skip '$(HEAVY)' $(PURE) ; \
	   GOARCH=arm $(GO) test -json -exec qemu-arm-static -skip '$(HEAVY)' $(PURE) ; \
	   GOARCH=386 $(GO) test -json -p 1 $(PURE) ./internal/linux ./internal/tcp ; \
	   GOARCH=386 $(GO) test -json -p 1 -run 'TestVLAN|TestSizeMix|TestTaken|TestFilter|TestIntervalsAddUp' ./gen ./rx ./internal/session ; \
	   $(GO) test -json -tags foreign -run 'Foreign' ./cmd/linerate ; } 2>&1 | $(GO) run ./internal/tally

lint:
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }

# Nanoseconds and allocations per packet of each part, then the table of compare.
bench: $(BIN)
	$(GO) test -run '^$$' -bench . -benchmem -p 1 ./gen/... ./rx/... ./internal/probe
	$(BIN) compare

# Our transmit paths beside other programs, and our TCP streams beside iperf3's,
# into a record.
bench-peers: $(BIN)
	@.ci/deps iperf3:iperf3 iperf:iperf nuttcp:nuttcp trafgen:netsniff-ng tcpreplay:tcpreplay xdp-trafficgen:xdp-tools \
		dpdk-testpmd:dpdk-dev dpdk-testpmd:librte-net-af-packet23 dpdk-testpmd:librte-net-af-xdp23
	$(GO) run ./bench/peers -linerate $(BIN) > bench/RESULTS.tmp
	{ echo; $(GO) run ./bench/streams; } >> bench/RESULTS.tmp
	{ echo; sed -n '/^## \(Search\|Pacing\)/,$$p' bench/RESULTS.md; } >> bench/RESULTS.tmp
	mv bench/RESULTS.tmp bench/RESULTS.md

# The rate that search finds on links of a known one: a section of the record.
bench-search:
	$(GO) run ./bench/shaped > bench/shaped.tmp
	{ sed '/^## \(Search\|Pacing\)/,$$d' bench/RESULTS.md; cat bench/shaped.tmp; \
	  echo; sed -n '/^## Pacing/,$$p' bench/RESULTS.md; } > bench/RESULTS.tmp
	mv bench/RESULTS.tmp bench/RESULTS.md
	rm bench/shaped.tmp

# How exactly a rate is held, beside the same programs: the record's last section.
bench-pace: $(BIN)
	@.ci/deps iperf3:iperf3 iperf:iperf trafgen:netsniff-ng tcpreplay:tcpreplay
	$(GO) run ./bench/pacing -linerate $(BIN) > bench/pacing.tmp
	sed -i '/^## Pacing/,$$d' bench/RESULTS.md
	cat bench/pacing.tmp >> bench/RESULTS.md
	rm bench/pacing.tmp

# The eBPF objects are committed; this makes them anew (clang, libbpf-dev).
generate:
	$(GO) generate ./bpf

clean:
	rm -rf bin
