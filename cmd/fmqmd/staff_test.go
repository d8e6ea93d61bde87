package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// people writes a staff file beside a configuration.
func people(t *testing.T, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, "staff.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const twoPeople = `roles: [nurse]
organisations: {ward-3: {manager: berta}}
people:
  ann:   {name: Ann Ames, roles: [nurse], organisation: ward-3, same: [aames@lab]}
  berta: {organisation: ward-3, absent: true, substitute: ann}
`

// A daemon takes up its staff at the start and with SIGHUP. A file that is wrong, or not there,
// changes nothing, and `fmqmd reload` says what is wrong with it, and where.
func TestTheStaffIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	path := people(t, dir, twoPeople)
	s := startService(t, plain+"staff: {file: "+path+"}\n")
	if line := s.said("staff taken up"); !strings.Contains(line, `"people":2`) {
		t.Error(line)
	}
	s.said(`"message":"ready"`)
	people(t, dir, twoPeople+"  carl: {}\n")
	s.signal(syscall.SIGHUP)
	if line := s.said("staff taken up"); !strings.Contains(line, `"people":3`) {
		t.Error(line)
	}
	socket := "unix:" + filepath.Join(s.dir, "s")
	refused := func(want string) {
		t.Helper()
		if exit, _, talk := fmqmd("reload", "--to", socket); exit != 1 || !strings.Contains(talk, want) ||
			!strings.Contains(talk, "the configuration is not taken up, and what was configured before goes on") {
			t.Errorf("%d: %s", exit, talk)
		}
		if line := s.said("configuration not taken up"); !strings.Contains(line, "staff.yaml") {
			t.Error(line)
		}
	}
	people(t, dir, strings.Replace(twoPeople, "roles: [nurse], o", "roles: [nurce], o", 1))
	refused(path + ":4:35: nurce of ann is not among roles: nurse?")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	refused(path + ": cannot read the staff file: no such file or directory")
	people(t, dir, twoPeople)
	if exit, _, talk := fmqmd("reload", "--to", socket); exit != 0 {
		t.Errorf("a good file again: %d: %s", exit, talk)
	}
	if line := s.said("staff taken up"); !strings.Contains(line, `"people":2`) {
		t.Error(line)
	}
}

// A daemon does not start with a staff file that is wrong, and check-config says so before.
func TestAWrongStaffFileRefusesTheStart(t *testing.T) {
	dir := t.TempDir()
	people(t, dir, "people: {ann: {substitute: bob}}\n")
	conf := filepath.Join(dir, "fmqmd.yaml")
	if err := os.WriteFile(conf, []byte("node: ward\ndata: data\nsocket: s\nstaff: {file: staff.yaml}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "staff.yaml:1:28: bob, substitute of ann, is not among people: add this person, or name somebody else"
	for _, args := range [][]string{{"check-config", conf}, {"run", "--config", conf}, {"staff", "list", "--config", conf}} {
		if exit, _, talk := fmqmd(args...); exit != 1 || !strings.Contains(talk, want) {
			t.Errorf("%s: %d: %s", args[0], exit, talk)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the store was made: %v", err)
	}
	exit, out, _ := fmqmd("check-config", conf, "-o", "json")
	var found []finding
	if err := json.Unmarshal([]byte(out), &found); err != nil || exit != 1 || len(found) != 1 || found[0].Line != 1 || found[0].Column != 28 || filepath.Base(found[0].File) != "staff.yaml" {
		t.Errorf("%d: %s", exit, out)
	}
	people(t, dir, twoPeople)
	if exit, out, talk := fmqmd("check-config", conf); exit != 0 || !strings.Contains(out, ", 2 people") {
		t.Errorf("a good file: %d: %s%s", exit, out, talk)
	}
}

func TestStaffCommands(t *testing.T) {
	dir := t.TempDir()
	path := people(t, dir, twoPeople)
	wrong := filepath.Join(dir, "wrong.yaml")
	if err := os.WriteFile(wrong, []byte("people: {ann: {same: [aames@ward]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		exit int
		want string
	}{
		{"check " + path, 0, path + ": 2 people, 1 role, 1 organisation\n"},
		{"check " + wrong, 0, wrong + ": 1 person, 0 roles, 0 organisations\n"},
		{"check --node ward " + wrong, 1, "aames@ward, in same of ann, is of this node: same is about other sites: remove it"},
		{"check --node ward -o json " + wrong, 1, `"remedy": "same is about other sites: remove it"`},
		{"check --node 9 " + path, 2, "--node 9: that cannot name a node"},
		{"list --file " + path, 0, "berta                    ward-3                 ann stands in"},
		{"list --file " + path + " --config x", 2, "--file and --config both say where the staff is"},
		{"list -o jsonl --file " + path, 0, `{"person":"ann","name":"Ann Ames","roles":["nurse"],"organisation":"ward-3","manager":"berta","absent":false,"stands_in_for":["berta"],"logins":["ann"],"same":["aames@lab"]}` + "\n"},
		{"show berta --file " + path, 0, "substitute     ann\nabsent now     ann stands in\n"},
		{"show aames@lab --file " + path, 0, "person         ann\n"},
		{"show ann@ward --node ward --file " + path, 0, "person         ann\n"},
		{"show ann@ward --file " + path, 3, "ann@ward does not work here"},
		{"show bert --file " + path, 3, "bert does not work here: berta?"},
		{"list --file " + filepath.Join(dir, "none"), 1, "cannot read the staff file: no such file or directory"},
	} {
		exit, out, talk := fmqmd(append([]string{"staff"}, strings.Fields(c.args)...)...)
		if exit != c.exit || !strings.Contains(out+talk, c.want) {
			t.Errorf("staff %s: %d\n%s%s\nwant %d, %s", c.args, exit, out, talk, c.exit, c.want)
		}
	}
	conf := filepath.Join(dir, "fmqmd.yaml")
	if err := os.WriteFile(conf, []byte("node: ward\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, _, talk := fmqmd("staff", "list", "--config", conf); exit != 1 || !strings.Contains(talk, "names no staff: write staff: {file: FILE} there, or use --file FILE") {
		t.Errorf("a configuration without staff: %d: %s", exit, talk)
	}
}

// Who would be eligible now is what the site would say.
func TestStaffWho(t *testing.T) {
	path := people(t, t.TempDir(), `roles: [nurse]
organisations: {ward-3: {manager: berta}}
people:
  ann:   {name: Ann Ames, roles: [nurse], organisation: ward-3, same: [aames@lab]}
  bob:   {roles: [nurse], absent: true, substitute: carl}
  berta: {roles: [nurse], organisation: ward-3}
  carl:
`)
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{`role("nurse")`}, 0, "PERSON  FOR  NAME\nann          Ann Ames\nberta\ncarl    bob\n"},
		{[]string{`role("nurse")`, "-o", "jsonl"}, 0, `{"person":"ann","name":"Ann Ames"}` + "\n" + `{"person":"berta"}` + "\n" + `{"person":"carl","for":"bob"}` + "\n"},
		{[]string{`role("nurse") && !did(take)`, "--did", "take=aames@lab"}, 0, "PERSON  FOR  NAME\nberta\ncarl    bob\n"},
		{[]string{`role("nurse") && !did(take)`, "--did", "take=ann carl"}, 0, "PERSON  FOR  NAME\nberta\n"},
		{[]string{`role("nurse") && !did(take) && !did(look)`, "--did", "take=ann", "--did", "look=berta@office"}, 0, "PERSON  FOR  NAME\ncarl    bob\n"},
		{[]string{"manages(source)", "--did", "source=ann"}, 0, "PERSON  FOR  NAME\nberta\n"},
		{[]string{"org(station) && amount > 100", "--input", `{"station": "ward-3", "amount": 200}`}, 0, "PERSON  FOR  NAME\nann          Ann Ames\nberta\n"},
		{[]string{"watchers.exists(w, person(w)) && at.floor > 1.5", "--input", `{"watchers": ["carl", "zoe"], "at": {"floor": 2.5}}`}, 0, "carl\n"},
		{[]string{`role("pilot")`}, 0, "nobody has the role pilot: it is not among the roles of this staff\nnobody is eligible now"},
		{[]string{`rol("nurse")`}, 2, `column 1: there is no rol(…) in a staff expression: write role(…)`},
		{[]string{`role("nurse`}, 2, `role("nurse: column 6: a string does not end`},
		{[]string{"role(x)", "--input", `{"x": null}`}, 2, "--input: Input_x is null, so its type is not known: write a value, or leave it out"},
		{[]string{"role(x)", "--input", `{"x": ["a", 1]}`}, 2, "--input: the elements of Input_x are of different types, string and int: make them alike"},
		{[]string{"role(x)", "--input", `{"x-y": "a"}`}, 2, `"x-y" in Input cannot name a member`},
		{[]string{"role(xs[0])", "--input", `{"xs": []}`}, 1, "who may do it: "},
		{[]string{"did(take)", "--did", "take"}, 2, "--did take: write ACTIVITY=PERSON, such as assess=ann or source=ann@ward"},
		{[]string{"did(take)", "--did", "take=an"}, 3, "an does not work here: ann?"},
	} {
		exit, out, talk := fmqmd(append([]string{"staff", "who", "--file", path, "--node", "ward"}, c.args...)...)
		if exit != c.exit || !strings.Contains(out+talk, c.want) {
			t.Errorf("staff who %q: %d\n%s%s\nwant %d, %s", c.args, exit, out, talk, c.exit, c.want)
		}
	}
	if exit, _, talk := fmqmd("staff", "who", "did(take)", "--did", "take=ann", "--file", path); exit != 2 || !strings.Contains(talk, "--did take=ann: of which node? Write ann@NODE, or say with --node where the staff of --file works") {
		t.Errorf("without a node: %d: %s", exit, talk)
	}
}

// A time of absence is shown in the machine's time zone.
func TestAbsencesAreShown(t *testing.T) {
	from, until := time.Date(2026, 7, 1, 0, 0, 0, 0, time.Local), time.Date(2026, 7, 15, 0, 0, 0, 0, time.Local)
	for _, c := range []struct {
		absence shownAbsence
		want    string
	}{
		{shownAbsence{&from, &until}, "from 2026-07-01 00:00 until 2026-07-15 00:00"},
		{shownAbsence{&from, nil}, "from 2026-07-01 00:00"},
		{shownAbsence{nil, &until}, "until 2026-07-15 00:00"},
	} {
		if got := c.absence.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
