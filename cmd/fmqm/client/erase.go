package client

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func eraseCommand() *cli.Command {
	return &cli.Command{
		Name: "erase", Usage: "overwrite personal data of an instance that has ended", ArgsUsage: "INSTANCE",
		Description: `Overwrites the members that --members names, or with --all-data all of them, with their
defaults, in what every node of the process keeps of the instance: its input and output, and the
containers of its activities. person.name is the member name of each member person; name is each
member of that name, at whatever depth. Reasons, errors and the last lines of programs go as well.
What was mapped to a member of another name has to be named too. This cannot be undone.

The instance must have ended. Who did what and when stays, with its keys and identifiers, and history
says who has erased what. It does not reach backups, what programs keep themselves, and what was
sent to other processes; docs/privacy.md has the rest. Instances of subprocesses are named, and with
--children they are erased too.

The node where the instance was started decides, and asks the others. RESULT is erased once nothing
of it is in the files of that node; erasing where it goes on by itself, which the command waits for
as long as --timeout says; left where messages of it still lie, of which REASON says what to do.
Repeated, it changes nothing that was done.

The exit code is 0 if all nodes have erased it; 5 if one has not answered, is not done yet, or has
something left: repeat the command; 4 if one refuses it; 1 if these differ.`,
		UsageText: "fmqm erase " + example + ` --members customer,delivery.address --reason "request 17"
fmqm erase ` + example + " --all-data --children",
		Flags: printing(
			&cli.StringFlag{Name: "members", Usage: "the `PATHS` of what is overwritten, with commas between them"},
			&cli.BoolFlag{Name: "all-data", Usage: "overwrite all members"},
			&cli.BoolFlag{Name: "children", Usage: "of the instances of its subprocesses too, at whatever depth"},
			&cli.StringFlag{Name: "process", Usage: "the instance is of `NAME@VERSION`"},
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the history: why, without the data"}),
		Action: asks(erase),
	}
}

// eraseAgain is how long is waited before nodes are asked again that are not done.
const eraseAgain = time.Second

func erase(c *cli.Context, a asked) error {
	request := api.EraseRequest{Process: c.String("process"), AllData: c.Bool("all-data"), Reason: c.String("reason")}
	if members := c.String("members"); members != "" {
		for path := range strings.SplitSeq(members, ",") {
			request.Members = append(request.Members, strings.TrimSpace(path))
		}
	}
	if request.AllData == (len(request.Members) > 0) {
		return common.Usagef("name what is to be erased: --members customer,person.name, or --all-data")
	}
	e := erasure{asked: a, request: request, deep: c.Bool("children"), until: time.Now().Add(c.Duration("timeout"))}
	e.list = a.printer.List(false, "INSTANCE", "PROCESS", "NODE", "RESULT", "RECORDS", "REASON")
	if err := e.of(c.Context, a.instance); err != nil {
		return err
	}
	if err := e.list.End(); err != nil {
		return err
	}
	for _, child := range e.kept {
		common.Talk(c, "%s of %s was begun by it, and keeps its data: erase it too, or give --children", child.Instance, child.Process)
	}
	return e.failed()
}

// erasure is how far the command is.
type erasure struct {
	asked
	request api.EraseRequest
	deep    bool
	until   time.Time
	list    *common.List
	kept    []api.EraseChild
	seen    []api.InstanceID
	exits   []int
}

// eraseLine is a node's line, of an instance.
type eraseLine struct {
	Instance api.InstanceID `json:"instance"`
	Process  string         `json:"process"`
	api.EraseNode
}

// of erases an instance, and what it has begun.
func (e *erasure) of(ctx context.Context, id api.InstanceID) error {
	e.seen = append(e.seen, id)
	answer, err := e.settled(ctx, id)
	if err != nil {
		return err
	}
	for _, n := range answer.Nodes {
		switch n.Result {
		case api.ResultErased, api.ResultNone, api.ResultRemoved:
		case api.ResultRefused:
			e.exits = append(e.exits, common.ExitRefused)
		default:
			e.exits = append(e.exits, common.ExitUnreachable)
		}
		reason := n.Reason
		if !n.LastHeard.IsZero() {
			reason += ", last heard " + common.Time(n.LastHeard)
		}
		if err := e.list.Row(eraseLine{id, answer.Process, n}, id.String(), answer.Process, n.Node, string(n.Result), strconv.FormatUint(n.Records, 10), reason); err != nil {
			return err
		}
	}
	for _, child := range answer.Children {
		if !e.deep {
			e.kept = append(e.kept, child)
			continue
		}
		if slices.Contains(e.seen, child.Instance) {
			continue
		}
		e.request.Process = child.Process
		if err := e.of(ctx, child.Instance); err != nil {
			return fmt.Errorf("%s of %s, which it has begun: %w", child.Instance, child.Process, err)
		}
	}
	return nil
}

// settled asks until no node is at it any more, or the time is over.
func (e *erasure) settled(ctx context.Context, id api.InstanceID) (api.EraseAnswer, error) {
	for {
		answer, err := e.client.Erase(ctx, id, e.request)
		going := slices.ContainsFunc(answer.Nodes, func(n api.EraseNode) bool { return n.Result == api.ResultErasing })
		if err != nil || !going || !time.Now().Add(eraseAgain).Before(e.until) {
			return answer, err
		}
		select {
		case <-time.After(eraseAgain):
		case <-ctx.Done():
			return answer, ctx.Err()
		}
	}
}

// failed says that not all nodes have erased it.
func (e *erasure) failed() error {
	if len(e.exits) == 0 {
		return nil
	}
	exit, text := e.exits[0], "some nodes have not erased it: see REASON, and repeat the command"
	if slices.ContainsFunc(e.exits, func(other int) bool { return other != exit }) {
		exit = common.ExitFailed
	}
	return &common.Error{Exit: exit, Text: text}
}
