package program_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/container"
	"fmqm/program"
)

// secretFile writes a secret to a file of its own.
func secretFile(t *testing.T, value string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A secret reaches the program, by its name, as it is when the attempt begins.
func TestASecretIsReadForEachAttempt(t *testing.T) {
	file := secretFile(t, "first of all")
	spec := shell(`printf '{"customer": "%s"}' "$TOKEN"`)
	spec.Secrets = map[string]string{"TOKEN": file}
	p := register(t, spec, program.Options{})
	for _, want := range []string{"first of all", "second"} {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		r := p.Run(context.Background(), call(t))
		if r.Err != nil || !strings.Contains(json(t, r.Output), `"customer":"`+want+`"`) {
			t.Errorf("%s: %s, %v", want, json(t, r.Output), r.Err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	r := p.Run(context.Background(), call(t))
	wantError(t, r.Err, "cannot be started: the secret TOKEN: cannot read "+file+": no such file or directory")
}

// Whatever a program does with its secret, it is in no reason and in no line of its
// log: plainly, between quotes, in a URL, at the end of a line that is cut.
func TestASecretIsNeitherInReasonsNorInLogs(t *testing.T) {
	const value = `s3cr&t "of" the/site`
	for name, script := range map[string]string{
		"in the log":                     `echo "curl: bad token $TOKEN given" >&2`,
		"in the log, without a line end": `printf '%s' "$TOKEN" >&2`,
		"where a line is cut":            `printf '%4090s%s and more\n' x "$TOKEN" >&2`,
		"where an endless line is cut":   `printf '%4086s%s%9999s\n' x "$TOKEN" x >&2`,
		"in what is no container":        `printf '{"%s": 1}' 's3cr&t \"of\" the/site'`,
		"in a value":                     `printf '{"quantity": "%s"}' 's3cr&t \"of\" the/site'`,
	} {
		t.Run(name, func(t *testing.T) {
			spec := shell(script)
			spec.Secrets = map[string]string{"TOKEN": secretFile(t, value), "SHORT": secretFile(t, "s3cr")}
			var lines []string
			c := call(t)
			c.Log = func(l string) { lines = append(lines, l) }
			r := register(t, spec, program.Options{}).Run(context.Background(), c)
			said := strings.Join(lines, "\n")
			if r.Err != nil {
				said += r.Err.Error()
			}
			if !strings.Contains(said, "[secre") || strings.Contains(said, "s3cr") || strings.Contains(said, "the/site") || strings.Contains(said, "of\\\"") {
				t.Errorf("%q", said)
			}
			for _, l := range lines {
				if len(l) > program.MaxLogLine {
					t.Errorf("a line of %d bytes", len(l))
				}
			}
		})
	}
}

// What an address has beside scheme, host and path is nobody's business at other sites.
func TestReasonsHaveAddressesWithoutCredentials(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	host := strings.TrimPrefix(gone.URL, "http://")
	spec := program.Spec{Kind: program.KindHTTP, URL: "http://ann:hunter2@" + host + "/notify?key=hunter3#hunter4"}
	gone.Close()
	r := register(t, spec, program.Options{}).Run(context.Background(), call(t))
	wantError(t, r.Err, "no answer from http://xxxxx@"+host+"/notify?xxxxx: ", "connection refused")
	if strings.Contains(r.Err.Error(), "hunter") {
		t.Error(r.Err)
	}

	busy := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	busy.URL += "?key=hunter3"
	r = register(t, busy, program.Options{}).Run(context.Background(), call(t))
	wantError(t, r.Err, "/notify?xxxxx answered 503 Service Unavailable: ")

	if err := program.CheckURL("ftp://ann:hunter2@host/?hunter3"); err == nil || strings.Contains(err.Error(), "hunter") {
		t.Errorf("%v", err)
	}

	var lines []string
	c := call(t)
	c.NoOutput, c.OutputType, c.Log = true, container.Empty, func(l string) { lines = append(lines, l) }
	register(t, shell(`echo "get ftp://ann:hunter2@host/x?page=2 (or amqp://b:hunter2@h)"`), program.Options{}).Run(context.Background(), c)
	if want := "get ftp://xxxxx@host/x?page=2 (or amqp://xxxxx@h)"; len(lines) != 1 || lines[0] != want {
		t.Errorf("log %q, want %q", lines, want)
	}
}
