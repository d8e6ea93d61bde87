package attack

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/definer"
	"fmqm/definition"
	"fmqm/message"
	"fmqm/processtable"
)

// tablesOf are the tables of a version of a process, by their nodes, as a compiler makes them.
func (i *intruder) tablesOf(text, version string) (tables map[processtable.NodeID]*processtable.Table, encoded map[processtable.NodeID][]byte) {
	i.t.Helper()
	processes, problems := definition.Load("process.yaml", []byte(strings.Replace(text, "version: 1", "version: "+version, 1)))
	if definition.HasErrors(problems) {
		i.t.Fatal(problems)
	}
	compiled, err := definition.Compile(processes[0])
	if err != nil {
		i.t.Fatal(err)
	}
	tables, encoded = map[processtable.NodeID]*processtable.Table{}, map[processtable.NodeID][]byte{}
	for n, t := range compiled.Tables {
		tables[t.Node], encoded[t.Node] = t, compiled.Encoded[n]
	}
	return tables, encoded
}

// signed is a table as somebody has signed it; by nil: the definer whom the sites trust.
func (i *intruder) signed(encoded []byte, by ed25519.PrivateKey) []byte {
	i.t.Helper()
	if by == nil {
		path, err := definer.Path("", os.Getenv)
		if err == nil {
			by, err = definer.Load(path)
		}
		if err != nil {
			i.t.Fatal(err)
		}
	}
	signed, err := processtable.Sign(encoded, by)
	if err != nil {
		i.t.Fatal(err)
	}
	return signed
}

// makesCurrent sends what makes a version current at once.
func (i *intruder) makesCurrent(t *processtable.Table, body []byte, refused string) {
	i.t.Helper()
	i.sends(message.Message{
		Header: message.Header{
			Queue: message.Queue{Process: t.Process, Node: "A"}, Definition: t.Definition.Short(), Origin: "M",
			Kind: message.KindCurrent, Lane: message.LaneData,
		},
		Body: body,
	}, refused)
}

// versions says how the versions of a process stand at A.
func (i *intruder) versions(process string) (all string) {
	i.t.Helper()
	list, err := i.Sites["A"].Client.Definitions(i.ctx)
	if err != nil {
		i.t.Fatal(err)
	}
	for _, d := range list.Definitions {
		if d.Process == process {
			all += fmt.Sprintf("%d %s ", d.Version, d.State)
		}
	}
	return strings.TrimSpace(all)
}

// N19: a site that defines nothing makes no version current, neither of a process in which it has no part nor of one in
// which it has, whatever it puts beside the word; nor does it take one back. Who has a definer's table of A may say it.
func TestWhatASiteTriesWithVersions(t *testing.T) {
	t.Parallel()
	i := newIntruder(t)
	theirs := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	for _, text := range []string{ward, common} { // B, or M, has not stored these
		tables, encoded := i.tablesOf(text, "2")
		table := i.signed(encoded["A"], nil)
		sum := sha256.Sum256(table)
		answer, err := i.Sites["A"].Client.Upload(i.ctx, api.UploadRequest{Tables: []api.Table{{
			Node: "A", Process: tables["A"].Process.String(), Definition: tables["A"].Definition.String(), Table: table, SHA256: hex.EncodeToString(sum[:]),
		}}})
		if err != nil || len(answer.Nodes) != 1 || answer.Nodes[0].Result != api.ResultStored {
			t.Fatalf("%+v %v", answer, err)
		}
	}
	const stand = "1 current 2 stored"
	asBefore := func() {
		t.Helper()
		for _, process := range []string{"ward", "common"} {
			if got := i.versions(process); got != stand {
				t.Errorf("%s stands as %s at A, want %s", process, got, stand)
			}
		}
	}
	asBefore()

	wards, wardTables := i.tablesOf(ward, "2")
	_, firstTables := i.tablesOf(ward, "1")
	commons, commonTables := i.tablesOf(common, "2")
	never, neverTables := i.tablesOf(ward, "9")
	i.makesCurrent(wards["A"], wardTables["A"], "ward@2 is not signed")
	i.makesCurrent(commons["A"], commonTables["A"], "common@2 is not signed")
	i.makesCurrent(wards["A"], i.signed(wardTables["A"], theirs), "is signed by 6kpsY+Kc, whom A does not know")
	i.makesCurrent(never["A"], i.signed(neverTables["A"], theirs), "is signed by 6kpsY+Kc, whom A does not know")
	i.makesCurrent(never["A"], neverTables["A"], "ward@9 is not signed")
	i.makesCurrent(wards["A"], i.signed(wardTables["B"], nil), "table of ward@2 is for node B, this is A")
	i.makesCurrent(commons["A"], i.signed(commonTables["M"], nil), "table of common@2 is for node M, this is A")
	i.makesCurrent(wards["A"], i.signed(firstTables["A"], nil), "it carries a table of ward@1, and says that it is of ward@2")
	i.makesCurrent(wards["A"], []byte("this is no table"), "read process table")
	found := i.aside()
	asBefore()
	for _, d := range found {
		if _, err := i.Sites["A"].Client.RetryRefused(i.ctx, d.Number); err == nil {
			t.Errorf("an operator can deliver %s", d.Reason)
		}
	}
	asBefore()

	i.makesCurrent(wards["A"], i.signed(wardTables["A"], nil), "")
	i.eventually("with a definer's table of A it has effect", func() (string, bool) {
		got := i.versions("ward")
		return got, got == "1 current 2 current"
	})
	i.makesCurrent(i.tables["ward"], i.signed(firstTables["A"], nil), "")
	i.aside()
	s, err := i.Sites["A"].Client.Start(i.ctx, api.StartRequest{Instance: uuid.Must(uuid.NewV7()), Process: "ward"})
	if err != nil || s.Process != "ward@2" {
		t.Errorf("behind the old one's table the name alone is %s, %v", s.Process, err)
	}
}
