#!/bin/sh
# Starts the four daemons, uploads the process, sends an order through it, and stops
# the daemons. What they store and log is then in ./data.
#
#   ./run.sh [ORDER]     an order as JSON (default: one of carol's, for 3 anchors)
set -eu
cd "$(dirname "$0")"
order=${1:-'{"customer": "carol", "item": "anchor", "quantity": 3, "amount": 4800}'}

bin=${FMQM_BIN:-../../bin}
if ! [ -x "$bin/fmqmd" ]; then
	echo "there is no $bin/fmqmd: run make in the top directory first, or name its directory in FMQM_BIN" >&2
	exit 1
fi
PATH=$bin:$PATH
export FMQM_TO=unix:a.sock # the node that fmqm and fmqm-define ask: A

mkdir -p data
daemons=
stop() {
	trap - EXIT
	# shellcheck disable=SC2086 # one word for each daemon
	[ -z "$daemons" ] || { kill $daemons 2>/dev/null && wait $daemons; } || true
}
trap stop EXIT
trap 'exit 1' INT TERM

for site in a b c d; do
	fmqmd run --config $site.yaml 2>data/$site.log &
	daemons="$daemons $!"
done

# Wait until A is linked with the other three.
tries=0
until [ "$(fmqm nodes -o jsonl 2>/dev/null | grep -c '"state":"connected"')" = 3 ]; do
	tries=$((tries + 1))
	if [ $tries -gt 100 ]; then
		echo "the daemons do not find one another; what they say of it:" >&2
		tail -n 3 data/?.log >&2
		exit 1
	fi
	sleep 0.1
done
fmqm nodes

echo && fmqm-define upload purchase-order.yaml
echo && fmqm start purchase-order --input "$order" --wait
