package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	shared "fmqm/cmd/internal/cli"
	"fmqm/definition"
	"fmqm/interpret"
	"fmqm/node/config"
	"fmqm/processtable"
	programs "fmqm/program"
)

// realPrograms runs the programs that nodes have registered, through the contract through
// which nodes run them. It makes a run of a definition more than a try: what they do is done.
type realPrograms struct {
	ctx      context.Context
	process  string
	instance string
	nodes    []*nodePrograms
	log      func(format string, args ...any)
}

// nodePrograms are those of one configuration.
type nodePrograms struct {
	file     string
	node     string
	registry *programs.Registry
}

// openPrograms reads configurations of nodes. FMQM_* of the environment is not theirs: a
// program may have been given it.
func openPrograms(c *cli.Context, p *definition.Process, files []string) (*realPrograms, error) {
	r := &realPrograms{
		ctx: c.Context, process: processID(p), instance: uuid.Must(uuid.NewV7()).String(),
		log: func(format string, args ...any) { shared.Talk(c, format, args...) },
	}
	for _, file := range files {
		conf, err := config.Load(file, func(string) string { return "" }, config.Overrides{})
		if err != nil {
			r.close()
			return nil, shared.Failedf("--programs: %v", err)
		}
		registry, err := programs.NewRegistry(conf.Programs, programs.Options{})
		if err != nil {
			r.close()
			return nil, shared.Failedf("--programs: %s: %v", file, err)
		}
		r.nodes = append(r.nodes, &nodePrograms{file: file, node: string(conf.Node), registry: registry})
	}
	return r, nil
}

func (r *realPrograms) close() {
	for _, n := range r.nodes {
		n.registry.Close()
	}
}

// find gives an activity's program: that of the configuration of the node where it is done if it is there, else
// that of the first one that has it.
func (r *realPrograms) find(a *definition.Activity, node string) (programs.Program, bool) {
	for _, own := range []bool{true, false} {
		for _, n := range r.nodes {
			if own && n.node != node {
				continue
			}
			if e, ok := n.registry.Lookup(processtable.ProgramID(a.Program)); ok {
				return e.Program, true
			}
		}
	}
	return nil, false
}

// Child gives the programs of an instance that a subprocess begins: the same, and other keys.
func (r *realPrograms) Child(a *definition.Activity, call interpret.Call, p *definition.Process) interpret.Programs {
	inner := *r
	inner.process = processID(p)
	sum := sha256.Sum256([]byte(strings.Join([]string{r.instance, call.Scope.Path(a.Name), fmt.Sprint(call.Iteration), fmt.Sprint(call.Attempt)}, "\x00")))
	inner.instance = uuid.NewHash(sha256.New(), uuid.NameSpaceOID, sum[:], 8).String()
	return &inner
}

// Run invokes a program once.
func (r *realPrograms) Run(a *definition.Activity, call interpret.Call) interpret.Outcome {
	p, ok := r.find(a, call.Node)
	if !ok && a.Child != nil {
		return interpret.Outcome{Err: fmt.Sprintf("process %s is in none of the files: name its file too, or add an entry to --results", a.Child)}
	}
	if !ok {
		return interpret.Outcome{Err: fmt.Sprintf("program %s is in no configuration of --programs: add the configuration of %s, or an entry to --results", a.Program, call.Node)}
	}
	path, scope := call.Scope.Path(a.Name), ""
	if call.Scope != "" {
		scope = path
	}
	key := sha256.Sum256([]byte(strings.Join([]string{r.instance, path, fmt.Sprint(call.Iteration)}, "\x00")))
	got := p.Run(r.ctx, &programs.Call{
		Process: r.process, Instance: r.instance, Activity: a.Name, Scope: scope, Element: call.Scope.Element(), Node: call.Node,
		Iteration: call.Iteration, Attempt: call.Attempt, Key: hex.EncodeToString(key[:16]), // as long as a node's
		Input: call.Input, OutputType: a.Output, NoOutput: a.NoOutput,
		RCIsData: a.RCIsData, RCContinue: a.OnRC == definition.OnRCContinue,
		Log: func(line string) { r.log("%s: %s", path, line) },
	})
	if got.Err != nil {
		return interpret.Outcome{Err: got.Err.Error()}
	}
	return interpret.Outcome{RC: got.RC, Output: got.Output}
}
