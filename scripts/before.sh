#!/usr/bin/env bash
# before.sh COMMIT: keeps the source of a release for the tests that run its daemons beside
# today's (test/fleet, Before), so that they need no history: in test/fleet/testdata, of the
# commit's files those that its binaries are built of. Where it is kept already, the script
# says whether it is what the commit has.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse --verify --quiet "${1:?"usage: scripts/before.sh COMMIT"}^{commit}") || {
	echo "before: this clone has no commit $1: get it with git fetch --unshallow" >&2
	exit 1
}
kept=test/fleet/testdata/$commit.tar.gz

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/all" "$dir/kept" "$dir/made"
git archive "$commit" | tar -x -C "$dir/all"
list='{{if not .Standard}}{{if .Module.Main}}{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}'
{
	echo go.mod
	echo go.sum
	for tags in '' failpoint; do
		go list -C "$dir/all" -deps -tags "$tags" -f "$list" ./cmd/fmqmd ./cmd/fmqm ./cmd/fmqm-define
	done | sed -n "s|^$dir/all/||p"
} | sort -u >"$dir/files"
xargs git archive -o "$dir/made.tar" "$commit" -- <"$dir/files"

if [ ! -e "$kept" ]; then
	mkdir -p "${kept%/*}"
	gzip -9 -n <"$dir/made.tar" >"$kept"
	du -h "$kept"
	exit
fi
tar -x -C "$dir/made" -f "$dir/made.tar"
tar -x -z -C "$dir/kept" -f "$kept"
diff -r "$dir/made" "$dir/kept" || {
	echo "before: $kept is not what the commit has (<): remove it and run this once more" >&2
	exit 1
}
echo "before: $kept is what the commit has"
