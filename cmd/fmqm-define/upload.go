package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	shared "fmqm/cmd/internal/cli"
	"fmqm/definition"
	"fmqm/internal/text"
	"fmqm/processtable"
)

func uploadCommand() *cli.Command {
	return &cli.Command{
		Name:      "upload",
		Usage:     "compile definitions and send each node its tables",
		ArgsUsage: "FILE...",
		Description: `The node at ADDR takes its own tables and passes the others on. The command first shows
the plan: what changes at which node. Then it sends the tables. If a node refuses one
table, no table of any file is sent. It warns of a subprocess whose process its node has
not, and no FILE has. The report says for each node and process: stored,
queued (the node is unreachable, and gets its table when it is back), unchanged, or
refused with the reason. The exit code is 4 if a table was refused, else 0.

A version is current once all its sites have stored it. Until then NAME alone, of fmqm start,
schedules and subprocesses, is the version before it. With --now it is current at once, also
one that was uploaded before.

Every table is signed, so that a node can check who defines what it runs
(` + "`definers`" + ` in its configuration). The key is that of --key, or else your own,
~/.config/fmqm/definer.key, which the first upload makes; see keygen. A node with a
` + "`network`" + ` in its configuration takes only tables that are signed for that network:
name it with --network, so that what you sign for a test is refused in production.
Such a signature can be uploaded within --expires. What one node has taken in time
goes on to the others whenever they are reached.`,
		UsageText: `fmqm-define upload purchase-order.yaml --to http://127.0.0.1:7411
fmqm-define upload purchase-order.yaml --to unix:/run/fmqm/fmqmd.sock --plan
fmqm-define upload processes/*.yaml --plan
fmqm-define upload --allow-new-node purchase-order.yaml
fmqm-define upload --now purchase-order.yaml
fmqm-define upload purchase-order.yaml --network production --expires 2h
fmqm-define upload purchase-order.yaml --key credential:definer`,
		Flags: append([]cli.Flag{
			shared.ToFlag(),
			&cli.BoolFlag{Name: "allow-new-node", Usage: "also send tables for nodes that no site has a link to; they wait until one has"},
			&cli.BoolFlag{Name: "now", Usage: "the version is current at once, also where sites have not stored it yet"},
			tableFormatFlag(),
			&cli.BoolFlag{Name: "plan", Usage: "show what would change, and change nothing"},
			shared.TimeoutFlag(),
			shared.OutputFlag(),
		}, append(signingFlags(), shared.CertificateFlags()...)...),
		Action: upload,
	}
}

func upload(c *cli.Context) error {
	printer, err := shared.NewPrinter(c)
	if err != nil {
		return err
	}
	sources, err := loadAll(c, c.Args().Slice())
	if err != nil {
		return err
	}
	client, err := shared.NewClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	how, err := newSigning(c)
	if err != nil {
		return err
	}
	request, plan, err := planUpload(c, client, sources, how)
	if err != nil {
		return err
	}
	for _, w := range plan.Warnings {
		shared.Talk(c, "warning: %s", w)
	}
	if how.key != nil {
		shared.Talk(c, "plan: %s", how)
	}
	shared.Talk(c, "plan: %s", sizes(request.Tables))
	if c.Bool("plan") {
		return report(printer, plan.Nodes)
	}
	for _, line := range plan.Nodes {
		shared.Talk(c, "plan: %s", planLine(line))
	}
	request.PlanOnly = false
	if plan.KeepsTexts {
		if request.Definitions, err = texts(sources); err != nil {
			return err
		}
	}
	done, err := send(c, client, request, "uploading")
	if err != nil {
		if api.MayHaveHappened(err) {
			shared.Talk(c, "the upload may have happened anyway: repeat it, which is safe")
		}
		return fmt.Errorf("upload: %w", err)
	}
	for _, w := range done.Warnings {
		if !slices.Contains(plan.Warnings, w) {
			shared.Talk(c, "warning: %s", w)
		}
	}
	for _, text := range notCurrent(done.Nodes) {
		shared.Talk(c, "%s", text)
	}
	for _, text := range runningOn(done.Nodes) {
		shared.Talk(c, "%s", text)
	}
	return report(printer, done.Nodes)
}

// runningOn says for each node which instances run on which version, where any do.
func runningOn(nodes []api.UploadNode) (all []string) {
	for _, l := range nodes {
		var counts []string
		for _, r := range l.Running {
			counts = append(counts, fmt.Sprintf("%s: %d", r.Process, r.Instances))
		}
		line := fmt.Sprintf("%s has instances that run: %s", l.Node, strings.Join(counts, ", "))
		if len(counts) > 0 && !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	return all
}

// texts are those of the definitions of all files, for the node to keep.
func texts(sources []*source) (all []api.DefinitionText, err error) {
	for _, s := range sources {
		for _, p := range s.processes {
			text, err := definition.TextOf(s.bytes, p)
			if err != nil {
				return nil, err
			}
			all = append(all, api.DefinitionText{Process: processID(p), Text: string(text)})
		}
	}
	return all, nil
}

// notCurrent says which versions are not current yet after an upload, and why.
func notCurrent(nodes []api.UploadNode) (all []string) {
	stored := map[string]bool{}
	for _, l := range nodes {
		if l.State != api.VersionStored || stored[l.Process] {
			continue
		}
		stored[l.Process] = true
		why := "the sites have not told each other yet that all of them have it"
		if waits := waitsFor(nodes, l.Process); len(waits) > 0 {
			why = api.NotYet(waits)
		}
		all = append(all, fmt.Sprintf("%s is stored, and not current yet: %s: until then the name alone is the version before it (--now: at once)", l.Process, why))
	}
	return all
}

// waitsFor are the sites of a process that have no table of it yet.
func waitsFor(nodes []api.UploadNode, process string) (waits []string) {
	for _, l := range nodes {
		if l.Process == process && l.Result != api.ResultStored && l.Result != api.ResultUnchanged {
			waits = append(waits, l.Node)
		}
	}
	return waits
}

// planUpload compiles the processes of all files, and asks what their upload would change.
// Conditions are compiled in their canonical text; a process of which that is refused, and
// would not be as its file has it, is compiled so: before texts were canonical a definition
// was bound to those.
func planUpload(c *cli.Context, client *api.Client, sources []*source, how signing) (api.UploadRequest, api.UploadAnswer, error) {
	request, plan, err := askPlan(c, client, sources, how)
	if err != nil || !refuses(plan) {
		return request, plan, err
	}
	refused := map[string]bool{}
	for _, l := range plan.Nodes {
		refused[l.Process] = refused[l.Process] || l.Plan == api.PlanRefuse
	}
	written := make([]*source, len(sources))
	for i, s := range sources {
		as := *s
		as.asWritten = refused
		written[i] = &as
	}
	if before, other, err := askPlan(c, client, written, how); err == nil && !refuses(other) {
		return before, other, nil
	}
	return request, plan, nil
}

func askPlan(c *cli.Context, client *api.Client, sources []*source, how signing) (r api.UploadRequest, plan api.UploadAnswer, err error) {
	r = api.UploadRequest{AllowNewNode: c.Bool("allow-new-node"), Now: c.Bool("now"), PlanOnly: true}
	size := 0
	for _, s := range sources {
		tables, err := s.tables(c, how)
		if err != nil {
			return r, plan, err
		}
		for _, t := range tables {
			size += base64.StdEncoding.EncodedLen(len(t.Table)) + uploadOverhead
		}
		r.Tables = append(r.Tables, tables...)
	}
	if size > api.MaxUpload {
		return r, plan, shared.Failedf("the tables have %s in all, and one upload takes %s: upload fewer files at once", shared.Bytes(int64(size)), shared.Bytes(api.MaxUpload))
	}
	if plan, err = send(c, client, r, "asking the nodes what would change"); err != nil {
		err = fmt.Errorf("plan the upload: %w", err)
	}
	return r, plan, err
}

// uploadOverhead is how many bytes of a request there are beside each table, at most.
const uploadOverhead = 512

func refuses(plan api.UploadAnswer) bool {
	return slices.ContainsFunc(plan.Nodes, func(l api.UploadNode) bool { return l.Plan == api.PlanRefuse })
}

// send is client.Upload, with how far it has come for who waits at a terminal.
func send(c *cli.Context, client *api.Client, r api.UploadRequest, what string) (api.UploadAnswer, error) {
	progress := shared.NewProgress(c)
	defer progress.End()
	nodes := map[string]bool{}
	for _, t := range r.Tables {
		nodes[t.Node] = true
	}
	return client.Upload(api.WithProgress(c.Context, func(sent, total int64) {
		if sent < total {
			progress.Show("%s: %s of %s (%d %%)", what, shared.Bytes(sent), shared.Bytes(total), 100*sent/max(total, 1))
			return
		}
		progress.Show("%s: %s sent, waiting for the answers of %d nodes", what, shared.Bytes(total), len(nodes))
	}), r)
}

// tables gives the tables to send, signed.
func (s *source) tables(c *cli.Context, how signing) ([]api.Table, error) {
	var tables []api.Table
	for _, p := range s.processes {
		_, err := s.compile(c, p, func(t *processtable.Table, encoded []byte) error {
			encoded, err := how.sign(encoded)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(encoded)
			tables = append(tables, api.Table{
				Node:       string(t.Node),
				Process:    t.Process.String(),
				Definition: t.Definition.String(),
				SHA256:     hex.EncodeToString(sum[:]),
				Table:      encoded,
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// sizes says how much is to be sent, and the largest of it.
func sizes(tables []api.Table) string {
	all, largest := int64(0), tables[0]
	for _, t := range tables {
		if all += int64(len(t.Table)); len(t.Table) > len(largest.Table) {
			largest = t
		}
	}
	return fmt.Sprintf("%s of %s in all, at most %s (%s for %s), of %s that a node takes", text.Counted(len(tables), "table", "tables"),
		shared.Bytes(all), shared.Bytes(int64(len(largest.Table))), largest.Process, largest.Node, shared.Bytes(processtable.MaxEncoded))
}

// planLine says in words what the upload will do at a node.
func planLine(l api.UploadNode) string {
	what := map[api.Plan]string{
		api.PlanAdd:       "gets",
		api.PlanUnchanged: "has",
		api.PlanRefuse:    "refuses",
		api.PlanUnknown:   "will get",
	}[l.Plan]
	line := fmt.Sprintf("%s %s %s", l.Node, what, l.Process)
	if l.Reason != "" {
		line += ": " + l.Reason
	}
	return line
}

// report prints one line for each table, and is an error if one was refused.
func report(p *shared.Printer, nodes []api.UploadNode) error {
	list := p.List(false, "NODE", "PROCESS", "PLAN", "RESULT", "REASON")
	var refused, unsent []string
	for _, l := range nodes {
		switch {
		case l.Plan == api.PlanRefuse || l.Result == api.ResultRefused && !notSent(nodes):
			refused = append(refused, l.Node)
		case l.Result == api.ResultRefused:
			unsent = append(unsent, l.Node)
		}
		result := string(l.Result)
		if result == "" {
			result = "-"
		}
		if err := list.Row(l, l.Node, l.Process, string(l.Plan), result, l.Reason); err != nil {
			return err
		}
	}
	if err := list.End(); err != nil {
		return err
	}
	if len(refused) == 0 {
		return nil
	}
	text := "refused: " + onceEach(refused)
	unsent = slices.DeleteFunc(unsent, func(node string) bool { return slices.Contains(refused, node) })
	if len(unsent) > 0 {
		text += "; not sent to " + onceEach(unsent)
	}
	return &shared.Error{Exit: shared.ExitRefused, Text: text}
}

// notSent says whether the plan was refused, so that nothing was sent: what is refused
// beside that was not asked.
func notSent(nodes []api.UploadNode) bool { return refuses(api.UploadAnswer{Nodes: nodes}) }

// onceEach gives each name once, for an upload of several processes.
func onceEach(nodes []string) string {
	slices.Sort(nodes)
	return strings.Join(slices.Compact(nodes), ", ")
}

func listCommand() *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "list the processes that a node has",
		Description: `STARTS names the nodes where an instance may start. DEFINER is the beginning of the key
that signed the table, as in ` + "`definers`" + ` of configurations, or - if
the table is not signed. NETWORK is the network that it is signed for, or - for none.

STATE is current, stored or retired: NAME alone is the highest version that is current at the
node. Of what is "retired, removed" the node has nothing else: nobody needed its table. A
version is current once all its sites have stored it, with upload --now, or where there is none
before it. LACKING names the sites that have not said that they have it. Of a
retired version it names the other sites for which the node keeps its table: their final word
is missing, or they may still need it (retire --without).`,
		UsageText: `fmqm-define list --to http://127.0.0.1:7411
fmqm-define list -o jsonl`,
		Flags:  append([]cli.Flag{shared.ToFlag(), shared.TimeoutFlag(), shared.OutputFlag()}, shared.CertificateFlags()...),
		Action: list,
	}
}

// stateOf says how a version is, for people.
func stateOf(d *api.Definition) string {
	if d.State == api.VersionRemoved {
		return string(api.VersionRetired) + ", " + string(d.State)
	}
	return string(cmp.Or(d.State, api.VersionCurrent))
}

// lackingOf names the sites for which a version is not current, or its table is not removed.
func lackingOf(d *api.Definition) []string {
	if d.State == api.VersionRetired {
		return d.Awaited
	}
	return d.Lacking
}

// shortDefiner gives the beginning of ed25519:BASE64.
func shortDefiner(key string) string {
	_, text, ok := strings.Cut(key, ":")
	if !ok {
		return "-"
	}
	return text[:min(8, len(text))]
}

func list(c *cli.Context) error {
	printer, client, err := shared.NewAsking(c)
	if err != nil {
		return err
	}
	defer client.Close()
	answer, err := client.Definitions(c.Context)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	rows := printer.List(false, "PROCESS", "VERSION", "NODE", "STARTS", "ACTIVITIES", "DEFINITION", "DEFINER", "NETWORK", "STATE", "LACKING")
	for _, d := range answer.Definitions {
		short := d.Definition[:min(12, len(d.Definition))]
		state, lacking := stateOf(&d), cmp.Or(strings.Join(lackingOf(&d), ","), "-")
		if err := rows.Row(d, d.Process, strconv.Itoa(d.Version), d.Node, strings.Join(d.Starts, ","), strconv.Itoa(len(d.Activities)), short, shortDefiner(d.Definer), cmp.Or(d.Network, "-"), state, lacking); err != nil {
			return err
		}
	}
	if err := rows.End(); err != nil {
		return err
	}
	if len(answer.Definitions) == 0 {
		shared.Talk(c, "the node has no process yet: upload one with fmqm-define upload FILE")
	}
	return nil
}
