package tables

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/node/question"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// AskDefinition is the question for the text of a definition: a TextQuestion, answered by a TextReport.
const AskDefinition = "definition"

// maxText is how many bytes the text of a definition has at most: those of a file.
const maxText = 8 << 20

// TextQuestion asks a site for the text of a definition.
type TextQuestion struct {
	Process    string `json:"process"`
	Definition string `json:"definition"`
}

// TextReport answers it; without text the site keeps none.
type TextReport struct {
	Packed []byte `json:"packed,omitempty"` // gzip
}

// texts are those that an upload brings, as they are stored, of processes that it has tables of. One that is too long to
// be kept is told of, and the tables go all the same.
func (u *upload) texts() (all []record.Definition) {
	for _, given := range u.request.Definitions {
		i := slices.IndexFunc(u.tables, func(t *processtable.Table) bool { return t.Process.String() == given.Process })
		if i < 0 {
			continue
		}
		packed := pack(given.Text)
		if len(given.Text) > maxText || len(packed) > record.MaxDefinition {
			u.answer.Warnings = append(u.answer.Warnings, fmt.Sprintf(
				"%s: the text of the definition has %d bytes (packed %d, of %d that a node keeps): keep the file, fmqm-define get will not have it", given.Process, len(given.Text), len(packed), record.MaxDefinition))
			continue
		}
		all = append(all, record.Definition{Process: u.tables[i].Process, Definition: u.tables[i].Definition, Text: packed})
	}
	return all
}

// fresh gives the texts that are not kept here already, byte for byte.
func (t *Tables) fresh(all []record.Definition) (fresh []record.Definition, err error) {
	for i := range all {
		kept, err := t.Queue.Definition(all[i].Process)
		if err != nil {
			return nil, err
		}
		if kept == nil || kept.Definition != all[i].Definition || !bytes.Equal(kept.Text, all[i].Text) {
			fresh = append(fresh, all[i])
		}
	}
	return fresh, nil
}

func pack(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text) // a buffer takes all
	_ = w.Close()
	return b.Bytes()
}

func unpack(packed []byte) (string, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", fmt.Errorf("unpack the text of a definition: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("it has over %d bytes", maxText)
	}
	if err != nil {
		return "", fmt.Errorf("unpack the text of a definition: %w", err)
	}
	return string(text), nil
}

// TextTo answers a peer that asks for the text of a definition: one that has a part in the process.
func (t *Tables) TextTo(peer processtable.NodeID, q TextQuestion) (TextReport, error) {
	if !t.concerns(peer, q.Process) {
		return TextReport{}, nil
	}
	id, err := processtable.ParseProcessID(q.Process)
	if err != nil {
		return TextReport{}, err
	}
	d, err := t.Queue.Definition(id)
	if err != nil || d == nil || d.Definition.String() != q.Definition {
		return TextReport{}, err
	}
	return TextReport{Packed: d.Text}, nil
}

// Text gives the text of the definition of a process that is here: what is kept here, or at the first of its other
// sites that has it; with at, at that one alone. See api.Library.
func (t *Tables) Text(ctx context.Context, table *processtable.Table, at string) (a api.DefinitionAnswer, err error) {
	id := table.Process
	a.Process, a.Definition = id.String(), table.Definition.String()
	if at == "" || at == string(t.Self) {
		d, err := t.Queue.Definition(id)
		if err != nil {
			return a, err
		}
		if d != nil && d.Definition == table.Definition {
			a.Node = string(t.Self)
			a.Text, err = unpack(d.Text)
			return a, err
		}
	}
	var silent []string
	for _, r := range question.All[TextReport](ctx, t.Scheduler, t.Site, t.others(table, at), AskDefinition, TextQuestion{Process: a.Process, Definition: a.Definition}) {
		switch {
		case r.Err != nil:
			silent = append(silent, string(r.Node))
		case len(r.Answer.Packed) > 0:
			a.Node = string(r.Node)
			if a.Text, err = unpack(r.Answer.Packed); err != nil {
				return a, api.Errorf(api.CodeFailed, "ask another site (--at)", "%s at %s: %v", id, r.Node, err)
			}
			return a, nil
		}
	}
	if len(silent) > 0 {
		return a, api.Errorf(api.CodeUnreachable, "try again when they answer, or upload the file again: the text is kept where an upload is taken",
			"no text of %s is kept here, and these sites did not answer: %s", id, strings.Join(silent, ", "))
	}
	return a, api.Errorf(api.CodeNotFound, "upload its file again: that changes nothing, and the text is kept at the site that takes it",
		"no site of %s that was asked keeps the text of its definition", id)
}

// others are the other sites of a process that are asked for its text.
func (t *Tables) others(table *processtable.Table, at string) (ask []processtable.NodeID) {
	for _, node := range table.Nodes() {
		if node != t.Self && (at == "" || at == string(node)) {
			ask = append(ask, node)
		}
	}
	return ask
}
