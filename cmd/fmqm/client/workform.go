package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
	"fmqm/container"
)

// interactive says whether somebody can be asked: standard input and standard error are a terminal.
var interactive = func(c *cli.Context) bool {
	s := common.From(c)
	in, is := s.In.(*os.File)
	return is && common.IsTerminal(in) && common.IsTerminal(s.Err)
}

// form asks for the members of an output, one by one.
type form struct {
	in  *bufio.Reader
	out io.Writer
}

// errGivenUp: the input has ended before the form was.
var errGivenUp = errors.New("nothing has changed: the form was not filled in")

// fillIn shows what an item is about, asks for its output, and says so. What the node refuses is asked for again.
func fillIn(c *cli.Context, verb api.WorkVerb, told string) error {
	item, err := itemOf(c)
	if err != nil {
		return err
	}
	a := asked{}
	if err := a.connect(c); err != nil {
		return err
	}
	defer a.client.Close()
	shown, err := a.client.WorkItem(c.Context, item, c.String("as"))
	if err != nil {
		return err
	}
	if shown.Kind == api.ItemNotice { // there is nothing to fill in
		return say(c, verb, api.WorkWord{}, told)
	}
	s := common.From(c)
	f := form{bufio.NewReader(s.In), s.Err}
	fmt.Fprintf(f.out, "%s\n", common.OneLine(shown.Title))
	if len(shown.Input) > 0 {
		fmt.Fprintf(f.out, "input: %s\n", common.OneLine(string(compact(shown.Input))))
	}
	fmt.Fprintf(f.out, "Enter keeps what stands in brackets.\n")
	draft := shown.Draft
	for {
		output, err := f.structure("", shown.OutputType, draft)
		if err != nil {
			return common.Failedf("%v", err)
		}
		done, err := saying(c, a, shown.Item, verb, api.WorkWord{Output: output})
		if err == nil {
			common.Talk(c, "%s item %s, %s of %s", told, done.Item, api.Shown(done.Scope, done.Activity), done.Process)
			return a.printer.Object(done, func(io.Writer) error { return nil })
		}
		var refused *api.Error
		if !errors.As(err, &refused) || len(refused.Problems) == 0 {
			return err
		}
		for _, p := range refused.Problems {
			fmt.Fprintf(f.out, "  %s\n", common.OneLine(strings.TrimPrefix(p.Path+": "+p.Message+": "+p.Remedy, ": ")))
		}
		draft = output
	}
}

// structure asks for each member of a structure, of which values are what they are so far.
func (f *form) structure(path string, members []api.MemberType, values json.RawMessage) (json.RawMessage, error) {
	before := map[string]json.RawMessage{}
	if len(values) > 0 {
		if err := json.Unmarshal(values, &before); err != nil {
			return nil, fmt.Errorf("read what there is of %s: %w", path, err)
		}
	}
	var b bytes.Buffer
	for i, m := range members {
		name, sep := strings.TrimPrefix(path+"."+m.Name, "."), byte(',')
		if i == 0 {
			sep = '{'
		}
		var v json.RawMessage
		var err error
		if nested := len(m.Members) > 0 && !strings.HasPrefix(m.Type, "["); nested {
			v, err = f.structure(name, m.Members, before[m.Name])
		} else {
			v, err = f.member(name, m, before[m.Name])
		}
		if err != nil {
			return nil, err
		}
		b.WriteByte(sep)
		fmt.Fprintf(&b, "%q:", m.Name)
		b.Write(v)
	}
	if len(members) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// member asks for one value until it is of its type.
func (f *form) member(name string, m api.MemberType, before json.RawMessage) (json.RawMessage, error) {
	t := typeOf(m)
	for {
		fmt.Fprintf(f.out, "%s (%s) [%s]: ", name, m.Type, common.OneLine(shownValue(before)))
		line, err := f.in.ReadString('\n')
		if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
			fmt.Fprintln(f.out)
			return nil, errGivenUp
		}
		line = strings.TrimSpace(line)
		if line == "" && len(before) > 0 {
			return before, nil
		}
		value := asTyped(t, line)
		if _, err = container.DecodeJSONValue(t, value); err == nil {
			return value, nil
		}
		fmt.Fprintf(f.out, "  %s\n", common.OneLine(err.Error()))
	}
}

// shownValue is a value as people type it.
func shownValue(v json.RawMessage) string {
	var s string
	if err := json.Unmarshal(v, &s); err == nil {
		return s
	}
	return string(v)
}

// asTyped is JSON of what somebody has typed for a type.
func asTyped(t *container.Type, line string) json.RawMessage {
	switch t.Kind {
	case container.Bool:
		switch word := strings.ToLower(line); {
		case slices.Contains([]string{"y", "yes", "true", "1"}, word):
			return json.RawMessage("true")
		case slices.Contains([]string{"n", "no", "false", "0"}, word):
			return json.RawMessage("false")
		}
	case container.String, container.Bytes, container.Timestamp, container.Duration:
		if line == `""` {
			line = ""
		}
		quoted, _ := json.Marshal(line) // of a string it does not fail
		return quoted
	case container.Int, container.Double, container.Structure, container.List:
	}
	return json.RawMessage(line)
}

// scalars are the types that are no structures and no lists, by name.
var scalars = func() map[string]container.Kind {
	all := map[string]container.Kind{}
	for _, k := range []container.Kind{container.Bool, container.Int, container.Double, container.String, container.Bytes, container.Timestamp, container.Duration} {
		all[container.Scalar(k).String()] = k
	}
	return all
}()

// typeOf is the type that a node has described.
func typeOf(m api.MemberType) *container.Type {
	if inner, list := strings.CutPrefix(m.Type, "["); list {
		m.Type = strings.TrimSuffix(inner, "]")
		return container.NewList(typeOf(m))
	}
	if k, scalar := scalars[m.Type]; scalar {
		return container.Scalar(k)
	}
	members := make([]container.Member, len(m.Members))
	for i, inner := range m.Members {
		members[i] = container.Member{Name: inner.Name, Type: typeOf(inner)}
	}
	return container.NewStructure(m.Type, members)
}
