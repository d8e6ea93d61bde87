package condition

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"fmqm/container"
)

// adapter gives the values of containers to CEL. Nothing is copied: lists and
// structures are read in place.
type adapter struct{}

func (a adapter) NativeToValue(v any) ref.Val {
	switch v := v.(type) {
	case ref.Val:
		return v
	case bool:
		return types.Bool(v)
	case int64:
		return types.Int(v)
	case float64:
		return types.Double(v)
	case string:
		return types.String(v)
	case []byte:
		return types.Bytes(v)
	case time.Time:
		return types.Timestamp{Time: v}
	case time.Duration:
		return types.Duration{Duration: v}
	case []container.Value:
		return types.NewList(a, v)
	case *container.Struct:
		return structValue{v}
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

// structValue is a structure as CEL sees it.
type structValue struct{ *container.Struct }

// Value gives the provider's getters what they read from.
func (s structValue) Value() any { return s.Struct }

func (s structValue) Type() ref.Type {
	return types.NewObjectType(s.Struct.Type.Name)
}

func (s structValue) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a structure cannot become a Go %v", t)
}

func (s structValue) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("%s cannot become %s", s.Struct.Type, t.TypeName())
}

// Equal compares member by member, as CEL compares them.
func (s structValue) Equal(other ref.Val) ref.Val {
	o, ok := other.(structValue)
	if !ok || len(o.Fields) != len(s.Fields) {
		return types.False
	}
	for i, f := range s.Fields {
		if types.Equal(adapter{}.NativeToValue(f), adapter{}.NativeToValue(o.Fields[i])) != types.True {
			return types.False
		}
	}
	return types.True
}

// activation gives CEL the members of one structure, _RC and the words, by name.
type activation struct {
	members *container.Struct
	rc      int64
	values  Values // if it reads words
}

var activations = sync.Pool{New: func() any { return new(activation) }}

func (a *activation) ResolveName(name string) (any, bool) {
	if i, ok := a.members.Type.MemberIndex(name); ok {
		return a.members.Fields[i], true
	}
	if name == RC {
		return a.rc, true
	}
	if word, ok := WordNamed(name); ok {
		return a.values.Of(word), true
	}
	return nil, false
}

func (*activation) Parent() interpreter.Activation { return nil }
