package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/api/apitest"
	"fmqm/cmd/internal/cli/clitest"
)

// A format that is none is said before anything is asked of a daemon, or made.
func TestAWrongFormatDoesNothing(t *testing.T) {
	asked := ""
	to := apitest.ServeHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked += r.Method + " " + r.URL.Path + "\n" }))
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	here := " --dir " + in("pki")
	clitest.Formats(t, app(), map[string]string{
		"FILE": in("file"), "DIR": in("backups"), "NODE": "A", "REQUEST": in("a.csr"), "NAME": "ann", "EXPR": "did(a)",
		"backup": "--to " + to, "dump": "--data " + in("data"),
		"pki init": here, "pki request": "--name A" + here, "pki sign": "--name A" + here, "pki issue": here, "pki renew": here,
	}, func(args []string) (int, string, string) {
		asked = ""
		exit, out, talk := fmqmd(args...)
		made, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range made {
			out += e.Name() + "\n"
		}
		return exit, talk, asked + strings.TrimSpace(out)
	})
}
