package processtable

import (
	"errors"
	"fmt"

	"fmqm/container"
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
	w := &writer{}
	o := w.object()
	o.text(keyStructureName, t.Name)
	var failed error
	o.list(keyMembers, len(t.Members), func(i int) {
		if err := tw.member(w, &t.Members[i]); err != nil && failed == nil {
			failed = fmt.Errorf("structure %s: member %s: %w", t, t.Members[i].Name, err)
		}
	})
	if failed != nil {
		return 0, failed
	}
	n, ok := tw.byBody[string(w.b)]
	if !ok {
		n = len(tw.bodies)
		tw.bodies = append(tw.bodies, w.b)
		tw.byBody[string(w.b)] = n
	}
	tw.byType[t] = n
	return n, nil
}

func (tw *typeWriter) member(w *writer, m *container.Member) error {
	o := w.object()
	o.text(keyMemberName, m.Name)
	if err := tw.reference(o.key(keyMemberType), m.Type); err != nil {
		return err
	}
	if m.Default == nil {
		return nil
	}
	if err := container.CheckValue(m.Type, m.Default); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	if container.Equal(m.Default, container.Zero(m.Type)) {
		return nil
	}
	b, err := container.EncodeCBOR(m.Default)
	if err != nil {
		return fmt.Errorf("default: %w", err)
	}
	o.key(keyDefault).bytes(b)
	return nil
}

// reference writes a type as others refer to it.
func (tw *typeWriter) reference(w *writer, t *container.Type) error {
	switch {
	case t == nil:
		return errors.New("the type is missing")
	case container.Depth(t) > container.MaxNesting:
		return fmt.Errorf("%s is nested deeper than %d", t, container.MaxNesting)
	case t.Kind == container.Structure:
		n, err := tw.structure(t)
		w.array(2)
		w.int(int64(container.Structure))
		w.int(int64(n))
		return err
	case t.Kind == container.List:
		w.array(2)
		w.int(int64(container.List))
		return tw.reference(w, t.Elem)
	default:
		w.int(int64(t.Kind))
		return nil
	}
}

// typeReader gives one *Type for equal types.
type typeReader struct {
	*reader
	structures []*container.Type
	lists      map[*container.Type]*container.Type // by element
}

func (tr *typeReader) readStructure() (*container.Type, error) {
	var name string
	var members []container.Member
	names := map[string]bool{}
	err := tr.object(func(key int) error {
		switch key {
		case keyStructureName:
			return read(&name, "name", func() (string, error) { return tr.text(MaxName) })
		case keyMembers:
			return list(tr.reader, &members, "member", MaxEncoded, func() (container.Member, error) {
				m, err := tr.readMember()
				if err == nil && names[m.Name] {
					err = fmt.Errorf("the name %q occurs twice", m.Name)
				}
				names[m.Name] = true
				return m, err
			})
		}
		return unknown(key)
	})
	if err != nil {
		return nil, err
	}
	if name != "" && !ValidActivity(name) {
		return nil, fmt.Errorf("%q is not a name", name)
	}
	t := container.NewStructure(name, members)
	if container.Depth(t) > container.MaxNesting {
		return nil, fmt.Errorf("%s is nested deeper than %d", t, container.MaxNesting)
	}
	if container.ZeroSize(t) > container.MaxEncoded {
		return nil, fmt.Errorf("%s takes more than %d bytes even when it is empty", t, container.MaxEncoded)
	}
	tr.structures = append(tr.structures, t)
	return t, nil
}

func (tr *typeReader) readMember() (container.Member, error) {
	var m container.Member
	err := tr.object(func(key int) error {
		switch key {
		case keyMemberName:
			return read(&m.Name, "name", func() (string, error) { return tr.text(MaxName) })
		case keyMemberType:
			return read(&m.Type, "type", tr.readReference)
		case keyDefault:
			return read(&m.Default, "default", func() (container.Value, error) { return tr.readDefault(m.Type) })
		}
		return unknown(key)
	})
	switch {
	case err != nil:
		return m, err
	case !ValidActivity(m.Name):
		return m, fmt.Errorf("%q is not a name", m.Name)
	case m.Type == nil:
		return m, fmt.Errorf("%s: the type is missing", m.Name)
	}
	return m, nil
}

func (tr *typeReader) readDefault(t *container.Type) (container.Value, error) {
	if t == nil {
		return nil, errors.New("it has no type")
	}
	b, err := tr.take(majorBytes, container.MaxEncoded)
	if err != nil {
		return nil, err
	}
	return container.DecodeCBOR(t, b)
}

// readReference reads a type as writer.reference wrote it. Lists in lists recurse,
// no deeper than MaxNesting.
func (tr *typeReader) readReference() (*container.Type, error) { return tr.readNested(0) }

func (tr *typeReader) readNested(depth int) (*container.Type, error) {
	if depth > container.MaxNesting {
		return nil, fmt.Errorf("nested deeper than %d", container.MaxNesting)
	}
	major, n, err := tr.head()
	if err != nil {
		return nil, err
	}
	if major == majorUint {
		if n < uint64(container.Bool) || n > uint64(container.Duration) {
			return nil, fmt.Errorf("there is no simple type %d", n)
		}
		return container.Scalar(container.Kind(n)), nil
	}
	if major != majorArray || n != 2 {
		return nil, errors.New("want a type: a number, or a list of two")
	}
	kind, err := tr.uint(int(container.List))
	if err != nil {
		return nil, err
	}
	switch container.Kind(kind) {
	case container.Structure:
		return tr.readIndex()
	case container.List:
		elem, err := tr.readNested(depth + 1)
		if err != nil {
			return nil, err
		}
		return tr.listOf(elem)
	default:
		return nil, fmt.Errorf("kind %d has no parts", kind)
	}
}

func (tr *typeReader) listOf(elem *container.Type) (*container.Type, error) {
	if t := tr.lists[elem]; t != nil {
		return t, nil
	}
	t := container.NewList(elem)
	if container.Depth(t) > container.MaxNesting {
		return nil, fmt.Errorf("%s is nested deeper than %d", t, container.MaxNesting)
	}
	tr.lists[elem] = t
	return t, nil
}

func (tr *typeReader) readIndex() (*container.Type, error) {
	n, err := tr.uint(MaxEncoded)
	if err != nil {
		return nil, err
	}
	if n >= len(tr.structures) {
		return nil, fmt.Errorf("there is no structure %d before this place", n)
	}
	return tr.structures[n], nil
}
