package program

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fmqm/container"
)

// builtin is a program of the daemon's own: it costs no process.
type builtin struct {
	run     func(ctx context.Context, c *Call) (rc int64, out *container.Struct, err error)
	timeout time.Duration
}

var builtins = map[string]func(context.Context, *Call) (int64, *container.Struct, error){
	"noop":  noop,
	"echo":  echoed,
	"sleep": sleep,
	"fail":  fail,
}

// Builtins gives the names of the builtin programs, sorted.
func Builtins() []string {
	names := make([]string, 0, len(builtins))
	for n := range builtins {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func newBuiltin(name string, timeout time.Duration) (Program, error) {
	run, ok := builtins[name]
	if !ok {
		return nil, fmt.Errorf("no builtin program %q: there are %s", name, strings.Join(Builtins(), ", "))
	}
	return &builtin{run: run, timeout: timeout}, nil
}

func (b *builtin) Run(ctx context.Context, c *Call) Result {
	r := Result{Started: time.Now()}
	run := ctx
	if b.timeout > 0 {
		var cancel context.CancelFunc
		run, cancel = context.WithTimeout(ctx, b.timeout)
		defer cancel()
	}
	r.RC, r.Output, r.Err = b.run(run, c)
	if r.Err != nil && run.Err() != nil {
		r.Err = stopped(ctx, b.timeout)
	}
	r.Ended = time.Now()
	return r
}

// noop gives the defaults.
func noop(_ context.Context, c *Call) (int64, *container.Struct, error) {
	return 0, container.New(c.OutputType), nil
}

func echoed(_ context.Context, c *Call) (int64, *container.Struct, error) {
	return 0, echo(c), nil
}

// echo gives each output member the input member of the same name and type.
func echo(c *Call) *container.Struct {
	out := container.New(c.OutputType)
	for i, m := range c.OutputType.Members {
		from, ok := c.Input.Type.MemberIndex(m.Name)
		if ok && container.SameType(m.Type, c.Input.Type.Members[from].Type) {
			out.Assign(container.Path{i}, c.Input.Fields[from])
		}
	}
	return out
}

// sleep is echo after the milliseconds that the input member sleep_ms says.
func sleep(ctx context.Context, c *Call) (int64, *container.Struct, error) {
	ms, err := intMember(c.Input, "sleep", "sleep_ms")
	if err != nil {
		return 0, nil, err
	}
	t := time.NewTimer(time.Duration(min(ms, int64(maxSleep/time.Millisecond))) * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return 0, echo(c), nil
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
}

// maxSleep keeps sleep_ms within what a time.Duration can hold.
const maxSleep = 100 * 365 * 24 * time.Hour

// fail is echo with the return code of the input member rc.
func fail(_ context.Context, c *Call) (int64, *container.Struct, error) {
	rc, err := intMember(c.Input, "fail", "rc")
	if err != nil {
		return 0, nil, err
	}
	return rc, echo(c), nil
}

func intMember(s *container.Struct, program, name string) (int64, error) {
	i, ok := s.Type.MemberIndex(name)
	if !ok || s.Type.Members[i].Type.Kind != container.Int {
		return 0, fmt.Errorf("builtin %s: the input container %s has no member %s of type int: give the activity an input structure with `%s: int`",
			program, s.Type, name, name)
	}
	return s.Fields[i].(int64), nil
}
