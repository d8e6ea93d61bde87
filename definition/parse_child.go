package definition

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/processtable"
)

// child reads of which process an activity begins instances: NAME, or NAME@VERSION.
func (d *draft) child(s *step, n *yaml.Node) {
	s.Child = &Child{Pos: d.pos(n)}
	if n.Kind == yaml.MappingNode {
		d.is(n, yaml.ScalarNode, "the name of a process", "write `process: NAME`, or `process: NAME@VERSION`")
		return
	}
	text, ok := d.scalar(n, "the name of a process")
	if !ok {
		return
	}
	name, version, _ := strings.Cut(text, "@")
	if !d.checkName(name, s.Child.Pos, processName) {
		return
	}
	id, err := processtable.ParseProcessID(text)
	if err != nil {
		what := "a version is a whole number"
		if _, err := strconv.Atoi(version); err == nil {
			what = fmt.Sprintf("a version is a whole number from 1 to %d", processtable.MaxVersion)
		}
		d.fail(s.Child.Pos, codeValue, what, fmt.Sprintf("write %s for the newest when it begins", name))
	}
	s.Child.Name, s.Child.Version = id.Name, id.Version // none where it is wrong: nothing more is said
}

// autonomy reads whether a subprocess goes on without what has begun it.
func (d *draft) autonomy(s *step, n *yaml.Node) {
	if n != nil {
		s.Independent = d.either(n, "autonomy", "with_parent", "independent") == "independent"
	}
}

// inTable is the child as tables have it.
func (c *Child) inTable() *processtable.Child {
	if c == nil {
		return nil
	}
	return &processtable.Child{Name: c.Name, Version: c.Version}
}
