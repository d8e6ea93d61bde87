package cli

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
)

// completeCommand is what the shells' scripts call: PROGRAM __complete WORD..., with the
// words of the line up to the cursor, of which the last is the one to complete.
const completeCommand = "__complete"

// filesLine says that the shell completes the word as a file.
const filesLine = ":files"

// completeTimeout is how long the user waits at most for what a node would have to say.
const completeTimeout = 2 * time.Second

// candidate is a word that would fit.
type candidate struct{ word, about string }

// complete prints what would fit the last word, a candidate a line with a tab before what
// it is. It never fails: where nothing is known, nothing is offered.
func complete(ctx context.Context, app *cli.App, args []string, s *Streams) error {
	word := ""
	if len(args) > 0 {
		word, args = args[len(args)-1], args[:len(args)-1]
	}
	commands, flags, usage, name, both := app.Commands, app.Flags, app.ArgsUsage, "", false
	early, args := flagsBefore(app, append(args, word))
	args = args[:len(args)-1]
	for len(args) > 0 && len(commands) > 0 {
		command := find(commands, args[0])
		switch {
		case both && (isFlag(args[0]) || command == nil && usage != ""): // of the command itself
			commands = nil
			continue
		case args[0] == "help":
			args = args[1:]
			continue
		case command == nil:
			return nil
		}
		args = args[1:]
		commands, flags, usage, name, both = command.Subcommands, command.Flags, command.ArgsUsage, command.Name, command.Action != nil
	}
	var found []candidate
	files := false
	if len(commands) > 0 && !(both && isFlag(word)) {
		found = commandCandidates(commands)
	} else {
		found, files = lineCandidates(ctx, lineSoFar{name: name, flags: flags, usage: usage, before: append(early, args...), word: word, streams: s})
	}
	var b strings.Builder
	for _, c := range found {
		if strings.HasPrefix(c.word, word) {
			b.WriteString(OneLine(c.word) + "\t" + OneLine(c.about) + "\n")
		}
	}
	if files {
		b.WriteString(filesLine + "\n")
	}
	_, err := io.WriteString(s.Out, b.String())
	return err
}

func commandCandidates(commands []*cli.Command) []candidate {
	var found []candidate
	for _, c := range commands {
		if !c.Hidden {
			found = append(found, candidate{c.Name, c.Usage})
		}
	}
	return append(found, candidate{"help", "explain a command"})
}

// lineSoFar is a command with the words before the one to complete.
type lineSoFar struct {
	name    string
	flags   []cli.Flag
	usage   string // of the arguments
	before  []string
	word    string
	streams *Streams
}

// lineCandidates offers what fits after a command: a flag, a flag's value, an argument.
func lineCandidates(ctx context.Context, l lineSoFar) (found []candidate, files bool) {
	var arguments []string
	values := map[string]string{}
	onlyArguments := false
	for i := 0; i < len(l.before); i++ {
		w := l.before[i]
		flag, hasValue := cli.Flag(nil), false
		if !onlyArguments && isFlag(w) {
			flag, hasValue = findFlag(l.flags, w)
		}
		switch {
		case onlyArguments || !isFlag(w):
			arguments = append(arguments, w)
		case w == "--":
			onlyArguments = true
		case flag == nil || !takesValue(flag):
		case hasValue:
			_, values[flag.Names()[0]] = splitValue(w, flag)
		case i == len(l.before)-1:
			return valueCandidates(flag, "")
		default:
			i++
			values[flag.Names()[0]] = l.before[i]
		}
	}
	if !onlyArguments && strings.HasPrefix(l.word, "-") {
		if flag, hasValue := findFlag(l.flags, l.word); hasValue && takesValue(flag) {
			prefix, _ := splitValue(l.word, flag)
			return valueCandidates(flag, prefix)
		}
		return flagCandidates(l.flags), false
	}
	return argumentCandidates(ctx, l, arguments, values)
}

// splitValue parts a flag from the value in its word: --format= and json, or -o and json.
func splitValue(word string, flag cli.Flag) (prefix, value string) {
	if letter, value, ok := attachedValue(word, flag); ok {
		return letter, value
	}
	name, value, _ := strings.Cut(word, "=")
	return name + "=", value
}

func flagCandidates(flags []cli.Flag) []candidate {
	var found []candidate
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		for _, name := range f.Names() {
			found = append(found, candidate{dashed(name), strings.ReplaceAll(d.GetUsage(), "`", "")})
		}
	}
	return append(found, candidate{"--help", "show this"})
}

// valueCandidates offers the values of a flag: files for FILE and the like, or the words
// that its line of help counts up.
func valueCandidates(flag cli.Flag, prefix string) ([]candidate, bool) {
	usage := flag.(cli.DocGenerationFlag).GetUsage()
	switch value := valueName(usage); value {
	case "FILE", "DIR", "PATH":
		return nil, prefix == ""
	}
	var found []candidate
	for _, choice := range choices(usage) {
		found = append(found, candidate{prefix + choice, ""})
	}
	return found, false
}

// valueName gives FILE of "read `FILE`".
func valueName(usage string) string {
	_, rest, _ := strings.Cut(usage, "`")
	value, _, _ := strings.Cut(rest, "`")
	return value
}

var between = regexp.MustCompile(`, or | or |, `)

// choices gives table, json and jsonl of "print as `FORMAT`: table, json or jsonl (...)";
// nothing where the usage counts up no words.
func choices(usage string) []string {
	usage, _, _ = strings.Cut(usage, " (")
	_, counted, found := strings.Cut(usage, ": ")
	if !found {
		return nil
	}
	words := between.Split(counted, -1)
	for i, w := range words {
		words[i], _, _ = strings.Cut(w, ":")
		if strings.Contains(words[i], " ") {
			return nil
		}
	}
	return words
}

// argumentCandidates offers what fits an argument, as the command's usage names it:
// files, shells, and what the node knows. What cannot be had in a moment is not offered.
func argumentCandidates(ctx context.Context, l lineSoFar, before []string, values map[string]string) (found []candidate, files bool) {
	words := strings.Fields(l.usage)
	at := len(before)
	if at >= len(words) {
		if len(words) == 0 || !strings.Contains(words[len(words)-1], "...") {
			return nil, false
		}
		at = len(words) - 1
	}
	switch kind := strings.Trim(words[at], "[].@"); {
	case kind == "FILE" || kind == "DIR":
		return nil, true
	case kind == "SHELL":
		return shellCandidates(), false
	case kind == "INSTANCE" || strings.HasPrefix(kind, "PROCESS") || kind == "ACTIVITY":
		ctx, cancel := context.WithTimeout(ctx, completeTimeout)
		defer cancel()
		return nodeCandidates(ctx, l, kind, before, values), false
	}
	return nil, false
}

// nodeCandidates asks the node.
func nodeCandidates(ctx context.Context, l lineSoFar, kind string, before []string, flags map[string]string) (found []candidate) {
	to := flags["to"]
	if to == "" {
		to = l.streams.Env("FMQM_TO")
	}
	if to == "" {
		to = api.DefaultTo
	}
	config, err := clientTLS(to, func(name string) string { return flags[name] }, l.streams.Env)
	if err != nil {
		return nil
	}
	client, err := api.NewTLSClient(to, completeTimeout, config)
	if err != nil {
		return nil
	}
	defer client.Close()
	switch {
	case kind == "INSTANCE":
		// What has ended has nothing left to retry or terminate.
		all := !slices.Contains([]string{"retry", "terminate", "why"}, l.name)
		answer, err := client.List(ctx, api.ListRequest{All: all, Limit: 50})
		if err != nil {
			return nil
		}
		for _, i := range answer.Instances {
			found = append(found, candidate{i.Instance.String(), fmt.Sprintf("%s, %s", i.Process, i.State)})
		}
	case kind == "ACTIVITY" && len(before) > 0:
		id, err := api.ParseInstance(before[0])
		if err != nil {
			return nil
		}
		st, err := client.StatusOf(ctx, id, api.StatusRequest{Tree: true, States: []api.ActivityState{api.ActivityInError}})
		if err != nil {
			return nil
		}
		for _, a := range st.Activities {
			if a.State == api.ActivityInError {
				found = append(found, candidate{api.Shown(a.Scope, a.Activity), a.Node + ": " + a.Reason})
			}
		}
	default:
		answer, err := client.Definitions(ctx)
		if err != nil {
			return nil
		}
		for _, d := range answer.Definitions {
			found = append(found, candidate{fmt.Sprintf("%s@%d", d.Process, d.Version), fmt.Sprintf("%d activities", len(d.Activities))})
		}
	}
	return found
}
