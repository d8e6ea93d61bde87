package golden

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"fmqm/test/fleet"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("TZ", "UTC") // of the commands, which print local times
	os.Exit(fleet.Main(m, "failpoint"))
}

// network is the four sites of the golden stores.
type network struct {
	*testing.T
	*fleet.Fleet
	ctx      context.Context
	dir      string      // with what the release left
	gate     *fleet.Gate // programs wait at it
	later    *fleet.Gate // so do others, which are let go while a set is made
	opened   string      // this file says that it was opened
	linked   bool
	unlinked map[string]string // sites of a network that is linked that do not call each other
	audit    string            // of D's configuration
	staff    string            // of B's configuration
	began    time.Time
	remade   bool // see options
}

// options make a network.
type options struct {
	sites   []string
	release string // the directory of other binaries than today's
	dir     string
	linked  bool                // from the beginning
	remade  bool                // the story tells of another making of the same: at other times
	prepare func(s *fleet.Site) // puts a store where the site looks for it
}

func newNetwork(t *testing.T, o options) *network {
	t.Helper()
	n := &network{T: t, dir: o.dir, unlinked: map[string]string{}, opened: filepath.Join(t.TempDir(), "opened"), linked: o.linked, remade: o.remade, began: time.Now().UTC().Truncate(time.Second)}
	ctx, cancel := context.WithTimeout(context.Background(), 2*fleet.Patience)
	t.Cleanup(cancel)
	n.ctx = ctx
	n.gate, n.later = fleet.NewGate(t, n.opened+".gate"), fleet.NewGate(t, n.opened+".later")
	n.Fleet = fleet.New(t, fleet.Options{
		Sites: o.sites, Links: n.configuration, Programs: n.programs,
		Prepare: func(s *fleet.Site) {
			s.Release = o.release
			if err := os.MkdirAll(s.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if o.prepare != nil {
				o.prepare(s)
			}
		},
	})
	for _, s := range n.Sites {
		s.Answers()
	}
	return n
}

// configuration names the peers of a site; they are called only in a network that is
// linked.
func (n *network) configuration(f *fleet.Fleet, site string) string {
	text := "remote_operators: [{site: \"*\"}]\n"
	if site == "D" {
		text += n.audit
	}
	if site == "B" {
		text += n.staff
	}
	text += "links:\n  peers:\n"
	for _, peer := range fleet.Names {
		switch s := f.Sites[peer]; {
		case peer == site:
		case n.linked && s != nil && n.unlinked[site] != peer && n.unlinked[peer] != site:
			text += fmt.Sprintf("    %s: http://%s\n", peer, s.Listen)
		default:
			text += fmt.Sprintf("    %s: {}\n", peer)
		}
	}
	return text
}

// programs are those of every site. What has "hold" in its input waits at the gate, or
// fails as long as that is shut.
func (n *network) programs(string) []string {
	shell := func(name, text string) string {
		return fmt.Sprintf("%s: {exec: [/bin/sh, -c, %q], concurrency: 20}", name, text)
	}
	return []string{
		shell("pass", `exec cat`),
		shell("count", `cat >/dev/null; printf '{"n": %s}' "$FMQM_ITERATION"`),
		shell("flaky", `[ "$FMQM_ATTEMPT" -gt 1 ] || exit 3; exec cat`),
		shell("broken", `echo "no such account" >&2; exit 4`),
		shell("slow", fmt.Sprintf(`in=$(cat); case $in in *hold*) [ -e %s ] || exit 5;; esac; printf %%s "$in"`, n.opened)),
		shell("later", fmt.Sprintf(`in=$(cat); : <%s.later; printf %%s "$in"`, n.opened)),
		shell("gate", fmt.Sprintf(`in=$(cat); case $in in *hold*) : <%s.gate;; esac; printf %%s "$in"`, n.opened)),
	}
}

// link lets all sites call each other.
func (n *network) link() {
	n.Helper()
	n.linked = true
	for _, name := range fleet.Names {
		n.Sites[name].Configure()
		n.Sites[name].Reload(n.ctx)
	}
}

// open opens the gate.
func (n *network) open() {
	n.Helper()
	if err := os.WriteFile(n.opened, nil, 0o600); err != nil {
		n.Fatal(err)
	}
	n.gate.Open()
	n.later.Open()
}

// do has a command done. Of a link that two sites have cause to stop, one may have seen the
// cause before the other: so what is refused is tried again.
func (n *network) do(at *fleet.Site, fields []string) {
	n.Helper()
	n.Until(n.ctx, strings.Join(fields, " "), func() bool {
		_, _, code := fleet.Run(n.T, at.Binary(fields[0]), n.arguments(at, fields[1:])...)
		return code == 0
	})
}

// tell tells a story. Its lines are
//
//	say SITE    commands, asked again until they answer as it is written
//	do SITE     commands, each until it is done; what they print is not looked at
//	link        the sites call each other from now on
//	open        the gate opens
//	empty       nothing is left at any site, and every record can be read
func (n *network) tell(story string) {
	n.Helper()
	datadriven.RunTest(n.T, filepath.Join(n.dir, story), func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "say":
			said := n.say(n.Sites[d.CmdArgs[0].Key], d)
			if d.Rewrite {
				t.Logf("%s:\n%s", d.Input, said)
			}
			return said
		case "do":
			for line := range strings.Lines(d.Input) {
				at, fields := n.Sites[d.CmdArgs[0].Key], strings.Fields(line)
				n.do(at, fields)
			}
		case "link":
			n.link()
		case "open":
			n.open()
		case "empty":
			ctx, cancel := context.WithTimeout(n.ctx, fleet.Patience/4)
			defer cancel()
			n.Empty(ctx)
			n.Whole()
		default:
			d.Fatalf(t, "the story knows no %q", d.Cmd)
		}
		return ""
	})
}

// arguments are those of a command that asks a site. The name of a file of the release is
// written with an @.
func (n *network) arguments(at *fleet.Site, fields []string) []string {
	args := make([]string, 0, len(fields)+2)
	for _, f := range fields {
		if name, file := strings.CutPrefix(f, "@"); file {
			f = filepath.Join(n.dir, name)
		}
		args = append(args, f)
	}
	return append(args, "--to", at.To())
}

// say gives what commands say once it is what the story expects; where the story is
// written anew, once it stays.
func (n *network) say(at *fleet.Site, d *datadriven.TestData) (said string) {
	ctx, cancel := context.WithTimeout(n.ctx, fleet.Patience/2)
	defer cancel()
	same := 0
	_ = fleet.Until(ctx, func() (bool, error) {
		before := said
		said = n.ask(at, d.Input)
		if said == before {
			same++
		} else {
			same = 0
		}
		if d.Rewrite {
			return same >= 8, nil
		}
		return n.agree(said, d.Expected), nil
	})
	if n.agree(said, d.Expected) {
		return d.Expected
	}
	return said
}

// agree says whether what is said is what the story tells.
func (n *network) agree(said, story string) bool {
	return said == story || n.remade && undated(said) == undated(story)
}

// undated is what is said without its times and clocks, which differ from making to making; without who has started
// an instance, which the releases so far do not tell; and without how much waits for a site, since more is brought about now.
func undated(said string) string {
	said = starter.ReplaceAllStringFunc(said, func(line string) string {
		part := starter.FindStringSubmatch(line)
		return strings.TrimSpace(part[1] + "  " + part[2])
	})
	said = waits.ReplaceAllString(startedBy.ReplaceAllString(said, ""), "${1}SOME")
	said = day.ReplaceAllString(moment.ReplaceAllString(said, "THEN"), "DAY")
	lines := strings.SplitAfter(then.ReplaceAllString(said, "-  THEN"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// ask is what commands say now.
func (n *network) ask(at *fleet.Site, commands string) string {
	var b strings.Builder
	for line := range strings.Lines(commands) {
		fields := strings.Fields(line)
		out, talk, code := fleet.Run(n.T, at.Binary(fields[0]), n.arguments(at, fields[1:])...)
		said := n.timeless(out + talk + "\n")
		if fields[1] == "history" {
			said = sorted(said)
		}
		b.WriteString(said)
		if code != 0 {
			fmt.Fprintf(&b, "exit code %d\n", code)
		}
	}
	return b.String()
}

// timeless is what a command says without what differs from run to run.
func (n *network) timeless(text string) string {
	text = age.ReplaceAllString(text, "AGE")
	text = moment.ReplaceAllStringFunc(text, func(at string) string {
		if when, err := time.Parse(time.DateTime, at); err == nil && !when.Before(n.began) {
			return "NOW"
		}
		return at
	})
	text = blanks.ReplaceAllString(text, "  ")
	return dashes.ReplaceAllString(text, "\n")
}

// sorted is a history in the order of its lines. What is done now has a clock that depends on
// what its site had heard of by then, so it is not compared.
func sorted(history string) string {
	lines := strings.SplitAfter(clock.ReplaceAllString(history, "-  NOW"), "\n")
	slices.Sort(lines[min(1, len(lines)):])
	return strings.Join(lines, "")
}

var (
	age       = regexp.MustCompile(`\b(\d+[smhd])+\b`)
	startedBy = regexp.MustCompile(`(?m)^started by  .*\n`)
	starter   = regexp.MustCompile(`(?m)(source  started  .*?)  by [^ ]+ at [^ :\n]+(?:: (.*))?$`)
	moment    = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	// What is NOW is shorter than what it stands for, so columns are not compared.
	clock  = regexp.MustCompile(`(?m)^\d+  NOW`)
	then   = regexp.MustCompile(`(?m)^\d+  THEN`)
	waits  = regexp.MustCompile(`(?m)^([A-D]  waiting  \S+  )\d+`)
	day    = regexp.MustCompile(`\d{4}-\d\d-\d\d`)
	blanks = regexp.MustCompile(` {2,}`)
	dashes = regexp.MustCompile(`[ \n]*\n`)
)

// unpack puts the golden store of a site into its directory.
func unpack(t *testing.T, dir string, s *fleet.Site) {
	t.Helper()
	if out, err := exec.Command("tar", "-x", "-z", "-f", filepath.Join(dir, s.Name+".tar.gz"), "-C", s.Dir).CombinedOutput(); err != nil {
		t.Fatalf("unpack the store of %s: %v: %s", s.Name, err, out)
	}
}
