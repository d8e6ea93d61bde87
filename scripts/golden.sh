#!/usr/bin/env bash
# golden.sh COMMIT: makes the golden files of a release, which today's daemons open for ever
# (test/golden). Stores and backups are made by the daemons of COMMIT, and they tell the
# stories of network.txt and backup.txt once; later releases have to tell the same. Commit
# what it makes, and never change it: a release that answers otherwise has to be mended, or
# the change of its answers is meant and written into the story by hand.
set -euo pipefail
cd "$(dirname "$0")/.."
commit=${1:?"usage: scripts/golden.sh COMMIT"}
git cat-file -e "$commit^{commit}"

dir=test/golden/testdata/$commit
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
mkdir "$bin/source"
git archive "$commit" | tar -x -C "$bin/source"
go build -C "$bin/source" -trimpath -tags failpoint -o "$bin/" ./cmd/fmqmd ./cmd/fmqm ./cmd/fmqm-define

export FMQM_GOLDEN=$commit FMQM_GOLDEN_BIN=$bin
go test -count=1 -run '^TestMake$' ./test/golden
go test -count=1 -run "^Test(Networks|Backups)\$/^$commit\$" ./test/golden -rewrite
git add -N "$dir"
du -sh "$dir"
