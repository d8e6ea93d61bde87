package processtable

import (
	"errors"
	"fmt"
	"math"

	"fmqm/container"
	"fmqm/internal/cbor"
)

// Keys of a structure and of a member.
const (
	keyStructureName = 1
	keyMembers       = 2

	keyMemberName = 1
	keyMemberType = 2
	keyDefault    = 3 // bytes: the value in container's encoding
)

// typeWriter writes every structure once, those that it contains before it.
type typeWriter struct {
	byType map[*container.Type]int
	byBody map[string]int // by encoded form: equal structures, wherever they were made
	bodies [][]byte
}

// structure gives the index of t.
func (tw *typeWriter) structure(t *container.Type) (int, error) {
	if n, ok := tw.byType[t]; ok {
		return n, nil
	}
	m := cbor.BeginMap(nil)
	m.Text(keyStructureName, t.Name)
	m.Array(keyMembers, len(t.Members))
	for i := range t.Members {
		var err error
		if m.B, err = tw.member(m.B, &t.Members[i]); err != nil {
			return 0, fmt.Errorf("structure %s: member %s: %w", t, t.Members[i].Name, err)
		}
	}
	n, ok := tw.byBody[string(m.B)]
	if !ok {
		n = len(tw.bodies)
		tw.bodies = append(tw.bodies, m.B)
		tw.byBody[string(m.B)] = n
	}
	tw.byType[t] = n
	return n, nil
}

func (tw *typeWriter) member(b []byte, of *container.Member) ([]byte, error) {
	m := cbor.BeginMap(b)
	m.Text(keyMemberName, of.Name)
	m.Key(keyMemberType)
	var err error
	if m.B, err = tw.reference(m.B, of.Type); err != nil {
		return m.B, err
	}
	if of.Default == nil {
		return m.B, nil
	}
	if err := container.CheckValue(of.Type, of.Default); err != nil {
		return m.B, fmt.Errorf("default: %w", err)
	}
	if container.Equal(of.Default, container.Zero(of.Type)) {
		return m.B, nil
	}
	encoded, err := container.EncodeCBOR(of.Default)
	if err != nil {
		return m.B, fmt.Errorf("default: %w", err)
	}
	m.Bytes(keyDefault, encoded)
	return m.B, nil
}

// reference writes a type as others refer to it.
func (tw *typeWriter) reference(b []byte, t *container.Type) ([]byte, error) {
	switch {
	case t == nil:
		return b, errors.New("the type is missing")
	case container.Depth(t) > container.MaxNesting:
		return b, fmt.Errorf("%s is nested deeper than %d", t, container.MaxNesting)
	case t.Kind == container.Structure:
		n, err := tw.structure(t)
		return appendNumbers(b, int64(container.Structure), int64(n)), err
	case t.Kind == container.List:
		return tw.reference(cbor.AppendUint(cbor.AppendArray(b, 2), uint64(container.List)), t.Elem)
	default:
		return cbor.AppendUint(b, uint64(t.Kind)), nil
	}
}

var (
	structureFields = []string{keyStructureName: "name", keyMembers: "members"}
	memberFields    = []string{keyMemberName: "name", keyMemberType: "type", keyDefault: "default"}
)

// structure reads one, which refers to those before it.
func (d *decoder) structure() *container.Type {
	var name string
	var members []container.Member
	names := map[string]bool{}
	for key := range d.Named(structureFields) {
		if key == keyStructureName {
			name = d.Text(MaxName)
			continue
		}
		members = items(d, MaxEncoded, func() container.Member {
			m := d.member()
			if names[m.Name] {
				d.Fail("the name %q occurs twice", m.Name)
			}
			names[m.Name] = true
			return m
		})
	}
	if name != "" && !ValidActivity(name) {
		d.Fail("%q is not a name", name)
	}
	if d.Err() != nil {
		return nil
	}
	t := container.NewStructure(name, members)
	switch {
	case container.Depth(t) > container.MaxNesting:
		d.Fail("%s is nested deeper than %d", t, container.MaxNesting)
	case container.ZeroSize(t) > container.MaxEncoded:
		d.Fail("%s takes more than %d bytes even when it is empty", t, container.MaxEncoded)
	}
	return t
}

func (d *decoder) member() (m container.Member) {
	for key := range d.Named(memberFields) {
		switch key {
		case keyMemberName:
			m.Name = d.Text(MaxName)
		case keyMemberType:
			m.Type = d.typeRef(0)
		case keyDefault:
			m.Default = d.defaultOf(m.Type)
		}
	}
	switch {
	case !ValidActivity(m.Name):
		d.Fail("%q is not a name", m.Name)
	case m.Type == nil:
		d.Fail("%s: the type is missing", m.Name)
	}
	return m
}

func (d *decoder) defaultOf(t *container.Type) container.Value {
	if t == nil {
		d.Fail("it has no type")
	}
	encoded := d.Bytes(container.MaxEncoded)
	if d.Err() != nil {
		return nil
	}
	v, err := container.DecodeCBOR(t, encoded)
	if err != nil {
		d.Fail("%w", err)
	}
	return v
}

// typeRef reads a type as typeWriter.reference wrote it. Lists in lists recurse, no deeper
// than MaxNesting.
func (d *decoder) typeRef(depth int) *container.Type {
	if depth > container.MaxNesting {
		d.Fail("nested deeper than %d", container.MaxNesting)
		return nil
	}
	if !d.IsArray() {
		kind := container.Kind(d.Uint(math.MaxUint8))
		if d.Err() != nil || kind < container.Bool || kind > container.Duration {
			d.Fail("there is no simple type %d", kind)
			return nil
		}
		return container.Scalar(kind)
	}
	d.Tuple(2)
	switch kind := container.Kind(d.Uint(math.MaxUint8)); kind {
	case container.Structure:
		return d.structureAt()
	case container.List:
		return d.listOf(d.typeRef(depth + 1))
	default:
		d.Fail("kind %d has no parts", kind)
		return nil
	}
}

func (d *decoder) listOf(elem *container.Type) *container.Type {
	if elem == nil {
		return nil
	}
	if t := d.lists[elem]; t != nil {
		return t
	}
	t := container.NewList(elem)
	if container.Depth(t) > container.MaxNesting {
		d.Fail("%s is nested deeper than %d", t, container.MaxNesting)
	}
	d.lists[elem] = t
	return t
}

func (d *decoder) structureAt() *container.Type {
	n := d.number(MaxEncoded)
	if n >= len(d.structures) {
		d.Fail("there is no structure %d before this place", n)
		return nil
	}
	return d.structures[n]
}
