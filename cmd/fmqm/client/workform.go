package client

import (
	"bufio"
	"bytes"
	"cmp"
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
	in   *bufio.Reader
	out  io.Writer
	stop <-chan struct{} // closed by an interrupt
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
	if err := mayFillIn(c, a, verb, &shown); err != nil {
		return err
	}
	s := common.From(c)
	f := form{bufio.NewReader(s.In), s.Err, c.Context.Done()}
	fmt.Fprintf(f.out, "%s\n", common.OneLine(shown.Title))
	for _, m := range membersOf(shown.Input) {
		fmt.Fprintf(f.out, "  %s\n", m)
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
			fmt.Fprintf(f.out, "you have filled in: %s\n", common.OneLine(string(output)))
			return err
		}
		for _, p := range refused.Problems {
			fmt.Fprintf(f.out, "  %s\n", common.OneLine(strings.TrimPrefix(p.Path+": "+p.Message+": "+p.Remedy, ": ")))
		}
		draft = output
	}
}

// mayFillIn says why what is filled in would be refused, before anybody has filled it in; nil: nothing speaks against it.
func mayFillIn(c *cli.Context, a asked, verb api.WorkVerb, i *api.WorkShown) error {
	if i.ClaimedBy == "" {
		if verb == api.WorkSave {
			return api.Errorf(api.CodeRefused, "claim it first: fmqm work claim "+i.Item, "nobody has claimed item %s", i.Item)
		}
		return nil
	}
	me, err := a.client.WhoAmI(c.Context)
	if err != nil {
		return err
	}
	if person := cmp.Or(c.String("as"), me.Person); person != i.ClaimedBy && person+"@"+me.Node != i.ClaimedBy {
		return api.Errorf(api.CodeRefused, "see fmqm work list", "%s has claimed item %s", i.ClaimedBy, i.Item)
	}
	return nil
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
		line, err := f.line()
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

// line is what somebody types. An interrupt ends it: the terminal goes on reading until Enter.
func (f *form) line() (string, error) {
	type typed struct {
		text string
		err  error
	}
	read := make(chan typed, 1)
	go func() {
		text, err := f.in.ReadString('\n')
		read <- typed{text, err}
	}()
	select {
	case t := <-read:
		return t.text, t.err
	case <-f.stop:
		fmt.Fprintf(f.out, "\n%v", errGivenUp) // the command only says that it was interrupted
		return "", errGivenUp
	}
}

// membersOf are those of an object in JSON, each as people read it.
func membersOf(object json.RawMessage) (lines []string) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return lines
		}
		lines = append(lines, common.OneLine(fmt.Sprintf("%v: %s", name, shownValue(compact(value)))))
	}
	return lines
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
	case container.Int, container.Double:
	case container.Structure, container.List:
		return json.RawMessage(line)
	}
	if quoted, _ := json.Marshal(line); !json.Valid([]byte(line)) { // what is no JSON is refused as a text is, and said in the words of the type
		return quoted
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
