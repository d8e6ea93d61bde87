package program_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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

// A value that the configuration says is to be redacted is in no reason and in no line of the log, as a
// secret; another one of the environment is.
func TestWhatIsToBeRedacted(t *testing.T) {
	spec := shell(`echo "user=$USER_NAME pin=$PIN" >&2; echo "$KEY" >&2; printf '{"quantity": "%s"}' "$PIN"`)
	spec.Env = map[string]string{"USER_NAME": "clerk-7", "PIN": "pin 4711/x", "KEY": "BEGIN\nline of the key\r\nEND"}
	spec.Redact = []string{"PIN", "KEY"}
	var lines []string
	c := call(t)
	c.Log = func(l string) { lines = append(lines, l) }
	r := register(t, spec, program.Options{}).Run(context.Background(), c)
	if want := []string{"user=clerk-7 pin=[redacted PIN]", "[redacted KEY]", "[redacted KEY]", "END"}; !slices.Equal(lines, want) {
		t.Errorf("log %q, want %q", lines, want)
	}
	if r.Err == nil || strings.Contains(r.Err.Error(), "4711") || !strings.Contains(r.Err.Error(), "[redacted PIN]") {
		t.Errorf("reason %v", r.Err)
	}
	for value, ok := range map[string]bool{"": false, "abc": false, "a\nb\nc": false, "abcd": true, "a\nlong": true} {
		if err := program.CheckRedact("PIN", value); (err == nil) != ok {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// What a web service says of a failed attempt is logged, from the beginning on, without what is secret. Of
// an answer that is taken nothing is.
func TestWhatAServiceSaysOfAFailure(t *testing.T) {
	const token = "hunter2/hunter2"
	long := strings.Repeat("x", 1020)
	for _, tc := range []struct {
		name     string
		status   int
		body     string
		rcIsData bool
		noOutput bool
		want     []string
	}{
		{name: "a failed attempt", status: 503, body: "no van\nfor " + token + "\n", want: []string{"no van", "for [secret X-Token]"}},
		{name: "a return code that nothing reads", status: 422, body: `{"error": "no such customer"}`, want: []string{`{"error": "no such customer"}`}},
		{name: "one that is data", status: 422, rcIsData: true, body: `{"customer": "bob"}`},
		{name: "no container", status: 200, body: "<html>site-7</html>", want: []string{"<html>[redacted X-Site]</html>"}},
		{name: "an output", status: 200, body: `{"customer": "bob"}`},
		{name: "where no output is named, all of it, once", status: 500, noOutput: true, body: "why", want: []string{"why"}},
		{name: "a return code where none is named", status: 404, noOutput: true, body: "why", want: []string{"why"}},
		{name: "a secret where it is cut", status: 500, body: long + token + long, want: []string{long + "[secret X-Token]", "fmqm: the answer has 2055 bytes: the rest of it is dropped"}},
		{name: "nothing", status: 500},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spec := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			})
			spec.Secrets = map[string]string{"X-Token": secretFile(t, token)}
			spec.Headers, spec.Redact = map[string]string{"X-Site": "site-7"}, []string{"X-Site"}
			var lines []string
			c := call(t)
			c.RCIsData, c.NoOutput = tc.rcIsData, tc.noOutput
			if c.NoOutput {
				c.OutputType = container.Empty
			}
			c.Log = func(l string) { lines = append(lines, l) }
			register(t, spec, program.Options{}).Run(context.Background(), c)
			if !slices.Equal(lines, tc.want) {
				t.Errorf("log %q, want %q", lines, tc.want)
			}
		})
	}
}
