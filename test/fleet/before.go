package fleet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fmqm/internal/skip"
)

// before has the directories with the binaries of other commits, once they are built.
var before struct {
	sync.Mutex
	built map[string]string
}

// Before builds the binaries of another commit of the project's own history, once for all
// tests of a package, and gives the directory that they are in: see [Site.Release]. Tags
// are those of the build. A clone that lacks the commit cannot be tested with it.
func Before(t *testing.T, commit string, tags ...string) (dir string) {
	t.Helper()
	before.Lock()
	defer before.Unlock()
	key := strings.Join(append([]string{commit}, tags...), "-")
	if dir, built := before.built[key]; built {
		return dir
	}
	if err := fetched(commit); err != nil {
		if out, _ := exec.Command("git", "rev-parse", "--is-shallow-repository").Output(); strings.TrimSpace(string(out)) == "true" {
			fmt.Fprintf(os.Stderr, "#### %s NOT TESTED: this clone was made without its history, and cannot fetch it: %v\n", t.Name(), err)
			t.Skip("no history to build the release before from")
		}
		skip.Untested(t, "the release before: this clone has no commit %s (%v): fetch the whole history with git fetch --unshallow", commit, err)
	}
	source, dir := filepath.Join(Bin, "source-of-"+key), filepath.Join(Bin, "built-of-"+key)
	if err := buildOf(commit, source, dir, tags); err != nil {
		t.Fatalf("build %s: %v", commit, err)
	}
	if before.built == nil {
		before.built = map[string]string{}
	}
	before.built[key] = dir
	return dir
}

// fetched sees that the clone has a commit: one without the whole history gets it.
func fetched(commit string) error {
	has := func() error {
		if out, err := exec.Command("git", "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	err := has()
	if err == nil {
		return nil
	}
	if out, fetch := exec.Command("git", "fetch", "--quiet", "--unshallow").CombinedOutput(); fetch != nil {
		return fmt.Errorf("%w; git fetch --unshallow: %w: %s", err, fetch, strings.TrimSpace(string(out)))
	}
	return has()
}

// buildOf writes a commit's files into a new directory, and builds them there. Paths are
// not in the binaries, so that the build cache serves every such directory.
func buildOf(commit, source, dir string, tags []string) error {
	if err := os.Mkdir(source, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(source)
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("find the top of the work tree: %w", err)
	}
	archive := filepath.Join(source, ".tar")
	for _, step := range [][]string{
		{"git", "-C", strings.TrimSpace(string(root)), "archive", "--output", archive, commit},
		{"tar", "-x", "-f", archive, "-C", source},
		{"go", "build", "-C", source, "-trimpath", "-tags", strings.Join(tags, ","), "-o", dir + string(filepath.Separator), "./cmd/fmqmd", "./cmd/fmqm", "./cmd/fmqm-define"},
	} {
		if out, err := exec.Command(step[0], step[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(step, " "), err, out)
		}
	}
	return nil
}
