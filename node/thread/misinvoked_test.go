package thread

import (
	"bytes"
	"fmt"

	"fmqm/behaviour"
	"fmqm/container"
)

// misinvoked says what is wrong with the call of an entry that was just invoked: it is what the behaviour, asked
// again, says of that entry as it is. Empty: nothing.
func misinvoked(m *Machine, i Invoke) string {
	e := m.table.Get(i.Entry)
	if e == nil {
		return "a call, and is not in memory"
	}
	var want *behaviour.Invoke
	if e.Result != nil {
		want = e.Behaviour.Conclude(e.State, *e.Result, m.now).Invoke
	} else {
		want = e.Behaviour.Decide(e.State, m.now).Invoke
	}
	if want == nil {
		return "a call, and nothing is to be invoked of it"
	}
	if got := callShown(i.Call); got != callShown(want) {
		return fmt.Sprintf("%s, and is to be with %s", got, callShown(want))
	}
	if !sameInput(i.Call.Input, want.Input) {
		return fmt.Sprintf("input %v, and is to be with %v", i.Call.Input, want.Input)
	}
	return ""
}

// callShown is a call without its input.
func callShown(call *behaviour.Invoke) string {
	output := "none"
	if call.Output != nil {
		output = fmt.Sprintf("%x", container.Fingerprint(call.Output))
	}
	return fmt.Sprintf("%q %d.%d.%d of %s, _RC %d, %+v, event %+v, to %v, child %+v, until %v, output %s %t %t %t",
		call.Program, call.Iteration, call.Run, call.Attempt, call.Instance, call.RC, call.Ending, call.Event, call.To, call.Child, call.Deadline, output,
		call.NoOutput, call.RCIsData, call.RCContinue)
}

func sameInput(a, b *container.Struct) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, errX := container.EncodeCBOR(a)
	y, errY := container.EncodeCBOR(b)
	return bytes.Equal(x, y) && (errX == nil) == (errY == nil)
}
