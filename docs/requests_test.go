package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"fmqm/api"
)

// Every request that a node takes stands on the page, and where the package explains itself.
func TestEveryRequestIsListed(t *testing.T) {
	code := source(t, "../api")
	requests := []string{"GET " + api.BackupPath, "POST " + api.ReloadPath}
	for _, m := range regexp.MustCompile(`"((?:GET|POST) /[^"]+)"`).FindAllStringSubmatch(code, -1) {
		requests = append(requests, m[1])
	}
	if len(requests) < 20 {
		t.Fatalf("found only %q", requests)
	}
	page, err := os.ReadFile("formats.md")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../api/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		if !strings.Contains(string(page), "`"+r+"`") {
			t.Errorf("formats.md does not have %s", r)
		}
		method, path, _ := strings.Cut(r, " ")
		if strings.HasPrefix(path, "/v1/") && !regexp.MustCompile(`(?m)^//\t`+method+` +`+regexp.QuoteMeta(path)+`( |$)`).Match(doc) {
			t.Errorf("api/doc.go does not have %s", r)
		}
	}
}
