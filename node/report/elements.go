package report

import (
	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/processtable"
)

// elementsOf are the counts of a bundle under way.
func elementsOf(e *behaviour.Elements) *api.Elements {
	if e == nil {
		return nil
	}
	return &api.Elements{Count: e.Count, Done: e.Done, Failed: e.Failed, Cancelled: e.Cancelled, InError: e.InError}
}

// elementsIn are the counts of a bundle that has ended, by its output, as far as that has them.
func elementsIn(a *processtable.Activity, encoded []byte) *api.Elements {
	v, err := container.DecodeCBOR(a.Output, encoded)
	output, ok := v.(*container.Struct)
	if err != nil || !ok {
		return nil
	}
	of := func(member string) (n int, has bool) {
		i, has := a.Output.MemberIndex(member)
		if has {
			number, _ := output.Fields[i].(int64)
			n = int(number)
		}
		return n, has
	}
	count, counted := of(processtable.MemberCount)
	done, ended := of(processtable.MemberDone)
	failed, judged := of(processtable.MemberFailed)
	if !counted || !ended || !judged {
		return nil
	}
	return &api.Elements{Count: count, Done: done, Failed: failed, Cancelled: count - done}
}
