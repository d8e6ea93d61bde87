package main

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/api/apitest"
	shared "fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/cli/clitest"
)

// A format that is none is said before anything is asked of a node, or made.
func TestAWrongFormatDoesNothing(t *testing.T) {
	asked := ""
	to := apitest.ServeHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked += r.Method + " " + r.URL.Path + "\n" }))
	home := t.TempDir()
	clitest.Formats(t, newApp(), map[string]string{"FILE": filepath.Join("testdata", "order.yaml"), "NAME[@VERSION": "order@1", "@VERSION": "@1", "NAME@VERSION": "order@1"}, func(args []string) (int, string, string) {
		asked = ""
		var out, talk bytes.Buffer
		env := func(name string) string { return map[string]string{"FMQM_TO": to, "HOME": home}[name] }
		exit := shared.Main(newApp(), append([]string{"fmqm-define"}, args...), shared.Streams{In: strings.NewReader(""), Out: &out, Err: &talk, Env: env})
		made, err := filepath.Glob(filepath.Join(home, ".*"))
		if err != nil {
			t.Fatal(err)
		}
		return exit, talk.String(), asked + out.String() + strings.Join(made, "\n")
	})
}
