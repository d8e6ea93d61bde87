package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

// startAgain is a start under an identifier that is there: of an instance that other sites
// know, and that the site where it was started has lost with its store. Without --yes it
// says what it would do.
func startAgain(c *cli.Context, s *starter, printer *common.Printer) error {
	id, err := api.ParseInstance(c.String("instance"))
	switch {
	case err != nil:
		return common.Usagef("--instance: %v", err)
	case c.IsSet("key") || c.IsSet("n"):
		return common.Usagef("--instance names one instance that is there: leave out --key and -n (an instance that had a key is started again with --key alone)")
	case s.process.Version == 0:
		return common.Usagef("--instance %s: write the version too, %s@VERSION, as fmqm rebuild names it", id, s.process.Name)
	}
	st, err := s.client.Status(c.Context, id)
	switch {
	case api.CodeOf(err) == api.CodeNotFound:
		return &common.Error{Exit: common.ExitNotFound, Text: fmt.Sprintf("start again: no site knows instance %s: nothing of it is left to go on with; without --instance a new one starts", id)}
	case err != nil:
		return fmt.Errorf("start again: ask what is known of %s: %w", id, err)
	case st.Process != s.process.String():
		return &common.Error{Exit: common.ExitRefused, Text: fmt.Sprintf("start again: instance %s is of %s, not of %s", id, st.Process, s.process)}
	case st.State != api.InstanceUnknown:
		return &common.Error{Exit: common.ExitRefused, Text: fmt.Sprintf("start again: the site where %s was started knows it: it is %s, and goes on by itself", id, st.State)}
	}
	if !c.Bool("yes") {
		if err := planAgain(c, s, st); err != nil {
			return err
		}
		return show(printer, st)
	}
	s.instance = id
	ctx, cancel := waitLimit(c)
	defer cancel()
	st, err = s.one(ctx, 1)
	return errors.Join(show(printer, st), err)
}

// planAgain says what a start of an instance that is there would do.
func planAgain(c *cli.Context, s *starter, st api.Status) error {
	self, err := selfOf(c.Context, s.client)
	if err != nil {
		return err
	}
	known := map[string][]string{}
	for _, a := range st.Activities {
		if a.Node != self && a.State != api.ActivityUnknown && a.State != api.ActivityInactive {
			known[a.Node] = append(known[a.Node], fmt.Sprintf("%s %s", api.Shown(a.Scope, a.Activity), a.State))
		}
	}
	input := string(s.input)
	if input == "" {
		input = "all defaults"
	}
	common.Talk(c, "plan: start %s at %s again as %s, with the input: %s", st.Process, self, st.Instance, input)
	if len(known) == 0 {
		common.Talk(c, "plan: what other sites know of it does not go beyond its name")
	}
	sites := make([]string, 0, len(known))
	for site := range known {
		sites = append(sites, site)
	}
	slices.Sort(sites)
	for _, site := range sites {
		common.Talk(c, "plan: %s knows of it: %s", site, strings.Join(known[site], ", "))
	}
	for _, u := range st.Unreachable {
		common.Talk(c, "plan: %s is unreachable: it may know more", u.Node)
	}
	common.Talk(c, "activities of %s run again, with the same idempotency keys; what other sites have done stays. The input has to be the one\n"+
		"that it had: what differs is refused where the first took effect. Do this only at the site where it was started, and only if that has lost it\n"+
		"(fmqm rebuild names such instances). Nothing was done: add --yes", self)
	return nil
}

// selfOf gives the name of the node that is asked.
func selfOf(ctx context.Context, client *api.Client) (string, error) {
	answer, err := client.Nodes(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the node for its name: %w", err)
	}
	for _, n := range answer.Nodes {
		if n.State == api.NodeSelf {
			return n.Node, nil
		}
	}
	return "", errors.New("the node does not say its name")
}
