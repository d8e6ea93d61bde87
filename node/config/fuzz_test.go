package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/node/config"
	"fmqm/program"
)

// Whatever is in the file, it is read whole or every problem says what to do; and what
// is accepted can be registered.
func FuzzLoad(f *testing.F) {
	for _, text := range []string{
		"", "node: A\n", "node: A\nlisten: :0\ninsecure: yes\n", "links: {peers: {B: {}, C: \"http://127.0.0.1:1\"}}\nnode: A",
		"node: A\nprograms: {a: {exec: [x], env: {A: 1}, dir: d, timeout: 1s}, b: {http: \"http://x\"}, c: {builtin: noop, concurrency: 2}}\nlimits: {container: 1KiB, table: 1MiB}",
		"a: &x [*x]\n", "? {a: b}\n: c\n", "<<: {node: A}\n", "node: !!binary QQ==\n", "--- |\n node\n", "node: A\n...\n", "links:\n", "node: A\nprograms:\n- a\n",
	} {
		f.Add(text)
	}
	path := filepath.Join(f.TempDir(), "fmqmd.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(path, func(string) string { return "" }, config.Overrides{})
		if err == nil {
			if _, err := program.NewRegistry(c.Programs, program.Options{}); err != nil {
				t.Errorf("accepted, and cannot be registered: %v", err)
			}
			return
		}
		var problems config.Problems
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("no problems: %v", err)
		}
		for _, p := range problems {
			if p.What == "" || p.Remedy == "" && !strings.Contains(p.What, "write http") || p.Line > 0 && p.Column < 1 {
				t.Errorf("a problem without what, remedy or place: %+v", p)
			}
		}
	})
}
