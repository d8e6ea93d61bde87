package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"

	"fmqm/api"
	"fmqm/cmd/internal/cli"
	"fmqm/internal/text"
)

// demoInvoice is the process of the third part: work for people of two sites.
const demoInvoice = "invoice"

//go:embed demo-invoice.yaml
var demoInvoiceText []byte

// demoStaff are the staff files of the sites where people work. Bob has entered the invoice.
var demoStaff = map[string]string{
	"B": "roles: [approver]\npeople:\n  bob: {roles: [approver]}\n  ann: {roles: [approver]}\n",
	"C": "roles: [approver]\npeople:\n  carla: {roles: [approver]}\n",
}

// invoice plays the third part: one item on the worklists of two sites, and who has it.
func (d *demo) invoice(ctx context.Context) error {
	d.stage.subject("invoice")
	d.stage.title("An invoice is for people: an approver of B or of C, whoever takes it first, but not bob, who has entered it.")
	if err := d.begin(ctx, demoInvoice, json.RawMessage(`{"invoice": "R-17", "amount": 4800, "entered_by": "bob@B"}`)); err != nil {
		return err
	}
	var item string
	for site, person := range map[string]string{"B": "ann", "C": "carla"} {
		err := d.poll(ctx, "the item on the list of "+person+" at "+site, func() (found bool, err error) {
			item, found, err = d.offered(ctx, site, person)
			return found, err
		})
		if err != nil {
			return err
		}
	}
	d.stage.title("Bob tries it at B, carla claims it at C, and ann a moment later at B, which decides.")
	if err := d.refused(ctx, "B", "bob", item); err != nil {
		return err
	}
	if err := d.work(ctx, "C", "carla", item, api.WorkClaim, ""); err != nil {
		return err
	}
	if err := d.refused(ctx, "B", "ann", item); err != nil {
		return err
	}
	d.stage.title("Carla approves it.")
	if err := d.work(ctx, "C", "carla", item, api.WorkComplete, `{"approved": true}`); err != nil {
		return err
	}
	status, err := d.finished(ctx)
	if err != nil {
		return err
	}
	d.stage.settle()
	d.stage.result(status)
	return nil
}

// as is a request of a person of a site's staff.
func as(ctx context.Context, site, person string) context.Context {
	return api.WithCaller(ctx, api.Caller{Name: person + "@" + site, Person: person})
}

// offered gives the item that is on somebody's worklist.
func (d *demo) offered(ctx context.Context, site, person string) (item string, found bool, err error) {
	list, err := d.daemons[site].Node.Work(as(ctx, site, person), api.WorkRequest{Limit: 1})
	if err != nil || len(list.Items) == 0 {
		return "", false, err
	}
	return list.Items[0].Item, true, nil
}

// work has a person say something of an item.
func (d *demo) work(ctx context.Context, site, person, item string, verb api.WorkVerb, output string) error {
	_, err := d.daemons[site].Node.SayWork(as(ctx, site, person), item, verb, api.WorkWord{Output: json.RawMessage(output)})
	if err == nil {
		d.stage.settle()
	}
	return err
}

// refused has a person claim what he may not have, and shows what he is told.
func (d *demo) refused(ctx context.Context, site, person, item string) error {
	err := d.work(ctx, site, person, item, api.WorkClaim, "")
	var refusal *api.Error
	if err == nil || !errors.As(err, &refusal) || refusal.Code != api.CodeRefused {
		return cli.Failedf("%s at %s claims what he may not have: %v", person, site, err)
	}
	d.stage.tell(site, person, text.Line(refusal.Message))
	return nil
}

// tell shows what somebody is told who was refused.
func (s *stage) tell(site, person, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at(site, s.style.Bad("!"), person+" is told: "+what)
}
