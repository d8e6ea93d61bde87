package world

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/internal/childtest"
	"fmqm/interpret"
	"fmqm/queue/record"
	"fmqm/sim/generate"
	"fmqm/sim/oracle"
)

// A family are processes of which some begin instances of others (N19): an activity with a program called
// process-NAME begins one of NAME, which stands before it in the plan.

const beginsA = "process-"

// familyOf gives the tables of a process, and what the interpreter says of it where an instance that an
// activity begins is run in one place as well.
func (p *prepared) familyOf(before []*prepared) (interpret.Programs, error) {
	own := generate.Interpreted(p.drawn)
	if !p.begins() {
		return own, nil
	}
	for i := range p.upload.Tables {
		_, encoded, err := childtest.Table(p.upload.Tables[i].Table)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(encoded)
		p.upload.Tables[i].Table, p.upload.Tables[i].SHA256 = encoded, hex.EncodeToString(sum[:])
	}
	return interpret.ProgramFunc(func(a *definition.Activity, call interpret.Call) interpret.Outcome {
		name, begins := strings.CutPrefix(a.Program, beginsA)
		if !begins {
			return own.Run(a, call)
		}
		for _, child := range before {
			if child.process.Name == name {
				return child.instead(a, call, before)
			}
		}
		return interpret.Outcome{Err: fmt.Sprintf("there is no process %s before it", name)}
	}), nil
}

// begins says whether an activity of the process begins instances of others.
func (p *prepared) begins() bool {
	for _, a := range p.process.All() {
		if strings.HasPrefix(a.Program, beginsA) {
			return true
		}
	}
	return false
}

// instead runs an instance of the process in the place of an activity. An instance that ends in error is
// none that the activity could end with.
func (p *prepared) instead(a *definition.Activity, call interpret.Call, before []*prepared) interpret.Outcome {
	fail := func(err error) interpret.Outcome { return interpret.Outcome{Err: err.Error()} }
	input, err := as(p.process.Input, call.Input)
	if err != nil {
		return fail(err)
	}
	programs, err := p.familyOf(before)
	if err != nil {
		return fail(err)
	}
	r, err := interpret.Run(p.process, input, programs, interpret.Options{})
	if err != nil {
		return fail(err)
	}
	if r.State != interpret.Finished {
		return fail(fmt.Errorf("an instance of %s is %s", p.id, r.State))
	}
	output, err := as(a.Output, r.Output)
	if err != nil {
		return fail(err)
	}
	return interpret.Outcome{Output: output}
}

// as is a container of a type of the same shape.
func as(t *container.Type, c *container.Struct) (*container.Struct, error) {
	encoded, err := container.EncodeCBOR(c)
	if err != nil {
		return nil, err
	}
	v, err := container.DecodeCBOR(t, encoded)
	if err != nil {
		return nil, err
	}
	return v.(*container.Struct), nil
}

// withoutChildren takes out of what the interpreter has made the attempts that no program makes.
func (p *prepared) withoutChildren() {
	begins := map[string]bool{}
	for _, a := range p.process.All() {
		begins[a.Name] = strings.HasPrefix(a.Program, beginsA)
	}
	p.expect.Attempts = slices.DeleteFunc(p.expect.Attempts, func(a oracle.Attempt) bool { return begins[a.Activity] })
}

// family notes what activities begin, and end before its time: that is as if an operator had done it.
func (x *watch) family(r *record.AuditRecord) {
	if r.Child == nil {
		return
	}
	switch id := r.Child.Instance; {
	case r.Event == record.EventBegun:
		x.starts[id], x.children[id] = true, true
		x.world.touched[id] += x.world.touched[r.Instance]
		x.world.weaker[id] = x.world.weaker[r.Instance]
	case r.Event == record.EventCancelled, r.Event == record.EventStopped, r.TimedOut:
		x.world.touched[id]++
	}
}
