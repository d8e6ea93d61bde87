package launch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fmqm/internal/launch"
)

// What it costs to start a program through the daemon's own file and through the small stage,
// beside a program that is started without any.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", dir, "fmqm/cmd/fmqmd", "fmqm/cmd/fmqm-launch").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	b.Run("no stage", func(b *testing.B) {
		for b.Loop() {
			if err := exec.CommandContext(b.Context(), "/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, name := range []string{launch.Small, "fmqmd"} {
		b.Run(name, func(b *testing.B) {
			file, err := os.Open(filepath.Join(dir, name))
			if err != nil {
				b.Fatal(err)
			}
			defer file.Close()
			defer launch.Through(file)()
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), "/bin/true")
				if err := launch.Start(cmd, launch.Program{Path: "/bin/true", Argv: []string{"true"}}, nil, 0, nil); err != nil {
					b.Fatal(err)
				}
				if err := cmd.Wait(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
