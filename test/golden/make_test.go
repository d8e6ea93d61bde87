package golden

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/processtable"
	"fmqm/test/fleet"
)

// What scripts/golden.sh makes of a release is made here of the present tree, too: so it can
// be made when the release is there, and says what the newest one's story tells. With
// FMQM_GOLDEN=COMMIT it is the set of that release that is made, with its daemons.
func TestMake(t *testing.T) {
	if commit := os.Getenv("FMQM_GOLDEN"); commit != "" {
		dir, err := filepath.Abs(filepath.Join("testdata", commit))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); err != nil { // else it has processes and stories of its own
			begin(t, dir)
		}
		makeSet(t, dir, told(dir))
		return
	}
	dir := filepath.Join(t.TempDir(), "set")
	begin(t, dir)
	makeSet(t, dir, "")
	t.Run("kinds", func(t *testing.T) {
		found := kinds{}
		for _, name := range fleet.Names {
			found.read(t, dir, name)
		}
		for kind := range known(t) {
			if !found[kind] {
				t.Errorf("no site has a %s: bring it about", kind)
			}
		}
	})
	t.Run("network", func(t *testing.T) { tellNetwork(t, options{dir: dir, remade: true}) })
	t.Run("backup", func(t *testing.T) { tellBackup(t, options{dir: dir, remade: true}) })
}

// begin begins a set, with the processes and stories of the newest.
func begin(t *testing.T, dir string) {
	t.Helper()
	made := func(set string) string {
		story, err := os.ReadFile(filepath.Join(set, "network.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return moment.FindString(string(story))
	}
	newest := slices.MaxFunc(releases(t), func(one, other string) int { return strings.Compare(made(one), made(other)) })
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.yaml", "*.txt"} {
		files, err := filepath.Glob(filepath.Join(newest, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// makeSet makes stores and backups with the daemons of a release. All four sites end with
// kill -9, in the midst of:
//
//   - instances of every state, activities that run, wait, are to be tried again in 30
//     days, or are in error; one that an operator terminated; refused messages, small and
//     large; messages that wait for a table
//   - A, which sends C again what that lost, is killed between two messages of it, and has an
//     operator's word apart for D, which could not read it when A heard it last
//   - B, which has some parts of a large message, a word, a due timer, what has returned to a block
//     and what drops an event, which no thread has looked at yet, and has stopped its link to C; a
//     bundle of which some has been put together, an activity that began with the first of two, a notice
//     that was given, a loop of which iterations were removed, a receive that waits, an event that was
//     put back and one that is too old; work that people are offered, have claimed and have begun, some that they
//     have done and lost; activities that an operator has ended by hand, instances and activities that are suspended,
//     a version that is retired, and one of which the table was removed
//   - C, which was restored from a backup, has a table for B that is current at once, a block under way and one that has just begun,
//     deadlines, a wait, has cancelled something of its own and of D, and has begun an instance of a
//     subprocess of which no thread has looked at that yet, nor at the event that a receive was given;
//     at B one has ended
//   - D, whose store was made by a release that reads no words, has an
//     answer, a word and a table for B; retention has removed instances, and a transaction that
//     is too large for a commit is on disk, with none of its changes made
func makeSet(t *testing.T, dir, release string) {
	t.Helper()
	before := fleet.Before(t, wordless)
	m := &maker{network: newNetwork(t, options{sites: fleet.Names, release: release, dir: dir, linked: true, prepare: func(s *fleet.Site) {
		if s.Name == "D" {
			s.Release = before
		}
	}}), release: release}
	m.Connected(m.ctx)
	for _, step := range []struct {
		name string
		take func()
	}{
		{"define", m.define},
		{"run", m.run},
		{"inside", m.inside},
		{"upgrade", m.upgrade},
		{"back up", func() { m.backup("C"); m.backup("A") }},
		{"retain", m.retain},
		{"large", m.large},
		{"lose", m.lose},
		{"cut", m.cut},
		{"rebuild", m.rebuild},
		{"enter", m.enter},
	} {
		t.Log(step.name, "after", time.Since(m.began).Round(time.Second))
		ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience/2)
		defer cancel()
		m.ctx = ctx
		step.take()
	}
	for _, name := range fleet.Names {
		m.Sites[name].Kill()
		m.pack(name)
	}
}

// wordless is the last release that reads no operators' words.
const wordless = "ecdb23d82a679598631bda53b06ac7b9d5d536cc"

type maker struct {
	*network
	release string      // the directory of its binaries
	born    *fleet.Hold // at C: of what begins the instance of a subprocess
}

// define uploads the processes; of late only to A, and of pair another one to B.
func (m *maker) define() {
	m.Helper()
	m.command("A", "fmqm-define", "upload", filepath.Join(m.dir, "processes.yaml"))
	text, err := os.ReadFile(filepath.Join(m.dir, "pair.yaml"))
	if err != nil {
		m.Fatal(err)
	}
	other := filepath.Join(m.TempDir(), "pair.yaml")
	if err := os.WriteFile(other, []byte(strings.Replace(string(text), "n < 100", "n < 101", 1)), 0o600); err != nil {
		m.Fatal(err)
	}
	m.upload("A", filepath.Join(m.dir, "late.yaml"))
	m.upload("A", filepath.Join(m.dir, "pair.yaml"))
	m.upload("B", other)
}

// upload uploads the table of one site, and nothing to the others.
func (m *maker) upload(name, file string) {
	m.Helper()
	out := m.TempDir()
	fleet.Must(m.T, m.Sites[name].Binary("fmqm-define"), "compile", file, "--output", out)
	text, err := os.ReadFile(filepath.Join(out, strings.TrimSuffix(filepath.Base(file), ".yaml")+"@1.manifest.json"))
	if err != nil {
		m.Fatal(err)
	}
	var manifest struct {
		Definition string
		Tables     []struct{ Node, File, SHA256 string }
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		m.Fatal(err)
	}
	for _, t := range manifest.Tables {
		if t.Node != name {
			continue
		}
		table, err := os.ReadFile(filepath.Join(out, t.File))
		if err != nil {
			m.Fatal(err)
		}
		upload := api.Table{Node: name, Process: strings.TrimSuffix(filepath.Base(file), ".yaml") + "@1", Definition: manifest.Definition, SHA256: t.SHA256, Table: table}
		if _, err := m.Sites[name].Client.Upload(m.ctx, api.UploadRequest{Tables: []api.Table{upload}}); err != nil {
			m.Fatal(err)
		}
		return
	}
	m.Fatalf("%s has no table for %s", file, name)
}

// command has a command of the release ask a site.
func (m *maker) command(at, name string, args ...string) {
	m.Helper()
	fleet.Must(m.T, m.Sites[at].Binary(name), append(args, "--to", m.Sites[at].To())...)
}

// instance is the identifier of the golden instance of a number.
func instance(number int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("01990000-0000-7000-8000-%012d", number))
}

// start starts an instance whose text has so many characters.
func (m *maker) start(at string, number int, process, text string, size int) {
	m.Helper()
	input, err := json.Marshal(map[string]any{"n": 5, "text": text + strings.Repeat("x", size)})
	if err != nil {
		m.Fatal(err)
	}
	if _, err := m.Sites[at].Client.Start(m.ctx, api.StartRequest{Instance: instance(number), Process: process, Input: input}); err != nil {
		m.Fatal(err)
	}
}

// until waits until a command says something, so often.
func (m *maker) until(at, command, says string, times int) {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.ctx, fleet.Patience/4)
	defer cancel()
	said := ""
	err := fleet.Until(ctx, func() (bool, error) {
		said = m.ask(m.Sites[at], command)
		return strings.Count(said, says) >= times, nil
	})
	if err != nil {
		m.Fatalf("%s at %s: %v: it does not say %q %d times:\n%s", command, at, err, says, times, said)
	}
}

// run starts the instances, and waits until each stands where it stays.
func (m *maker) run() {
	m.Helper()
	m.start("A", 1, "tour", "hold", 0)
	m.start("A", 2, "tour", "hold", 0)
	m.start("A", 3, "tour", "go", 0)
	m.start("A", 4, "late", "go", 0)
	m.start("A", 5, "pair", "go", 0)
	m.start("A", 6, "pair", "go", 10_000)
	m.start("A", 7, "solo", "hold", 0)
	m.start("A", 10, "later", "hold", 0)
	for _, number := range []int{11, 12, 13} {
		m.start("A", number, "words", "go", 0)
		m.until("A", fmt.Sprintf("fmqm status %s", instance(number)), "in-error", 2)
	}
	m.until("B", "fmqm refused list", "connector  pair@1", 2)
	m.start("A", 15, "pair", "go", 0)
	m.until("B", "fmqm refused list", "connector  pair@1", 3)
	m.command("B", "fmqm", "refused", "drop", "3", "--reason", "sent-by-hand")
	for _, number := range []int{1, 2, 3} {
		m.until("A", fmt.Sprintf("fmqm status %s", instance(number)), "in-error", 1)
	}
	for _, number := range []int{1, 2} {
		m.until("A", fmt.Sprintf("fmqm history %s", instance(number)), "in-error", 2)
	}
	m.until("A", fmt.Sprintf("fmqm history %s", instance(10)), "failed", 1)
	m.command("A", "fmqm", "retry", instance(3).String(), "check", "--output", `{"n":7,"text":""}`)
	m.until("A", fmt.Sprintf("fmqm status %s", instance(3)), "finished", 1)
	m.until("A", "fmqm refused list", "connector  pair@1", 1)
	m.until("B", "fmqm nodes", "wait here for its table", 1)
	m.Sites["C"].Stop()
	m.command("A", "fmqm", "terminate", instance(2).String())
	m.until("A", fmt.Sprintf("fmqm status %s", instance(2)), "terminated", 1)
	m.Sites["C"].Start()
	m.Connected(m.ctx)
}

// word has a site ask another to retry an activity, and does not wait for the answer.
func (m *maker) word(at string, number int, activity string) {
	m.Helper()
	client, told := m.Sites[at].Client, make(chan struct{})
	go func() {
		defer close(told)
		_, _ = client.Retry(m.ctx, instance(number), api.RetryRequest{Activity: activity, Output: json.RawMessage(`{"n":7,"text":""}`)})
	}()
	m.Cleanup(func() { <-told })
	m.until(at, fmt.Sprintf("fmqm history %s", instance(number)), activity+"  asked", 1)
}

// unlink lets two sites not call each other from now on; those that are down learn it when
// they start.
func (m *maker) unlink(one, other string) {
	m.Helper()
	m.unlinked[one] = other
	for _, name := range []string{one, other} {
		m.Sites[name].Configure()
		if m.Sites[name].Up() {
			m.Sites[name].Reload(m.ctx)
		}
	}
}

// upgrade has A ask something of D while that is of the release before, and B while it is of
// this one: so A's word waits apart, and B's is answered when B is down.
func (m *maker) upgrade() {
	m.Helper()
	b, d := m.Sites["B"], m.Sites["D"]
	d.Stop()
	m.Until(m.ctx, "A has lost D", func() bool { return m.Sites["A"].Link(m.ctx, "D").State != "connected" })
	m.word("A", 11, "far")
	m.Until(m.ctx, "A's word for D waits apart", func() bool { return m.Sites["A"].Link(m.ctx, "D").Apart == 1 })
	m.unlink("A", "D")

	d.Release = m.release
	hold := d.StartHeld("thread.taken")
	d.Answers()
	m.Until(m.ctx, "B has found D", func() bool { return b.Link(m.ctx, "D").State == "connected" })
	hold.On()
	m.word("B", 12, "far")
	hold.Reached(m.ctx)
	b.Stop()
	m.unlink("B", "D")
	hold.Off()
	m.until("D", fmt.Sprintf("fmqm status %s", instance(12)), "terminated", 1)
	m.word("D", 12, "near")
	m.command("D", "fmqm-define", "upload", filepath.Join(m.dir, "spare.yaml"))
	b.Start()
	b.Answers()
}

// backup writes a backup of a site.
func (m *maker) backup(name string) {
	m.Helper()
	file := m.Sites[name].Backup(m.TempDir())
	content, err := os.ReadFile(file)
	if err != nil {
		m.Fatal(err)
	}
	packed := filepath.Join(m.dir, name+".fmqmbackup")
	if err := os.WriteFile(packed, content, 0o600); err != nil {
		m.Fatal(err)
	}
	if out, err := exec.Command("gzip", "-9", "-n", "-f", packed).CombinedOutput(); err != nil {
		m.Fatalf("gzip: %v: %s", err, out)
	}
}

// retain lets retention at D remove the oldest of more than 16 MiB.
func (m *maker) retain() {
	m.Helper()
	for number := 20; number < 40; number++ {
		m.start("D", number, "heap", "go", 1000<<10)
		m.until("D", fmt.Sprintf("fmqm status %s", instance(number)), "finished", 1)
	}
	m.audit = "audit: {bytes: 16MiB}\n"
	m.Sites["D"].Configure()
	m.Sites["D"].Reload(m.ctx)
	m.until("D", fmt.Sprintf("fmqm status %s", instance(20)), "removed", 1)
	m.until("D", fmt.Sprintf("fmqm status %s", instance(21)), "removed", 1)
}

// large has D die with the head of a large transaction on disk.
func (m *maker) large() {
	m.Helper()
	d := m.Sites["D"]
	m.command("D", "fmqm-define", "upload", wide(m.T))
	d.Stop()
	d.StartToDie("large.head")
	d.Answers()
	input := fmt.Sprintf(`{"n":5,"text":"go%s"}`, strings.Repeat("x", 300))
	_, _ = d.Client.Start(m.ctx, api.StartRequest{Instance: instance(40), Process: longest("wide", 0), Input: json.RawMessage(input)})
	d.Died(m.ctx)
}

// longest gives a name of the greatest length.
func longest(name string, n int) string {
	return fmt.Sprintf("%s%0*d", name, processtable.MaxName-len(name), n)
}

// wide writes a process with an activity that ends with 2,000 connectors into it and 2,000
// out of it, under the longest names: more than the engine commits at once.
func wide(t *testing.T) string {
	t.Helper()
	fork, there := longest("fork", 0), longest("there", 0)
	var activities, control, data strings.Builder
	for n := range 1999 {
		before, after := longest("s", n), longest("t", n)
		fmt.Fprintf(&activities, "  %s: {node: D, empty: true}\n  %s: {node: D, empty: true, input: Order, output: Order}\n", before, after)
		fmt.Fprintf(&control, "  - %s -> %s\n  - %s -> %s\n", before, fork, there, after)
		fmt.Fprintf(&data, "  - %s -> %s\n", fork, after)
	}
	text := "process: " + longest("wide", 0) + "\nversion: 1\nstructures:\n  Order: {n: int, text: string}\ninput: Order\nstarts: [D]\nactivities:\n" +
		"  " + fork + ": {node: D, program: pass, input: Order, output: Order}\n  " + there + ": {node: D, empty: true}\n" + activities.String() +
		"control:\n  - " + fork + " -> " + there + "\n" + control.String() + "data:\n  - source -> " + fork + "\n" + data.String()
	return file(t, text)
}

// lose has C get more, and then be restored from the backup that it was made of before.
func (m *maker) lose() {
	m.Helper()
	m.start("A", 8, "bulk", "hold", 700<<10)
	m.Until(m.ctx, "C has confirmed all of it", func() bool {
		l := m.Sites["A"].Link(m.ctx, "C")
		return l.State == "connected" && l.Waiting == 0
	})
	c := m.Sites["C"]
	c.Kill()
	if err := os.RemoveAll(c.File("data")); err != nil {
		m.Fatal(err)
	}
	backup := filepath.Join(m.TempDir(), "C.fmqmbackup")
	if out, err := exec.Command("sh", "-c", fmt.Sprintf("gzip -d -c %s.gz >%s", filepath.Join(m.dir, "C.fmqmbackup"), backup)).CombinedOutput(); err != nil {
		m.Fatalf("%v: %s", err, out)
	}
	fleet.Must(m.T, c.Binary("fmqmd"), "restore", backup, "--data", c.File("data"))
	m.born = c.StartHeldToDie("thread.born", "commit.written/inside")
	c.Answers()
	m.halt()
	for _, name := range []string{"A", "B"} {
		m.Until(m.ctx, name+" sees another store at C", func() bool { return m.Sites[name].Link(m.ctx, "C").Stopped == 4 })
	}
}

// cut has B die when it has some parts of a large message; what came before that, its
// threads have not looked at yet.
func (m *maker) cut() {
	m.Helper()
	b := m.Sites["B"]
	b.Stop()
	hold := b.StartHeldToDie("thread.taken", "commit.written/part")
	b.Answers()
	m.Until(m.ctx, "A has found B", func() bool { return m.Sites["A"].Link(m.ctx, "B").State == "connected" })
	m.start("B", 19, "judged", "go", judgedSize)
	m.until("B", fmt.Sprintf("fmqm history %s", instance(19)), "turns  begun", 1)
	m.format7()
	m.format8()
	m.format9()
	m.expire()
	m.start("A", 14, "soon", "hold", 0)
	m.until("B", fmt.Sprintf("fmqm history %s", instance(14)), "failed", 1)
	hold.On()
	hold.Reached(m.ctx)
	m.drop()
	m.returned()
	m.word("A", 13, "near")
	m.Until(m.ctx, "B has the word", func() bool { return m.Sites["A"].Link(m.ctx, "B").Waiting == 0 })
	m.start("A", 9, "parts", "go", 900<<10)
	b.Died(m.ctx)
}

// rebuild has A die between two messages of what it sends C again.
func (m *maker) rebuild() {
	m.Helper()
	a := m.Sites["A"]
	a.Stop()
	a.StartToDie("rebuild.chunk")
	a.Answers()
	m.Until(m.ctx, "A sees another store at C", func() bool { return a.Link(m.ctx, "C").Stopped == 4 })
	_, _ = a.Client.Rebuild(m.ctx, api.RebuildRequest{Peer: "C", Do: true}) // it dies before it answers
	a.Died(m.ctx)
}

// pack keeps the store of a site that is down.
func (m *maker) pack(name string) {
	m.Helper()
	file := filepath.Join(m.dir, name+".tar.gz")
	command := fmt.Sprintf("tar -c --sparse --exclude=RESERVE --sort=name --owner=0 --group=0 --numeric-owner -C %s data | gzip -9 -n >%s", m.Sites[name].Dir, file)
	if out, err := exec.Command("bash", "-o", "pipefail", "-c", command).CombinedOutput(); err != nil {
		m.Fatalf("pack: %v: %s", err, out)
	}
}
