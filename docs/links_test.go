package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/node/config"
)

// rows gives the cells of the table rows below a heading of links.md, without the head.
func rows(t *testing.T, heading string) (out [][]string) {
	t.Helper()
	text, err := os.ReadFile("links.md")
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("links.md has no %q", heading)
	}
	below, _, _ = strings.Cut(below, "\n#")
	for line := range strings.Lines(below) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out = append(out, cells)
	}
	if len(out) < 3 {
		t.Fatalf("links.md has no table below %q", heading)
	}
	return out[2:]
}

func column(rows [][]string, i int) (out []string) {
	for _, r := range rows {
		out = append(out, strings.Trim(r[i], "`"))
	}
	return unique(out)
}

// The states that the page explains are those that there are, each with what to do.
func TestStatesOfLinks(t *testing.T) {
	for heading, code := range map[string][]string{
		"### States of a link":     constants(t, "link/types.go", "StateConnected", "StateUnconfigured"),
		"### States of the broker": constants(t, "link/amqp/status.go", "StateConnecting", "StateBlocked"),
	} {
		for i := range code {
			code[i] = strings.Trim(code[i], `"`)
		}
		table := rows(t, heading)
		if diff := cmp.Diff(unique(code), column(table, 0)); diff != "" {
			t.Errorf("%s (-in the code +on the page):\n%s", heading, diff)
		}
		for _, r := range table {
			if len(r) != 3 || r[1] == "" || r[2] == "" {
				t.Errorf("%s, %s: no meaning, or not what to do", heading, r[0])
			}
		}
	}
}

var quoted = regexp.MustCompile("`([^`]+)`")

// The reasons for which a link stops are those of the code, in its words.
func TestWhyLinksStop(t *testing.T) {
	table := rows(t, "### Why a link stops")
	if diff := cmp.Diff(constants(t, "link/frame/frame.go", "StopBelowLowest", "StopByPeer"), column(table, 0)); diff != "" {
		t.Errorf("codes (-in the code +on the page):\n%s", diff)
	}
	code := source(t, "../link") + source(t, "../link/core") + source(t, "../link/frame")
	for _, r := range table {
		for _, q := range quoted.FindAllStringSubmatch(r[1], -1) {
			if !strings.Contains(code, q[1]) {
				t.Errorf("no reason of a link has %q", q[1])
			}
		}
		line := regexp.MustCompile(`(?m)^\tStop\w+ +(?:StopCode )?= ` + r[0] + ` .*$`).FindString(code)
		if final := !strings.Contains(line, "not final"); line == "" || final != (r[2] == "yes") {
			t.Errorf("code %s: the page says final: %s, the code %q", r[0], r[2], line)
		}
	}
}

// source is all the code of a room and of the rooms in it, without their tests.
func source(t *testing.T, dir string) string {
	t.Helper()
	own, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(own) == 0 {
		t.Fatalf("%s: %v, %v", dir, own, err)
	}
	within, err := filepath.Glob(filepath.Join(dir, "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := append(own, within...)
	var b strings.Builder
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

// The reasons for a refusal that the page quotes are those that nodes give.
func TestWhyMessagesAreRefused(t *testing.T) {
	code := source(t, "../node") + source(t, "../navigator")
	for _, r := range rows(t, "## Refused messages") {
		for _, q := range quoted.FindAllStringSubmatch(r[0], -1) {
			if !strings.Contains(code, q[1]) {
				t.Errorf("nothing is refused because %q", q[1])
			}
		}
	}
}

// The example of a configuration is one.
func TestExampleOfLinks(t *testing.T) {
	text, err := os.ReadFile("links.md")
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(text), "\n    links:\n")
	if !found {
		t.Fatal("links.md has no example of links")
	}
	example := "node: A\nidentity: {certificate: a.crt, key: a.key, ca: ca.crt}\nlinks:\n"
	for line := range strings.Lines(below) {
		if !strings.HasPrefix(line, "    ") {
			break
		}
		example += strings.TrimPrefix(line, "    ")
	}
	file := filepath.Join(t.TempDir(), "fmqmd.yaml")
	if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(file, func(string) string { return "" }, config.Overrides{})
	if err != nil || len(c.Peers) != 4 || c.AMQP == nil {
		t.Errorf("%v, %v, from\n%s", c, err, example)
	}
}

var (
	anchored = regexp.MustCompile(`\]\(([a-z-]*\.?[a-z]*)#([a-z0-9-]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// Every place in these pages that a link of the page leads to is there.
func TestPlacesOfLinks(t *testing.T) {
	text, err := os.ReadFile("links.md")
	if err != nil {
		t.Fatal(err)
	}
	found := anchored.FindAllStringSubmatch(string(text), -1)
	if len(found) < 5 {
		t.Fatalf("found %d links", len(found))
	}
	for _, m := range found {
		page := m[1]
		if page == "" {
			page = "links.md"
		}
		other, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
			continue
		}
		var places []string
		for _, h := range heading.FindAllStringSubmatch(string(other), -1) {
			places = append(places, anchor(h[1]))
		}
		if !slices.Contains(places, m[2]) {
			t.Errorf("%s has no heading for #%s", page, m[2])
		}
	}
}
