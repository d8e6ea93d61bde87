package condition

import (
	"errors"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"fmqm/container"
)

// fits says whether what was found can be had where a type is wanted: it is that type, but
// that a list of which no type is known, because it is empty, is any list.
func fits(found, want *container.Type) bool {
	if found != nil && found.Kind == container.List && want.Kind == container.List {
		return found.Elem == nil || fits(found.Elem, want.Elem)
	}
	return container.SameType(found, want)
}

// builder makes values of a container of what CEL has worked out, and counts what that
// takes.
type builder struct {
	left uint64 // steps that it may still take
}

var errCost = errors.New("cost limit")

func (b *builder) take(steps uint64) error {
	if steps > b.left {
		return errCost
	}
	b.left -= steps
	return nil
}

// build gives a value of the wanted type.
func (b *builder) build(want *container.Type, result ref.Val) (container.Value, error) {
	v, err := b.value(result)
	if err != nil {
		return nil, err
	}
	// The size first: one list may be in there many times, and all else goes through each.
	if err := container.CheckSize(v); err != nil {
		return nil, err
	}
	if err := container.CheckValue(want, v); err != nil {
		return nil, err
	}
	return v, b.take(weightOf(v))
}

func (b *builder) value(v ref.Val) (container.Value, error) {
	switch v := v.(type) {
	case structValue:
		return v.Struct, nil
	case traits.Lister:
		return b.list(v)
	case types.Timestamp:
		return v.UTC(), nil
	}
	return v.Value(), nil
}

func (b *builder) list(l traits.Lister) (container.Value, error) {
	n := length(l)
	if err := b.take(uint64(n)); err != nil {
		return nil, err
	}
	if elements, ok := l.Value().([]container.Value); ok {
		return elements, nil
	}
	elements := make([]container.Value, n)
	for i := range elements {
		var err error
		if elements[i], err = b.value(l.Get(types.Int(i))); err != nil {
			return nil, err
		}
	}
	return elements, nil
}
