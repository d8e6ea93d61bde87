package fleet

import (
	"bytes"
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// sources are those of releases before today's, COMMIT.tar.gz each: what their binaries are
// built of. scripts/before.sh keeps them.
//
//go:embed testdata/*.tar.gz
var sources embed.FS

// before has the directories with the binaries of releases, once they are built.
var before struct {
	sync.Mutex
	built map[string]string
}

// Before builds the binaries of a release before today's, once for all tests of a package,
// and gives the directory that they are in: see [Site.Release]. Tags are those of the build.
func Before(t *testing.T, commit string, tags ...string) (dir string) {
	t.Helper()
	before.Lock()
	defer before.Unlock()
	key := strings.Join(append([]string{commit}, tags...), "-")
	if dir, built := before.built[key]; built {
		return dir
	}
	archive, err := sources.ReadFile("testdata/" + commit + ".tar.gz")
	if err != nil {
		t.Fatalf("the source of a release before: %v: keep it with scripts/before.sh %s", err, commit)
	}
	dir = filepath.Join(Bin, "built-of-"+key)
	build(t, archive, dir, tags)
	if before.built == nil {
		before.built = map[string]string{}
	}
	before.built[key] = dir
	return dir
}

// build builds the binaries of a source into a directory. Paths are not in them, so that
// the build cache serves every such directory.
func build(t *testing.T, archive []byte, dir string, tags []string) {
	t.Helper()
	source, err := os.MkdirTemp(Bin, "source-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(source)
	for _, step := range [][]string{
		{"tar", "-x", "-z", "-C", source},
		{"go", "build", "-C", source, "-trimpath", "-tags", strings.Join(tags, ","), "-o", dir + string(filepath.Separator), "./cmd/fmqmd", "./cmd/fmqm", "./cmd/fmqm-define"},
	} {
		c := exec.Command(step[0], step[1:]...)
		c.Stdin = bytes.NewReader(archive) // tar reads it
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("build the release before: %s: %v: %s", strings.Join(step, " "), err, out)
		}
	}
}
