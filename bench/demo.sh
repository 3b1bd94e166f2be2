#!/bin/sh
# The main job on this machine: kernel path against raw path in a lab of its own.
set -eu
linerate=$1

if [ "$(id -u)" != 0 ]; then
	cat <<-EOF
	The lab (two network namespaces joined by a veth pair) and the raw paths need root:

	    sudo make demo

	Without it, this is what runs: UDP over loopback by the kernel path.

	EOF
	"$linerate" recv 127.0.0.1 &
	counter=$!
	trap 'kill $counter 2>/dev/null || :' EXIT
	sleep 0.5
	"$linerate" send 127.0.0.1 --rate 200M --payload 1472 -t 3
	wait $counter
	trap - EXIT
	exit 0
fi

echo "An exact rate: 20,000 packets a second, each path in turn"
echo
"$linerate" compare --rate 20kpps --sizes 64,1518,9018 --trials 3
echo
echo "As fast as each path goes"
echo
"$linerate" compare --sizes 64,1518,9018
