#!/bin/sh
# Runs every fuzz target of the project, one after the other, for the same time each:
# fuzz.sh [TIME-FOR-EACH], or MINUTES=N fuzz.sh for N minutes in all.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}

targets=$(grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do
	sed -n "s|^func \(Fuzz[A-Za-z0-9]*\)(.*|$(dirname "$file") \1|p" "$file"
done | sort)
count=$(printf '%s\n' "$targets" | grep -c . || true)
if [ "$count" -eq 0 ]; then
	echo 'fuzz: there is no fuzz target' >&2
	exit 1
fi
time=${1:-10s}
if [ -n "${MINUTES:-}" ]; then
	time=$((MINUTES * 60 / count + 1))s
fi
# Go before 1.27 now and then calls the end of the time itself a failure: "context deadline exceeded", with no input
# found (go.dev/issue/75804). Only that, to the line, is tried once more; whatever else fails is a finding.
said=$(mktemp)
trap 'rm -f "$said"' EXIT
only_the_time() {
	grep -A1 -- '--- FAIL' "$said" | grep -qx '    context deadline exceeded' && ! grep -q 'Failing input' "$said"
}

# Making an interesting input smaller is cut short: of a few seconds at a slow target it would take all.
fuzz() { # PACKAGE TARGET
	if "$go" test -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 100x "$1" >"$said" 2>&1; then
		cat "$said"
		return 0
	fi
	cat "$said"
	return 1
}

printf '%s\n' "$targets" | while read -r package target; do
	echo "== $package $target, $time"
	fuzz "$package" "$target" || { only_the_time && fuzz "$package" "$target"; } || exit 1
done
echo "fuzz: $count targets, nothing found"
