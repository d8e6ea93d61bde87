package main

import (
	"slices"
	"testing"

	"fmqm/api"
)

// N19: an upload says once of each version that it is not current, and for which sites it waits; of one that is,
// nothing.
func TestWhatIsNotCurrentAfterAnUpload(t *testing.T) {
	line := func(process, node string, result api.Result, state api.VersionState) api.UploadNode {
		return api.UploadNode{Process: process, Node: node, Result: result, State: state}
	}
	got := notCurrent([]api.UploadNode{
		line("one@1", "A", api.ResultStored, api.VersionCurrent), line("one@1", "B", api.ResultQueued, ""),
		line("two@2", "A", api.ResultStored, api.VersionStored), line("two@2", "B", api.ResultUnchanged, api.VersionStored), line("two@2", "C", api.ResultQueued, ""),
		line("three@2", "A", api.ResultStored, api.VersionStored),
	})
	const rest = ": until then the name alone is the version before it (--now: at once)"
	want := []string{
		"two@2 is stored, and not current yet: C has not said that it has it" + rest,
		"three@2 is stored, and not current yet: the sites have not told each other yet that all of them have it" + rest,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
