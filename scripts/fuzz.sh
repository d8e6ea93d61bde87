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
printf '%s\n' "$targets" | while read -r package target; do
	echo "== $package $target, $time"
	"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" || exit 1
done
echo "fuzz: $count targets, nothing found"
