package interpret

import (
	"fmt"

	"fmqm/container"
	"fmqm/definition"
)

// Builtin gives the built-in program of that name: noop, echo, sleep (which here does
// not) or fail.
func Builtin(name string) (program func(input *container.Struct, output *container.Type) Outcome, known bool) {
	switch name {
	case "noop":
		return Noop, true
	case "echo", "sleep":
		return Echo, true
	case "fail":
		return Fail, true
	}
	return nil, false
}

// Noop gives the defaults of the output type.
func Noop(_ *container.Struct, output *container.Type) Outcome {
	return Outcome{Output: container.New(output)}
}

// Echo gives the output members the values of the input members of the same name and
// type, and the others their defaults. It is what an empty activity does.
func Echo(input *container.Struct, output *container.Type) Outcome {
	out := container.New(output)
	for i, m := range output.Members {
		j, ok := input.Type.MemberIndex(m.Name)
		if ok && container.SameType(input.Type.Members[j].Type, m.Type) {
			out.Assign(container.Path{i}, input.Fields[j])
		}
	}
	return Outcome{Output: out}
}

// Fail is Echo with the return code that the input's member rc has.
func Fail(input *container.Struct, output *container.Type) Outcome {
	o := Echo(input, output)
	i, ok := input.Type.MemberIndex("rc")
	if !ok || input.Type.Members[i].Type.Kind != container.Int {
		return Outcome{Err: fmt.Sprintf("builtin fail: the input container %s has no member rc of type int: give the activity an input structure with `rc: int`", input.Type)}
	}
	o.RC, _ = input.Fields[i].(int64)
	return o
}

// EchoAll runs every program as Echo.
var EchoAll = ProgramFunc(func(a *definition.Activity, call Call) Outcome { return Echo(call.Input, a.Output) })
