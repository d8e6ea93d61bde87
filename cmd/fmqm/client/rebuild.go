package client

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
	"fmqm/internal/text"
)

func rebuildCommand() *cli.Command {
	return &cli.Command{
		Name: "rebuild", Usage: "send a site again what it lost with its store", ArgsUsage: "PEER",
		Description: `For a site that has another store than before: its disk was lost, or a backup was restored.
Its peers have stopped their links to it. Without --yes the command only says what the node
would send again. With --yes the node accepts the new store and sends what it can build from
its audit. This goes on by itself, also after a restart. Every peer of the site has to do
it: --all asks all of them through this node.

The answer names the instances that were started at the site and that it no longer knows.
Start them again there (fmqm start with the same --key, or without a key with --instance)
and rebuild once more, or terminate them. To repeat a rebuild does no harm.

With --yes the exit code is 0 if every site has sent what it had to send, or had nothing to
send; 4 if a site refused; 5 if one did not answer or has not finished; 1 if some did one and
some the other.

Do this only when the old store is lost for good: what it alone knew is gone.`,
		UsageText: "fmqm rebuild B\nfmqm rebuild B --all --yes\nfmqm rebuild B --yes -o json",
		Flags: printing(
			&cli.BoolFlag{Name: "yes", Usage: "do it; without it, only show what would be done"},
			&cli.BoolFlag{Name: "all", Usage: "ask all other nodes that this node has a link to as well"}),
		Action: rebuild,
	}
}

func rebuild(c *cli.Context) error {
	printer, client, err := common.NewAsking(c)
	if err != nil {
		return err
	}
	defer client.Close()
	request := api.RebuildRequest{Peer: c.Args().First(), All: c.Bool("all"), Do: c.Bool("yes")}
	answer, err := client.Rebuild(c.Context, request)
	begun := answer // by the word; later answers are only looks
	progress := common.NewProgress(c)
	defer progress.End()
	request.Do = false // it goes on by itself: from now on it is looked at
	for err == nil && goesOn(answer) {
		progress.Show("%s", strings.ReplaceAll(strings.TrimSpace(rebuildText(answer)), "\n", "; "))
		if err = lookAgain(c.Context); err != nil {
			break
		}
		answer, err = client.Rebuild(c.Context, request)
	}
	if err != nil {
		return err
	}
	progress.End()
	if err := printer.Object(answer, func(w io.Writer) error {
		_, err := io.WriteString(w, rebuildText(answer))
		return err
	}); err != nil {
		return err
	}
	if !c.Bool("yes") {
		return nil
	}
	return rebuilt(begun, answer)
}

// rebuilt is nil only if every node has sent again what it had to send, or had nothing to send:
// begun is what they said to the word, now what they said last.
func rebuilt(begun, now api.RebuildAnswer) error {
	said := map[string]api.Code{}
	for _, b := range begun.Rebuilds {
		said[b.Node] = b.Code
	}
	var failed failures
	var texts []string
	for _, b := range now.Rebuilds {
		if code, text := missing(b, said[b.Node]); code != "" {
			failed = append(failed, api.Errorf(code, "", "%s", text))
			texts = append(texts, common.OneLine(b.Node)+" "+text)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return &common.Error{Exit: failed.exit(), Text: "rebuild: " + strings.Join(texts, "; ")}
}

// missing says what a node has not done of a rebuild, and with which code; "": nothing. said is
// the code with which it met the word. A node that only plans, has nothing to send, or has done what it was
// told before, may say so in a later look although it refused.
func missing(b api.Rebuild, said api.Code) (code api.Code, text string) {
	switch {
	case said == api.CodeRefused && (b.Stage == "" || b.Stage == api.RebuildPlanned || b.Stage == api.RebuildDone):
		b.Stage, b.Code = "", said
	case b.Stage == api.RebuildPlanned:
		return api.CodeUnreachable, "has begun nothing yet: repeat the command"
	}
	switch {
	case b.Stage == api.RebuildDone:
		return "", ""
	case b.Stage != "":
		return api.CodeUnreachable, "has not finished yet; it goes on by itself"
	}
	switch b.Code {
	case "", api.CodeNotFound: // "": asked by a daemon of an older version, which gives none
		return "", ""
	case api.CodeUnreachable:
		return b.Code, "did not answer: repeat the command when it is reachable"
	case api.CodeRefused:
		return b.Code, "has refused"
	case api.CodeFailed, api.CodeUsage:
	}
	return api.CodeFailed, "has failed"
}

// lookAgain waits a little before the next look.
func lookAgain(ctx context.Context) error {
	pause := time.NewTimer(300 * time.Millisecond)
	defer pause.Stop()
	select {
	case <-pause.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// goesOn says whether a look later may show more; where something is to be done first,
// it does not.
func goesOn(a api.RebuildAnswer) bool {
	for _, b := range a.Rebuilds {
		if b.Stage == api.RebuildWaiting {
			return false
		}
	}
	for _, b := range a.Rebuilds {
		if b.Stage == api.RebuildDecided || b.Stage == api.RebuildSending {
			return true
		}
	}
	return false
}

// rebuildText says it in words.
func rebuildText(a api.RebuildAnswer) string {
	var text strings.Builder
	named := map[api.InstanceID]bool{}
	for _, b := range a.Rebuilds {
		fmt.Fprintf(&text, "%s: %s\n", b.Node, rebuildLine(b))
		if len(b.Unasked) > 0 {
			fmt.Fprintf(&text, "  %s did not say which instances have ended: all of them count as running\n", strings.Join(b.Unasked, ", "))
		}
		for _, u := range b.Unknown {
			if named[u.Instance] {
				continue
			}
			named[u.Instance] = true
			how := "nothing of it runs at " + b.Node + ": it may have ended"
			if u.UnderWay {
				how = "it runs at " + b.Node
			}
			if u.Child {
				how += "; a subprocess has begun it, and begins it again: do not start it, rebuild once more then"
			}
			fmt.Fprintf(&text, "  %s %s: only %s had its record; %s\n", u.Instance, u.Process, b.Peer, how)
		}
		if b.More > 0 {
			fmt.Fprintf(&text, "  and %d more\n", b.More)
		}
		removedText(&text, b)
	}
	if len(named) > 0 {
		text.WriteString("Start those that had not ended again at their site, each with its input: with the same --key, or\n" +
			"without a key by `fmqm start PROCESS@VERSION --instance INSTANCE`, which shows a plan first. Then\n" +
			"rebuild once more. Terminate those that cannot be started again, also there.\n")
	}
	return text.String()
}

// removedText names what cannot be sent again because it was removed by retention.
func removedText(text *strings.Builder, b api.Rebuild) {
	for _, r := range b.Removed {
		what := "do not start it again: it could never end"
		if r.Running {
			what = "it runs at " + b.Peer + " again, from the older copy, and can never end: terminate it there"
		}
		fmt.Fprintf(text, "  %s %s: it had ended, and retention removed its audit at %s on %s; %s\n",
			r.Instance, r.Process, b.Node, r.Time.Local().Format(time.DateOnly), what)
	}
	if b.MoreRemoved > 0 {
		fmt.Fprintf(text, "  and %d more that retention has removed\n", b.MoreRemoved)
	}
}

// sent is how much has been sent again, or would be.
func sent(b *api.Rebuild) string {
	return text.Counted(b.Messages, "message", "messages") + " of " + text.Counted(b.Instances, "instance", "instances")
}

func rebuildLine(b api.Rebuild) string {
	store := b.Store[:min(8, len(b.Store))]
	switch b.Stage {
	case api.RebuildPlanned:
		line := fmt.Sprintf("would accept store %s of %s, and send at most %s again", store, b.Peer, sent(&b))
		if len(b.Lacks) > 0 {
			line += "; it needs the process tables of " + strings.Join(b.Lacks, ", ") + ": upload there first what it lacks"
		}
		return line
	case api.RebuildWaiting:
		return fmt.Sprintf("%s lacks the process tables of %s: upload them there; this then goes on by itself", b.Peer, strings.Join(b.Lacks, ", "))
	case api.RebuildDecided:
		return fmt.Sprintf("accepted store %s of %s; %s", store, b.Peer, orElse(common.OneLine(b.Reason), "now asks what it has"))
	case api.RebuildSending:
		return strings.TrimSuffix(fmt.Sprintf("sends %s what it lost: %s so far; %s", b.Peer, sent(&b), common.OneLine(b.Reason)), "; ")
	case api.RebuildDone:
		line := fmt.Sprintf("has sent %s %s again", b.Peer, sent(&b))
		if b.By != "" {
			line += ", as " + b.By + " had decided"
		}
		return line
	}
	return common.OneLine(b.Reason)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
