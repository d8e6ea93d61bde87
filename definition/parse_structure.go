package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/container"
)

// structureReader resolves structures in any order of declaration.
type structureReader struct {
	*processDraft
	declared map[string]entry
	known    []string // the names of all types
	open     []string // those that are being built, from the outside in
	what     string   // that is read: a default, or the input of a schedule
}

// structures reads the declared types. A structure with errors is known by name, as
// nil, so that its uses are not reported as well.
func (p *processDraft) structures(n *yaml.Node) {
	if n == nil || isNull(n) || !p.is(n, yaml.MappingNode, "structures by name", "write NAME: {member: type}") {
		return
	}
	r := structureReader{processDraft: p, declared: map[string]entry{}, what: "default"}
	entries := p.entries(n, codeDuplicateName, "structure")
	for _, e := range entries {
		if _, ok := p.name(e.key, structureName); ok {
			r.declared[e.key.Value] = e
			p.typeNames = append(p.typeNames, e.key.Value)
		}
	}
	r.known = slices.Concat(structureName.reserved, p.typeNames)
	for _, name := range p.typeNames {
		if t := r.structure(name); t != nil {
			p.result.Structures = append(p.result.Structures, t)
		}
	}
}

// structure builds the structure with that name, which is declared.
func (r *structureReader) structure(name string) *container.Type {
	if t, ok := r.types[name]; ok {
		return t
	}
	e := r.declared[name]
	r.types[name] = nil
	if !r.is(e.value, yaml.MappingNode, "the members of a structure", "write {member: type}") {
		return nil
	}
	if len(e.value.Content) == 0 {
		r.fail(r.pos(e.key), codeEmptyStructure, fmt.Sprintf("structure %s has no members", name),
			"give it a member, or remove it: an activity without data names no container")
		return nil
	}
	r.open = append(r.open, name)
	defer func() { r.open = r.open[:len(r.open)-1] }()

	var members []container.Member
	good := true
	for _, m := range r.entries(e.value, codeDuplicateName, "member") {
		_, named := r.name(m.key, memberName)
		if m.key.Value == wholeContainer {
			r.warn(r.pos(m.key), codeHidesWord, fmt.Sprintf("the member %s hides the word of that name: in mappings from a %s it means this member, not the whole container", wholeContainer, name),
				"rename the member if you want to map the whole container")
		}
		t, preset := r.member(m.value)
		good = good && named && t != nil
		members = append(members, container.Member{Name: m.key.Value, Type: t, Default: preset})
	}
	if !good {
		return nil
	}
	t := container.NewStructure(name, members)
	if !r.withinLimits(e.key, t) {
		return nil
	}
	r.types[name] = t
	return t
}

func (r *structureReader) withinLimits(at *yaml.Node, t *container.Type) bool {
	if n := container.Depth(t); n > container.MaxNesting {
		r.fail(r.pos(at), codeLimit, fmt.Sprintf("structure %s is nested %d deep", t.Name, n),
			fmt.Sprintf("use at most %d structures and lists inside one another", container.MaxNesting))
		return false
	}
	if container.ZeroSize(t) > container.MaxEncoded {
		r.fail(r.pos(at), codeLimit, fmt.Sprintf("a container of type %s takes over 1 MiB with its defaults alone", t.Name),
			fmt.Sprintf("use fewer members or shorter defaults: %d bytes is the limit", container.MaxEncoded))
		return false
	}
	return true
}

// member reads `type` or `{type: type, default: value}`.
func (r *structureReader) member(n *yaml.Node) (*container.Type, container.Value) {
	if n.Kind != yaml.MappingNode {
		return r.typeOf(n, 0), nil
	}
	if r.isInline(n) {
		r.fail(r.pos(n), codeForm, "expected a type, found the members of a structure", "declare them under `structures`, as `NAME: {member: type}`, and write NAME here")
		return nil, nil
	}
	f := r.fields(n, "a member", memberKeys)
	if !r.required(n, f, "type", "a member", "write {type: string, default: none}") {
		return nil, nil
	}
	t := r.typeOf(f["type"], 0)
	if t == nil || f["default"] == nil {
		return t, nil
	}
	preset, ok := r.preset(f["default"], t)
	if !ok {
		return nil, nil
	}
	return t, preset
}

// isInline says whether the members of a structure are written where its name belongs.
func (r *structureReader) isInline(n *yaml.Node) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := strings.ToLower(n.Content[i].Value)
		_, known := foreignKeys["a member"][key]
		if _, near := r.nearest(key, memberKeys); near || known || slices.Contains(memberKeys, key) {
			return false
		}
	}
	return len(n.Content) > 0
}

// typeOf reads a type: the name of a scalar type or structure, or [T].
func (r *structureReader) typeOf(n *yaml.Node, depth int) *container.Type {
	if n.Kind == yaml.SequenceNode {
		return r.listOf(n, depth)
	}
	name, ok := r.scalar(n, "a type")
	if !ok {
		return nil
	}
	if k, ok := container.ParseKind(name); ok {
		return container.Scalar(k)
	}
	if _, ok := r.declared[name]; !ok {
		remedy, ok := r.foreignType(name)
		if !ok {
			remedy = r.oneOf(name, r.known)
		}
		r.fail(r.pos(n), codeUnknownName, fmt.Sprintf("unknown type %s", name), remedy)
		return nil
	}
	for i, outer := range r.open {
		if outer == name {
			r.fail(r.pos(n), codeStructureCycle,
				"a structure contains itself: "+strings.Join(append(append([]string{}, r.open[i:]...), name), " -> "),
				"take this member out, or use an identifier instead")
			return nil
		}
	}
	return r.structure(name)
}

func (r *structureReader) listOf(n *yaml.Node, depth int) *container.Type {
	if len(n.Content) != 1 {
		r.fail(r.pos(n), codeForm, fmt.Sprintf("the list type has %d element types", len(n.Content)), "write [string], with one type")
		return nil
	}
	if depth >= container.MaxNesting {
		r.fail(r.pos(n), codeLimit, "lists are nested too deep",
			fmt.Sprintf("use at most %d structures and lists inside one another", container.MaxNesting))
		return nil
	}
	elem := r.typeOf(n.Content[0], depth+1)
	if elem == nil {
		return nil
	}
	return container.NewList(elem)
}

// preset reads the default of a member.
func (r *structureReader) preset(n *yaml.Node, t *container.Type) (container.Value, bool) {
	if container.ZeroSize(t) > container.MaxEncoded {
		return nil, false // reported where the structure is declared
	}
	if isNull(n) {
		r.fail(r.pos(n), codeDefault, fmt.Sprintf("the %s has no value", r.what), fmt.Sprintf("write a value, or leave `%s` out", r.what))
		return nil, false
	}
	text, ok := r.json(n, t)
	if !ok {
		return nil, false
	}
	v, err := container.DecodeJSONValue(t, text)
	if err != nil {
		r.failPreset(n, t, err)
		return nil, false
	}
	return v, true
}

func (r *structureReader) failPreset(n *yaml.Node, t *container.Type, err error) {
	message, remedy := err.Error(), fmt.Sprintf("write a value of type %s", t)
	var e *container.Error
	if errors.As(err, &e) {
		message = e.What
		if e.Path != "" {
			message = e.Path + ": " + message
		}
		if e.Remedy != "" {
			remedy = e.Remedy
		}
	}
	r.fail(r.pos(n), codeDefault, fmt.Sprintf("the %s does not fit: %s", r.what, message), remedy)
}

// json writes a YAML value as the JSON that a container of type t would hold.
func (r *structureReader) json(n *yaml.Node, t *container.Type) ([]byte, bool) {
	switch n.Kind {
	case yaml.SequenceNode:
		return r.jsonList(n, t)
	case yaml.MappingNode:
		return r.jsonObject(n, t)
	case yaml.ScalarNode:
		return r.jsonScalar(n, t)
	default:
		return nil, false // reported
	}
}

func (r *structureReader) jsonList(n *yaml.Node, t *container.Type) ([]byte, bool) {
	if t.Kind != container.List {
		r.fail(r.pos(n), codeDefault, fmt.Sprintf("a list is not %s", article(t)), fmt.Sprintf("write a value of type %s", t))
		return nil, false
	}
	parts := make([]string, 0, len(n.Content))
	for _, c := range n.Content {
		part, ok := r.json(c, t.Elem)
		if !ok {
			return nil, false
		}
		parts = append(parts, string(part))
	}
	return []byte("[" + strings.Join(parts, ",") + "]"), true
}

func (r *structureReader) jsonObject(n *yaml.Node, t *container.Type) ([]byte, bool) {
	if t.Kind != container.Structure {
		r.fail(r.pos(n), codeDefault, fmt.Sprintf("a mapping is not %s", article(t)), fmt.Sprintf("write a value of type %s", t))
		return nil, false
	}
	var parts []string
	for _, e := range r.entries(n, codeDuplicateKey, "member") {
		i, ok := t.MemberIndex(e.key.Value)
		if !ok {
			r.fail(r.pos(e.key), codeUnknownName, fmt.Sprintf("%s has no member %s", t, e.key.Value), r.oneOfMembers(e.key.Value, t))
			return nil, false
		}
		part, ok := r.json(e.value, t.Members[i].Type)
		if !ok {
			return nil, false
		}
		parts = append(parts, strconv.Quote(e.key.Value)+":"+string(part))
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), true
}

// suchAs has examples of defaults.
var suchAs = map[container.Kind]string{
	container.Bool: ": true or false", container.Int: ", such as 5", container.Double: ", such as 2.5",
	container.Timestamp: ", such as 2024-05-01T12:00:00Z", container.Duration: ", such as 1h30m or 5s", container.Bytes: ", in base64, such as aGVsbG8=",
}

// jsonScalar quotes what JSON quotes. A plain YAML number is no string: whether 010 or
// 1e3 was meant as text cannot be known.
func (r *structureReader) jsonScalar(n *yaml.Node, t *container.Type) ([]byte, bool) {
	number := n.Tag == "!!int" || n.Tag == "!!float"
	switch t.Kind {
	case container.Bool, container.Int, container.Double:
		if n.Tag == "!!bool" {
			return []byte(strings.ToLower(n.Value)), true
		}
		if number && json.Valid([]byte(n.Value)) {
			return []byte(n.Value), true
		}
	case container.Structure, container.List:
	default:
		if n.Tag == "!!str" || n.Tag == "!!timestamp" {
			text, err := json.Marshal(n.Value)
			return text, err == nil
		}
	}
	remedy := fmt.Sprintf("write a value of type %s%s", t, suchAs[t.Kind])
	if t.Kind == container.String {
		remedy = "quote it: " + quoteYAML(n.Value)
	}
	shown := n.Value
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		shown = quoteYAML(n.Value)
		remedy = fmt.Sprintf("write a value of type %s, without quotes", t)
	}
	r.fail(r.pos(n), codeDefault, fmt.Sprintf("the %s %s is not %s", r.what, shown, article(t)), remedy)
	return nil, false
}
