package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"
)

const (
	besideProcess   = "beside"
	besideInstances = 1000
	// emptyTurns come before anything is parked: there both nodes do the same, and what
	// the figure is not 1 by is the machine's.
	emptyTurns  = 11
	parkedTurns = 21
)

// openBeside opens a node with the process that a round is of.
func openBeside(ctx context.Context, dir string) (*site, error) {
	s, err := openSite(dir, "A", nil)
	if err != nil {
		return nil, err
	}
	return s, s.upload(ctx, renamed(chain("A"), besideProcess))
}

// cost is what a round took, of a node that has a process of its own.
type cost struct {
	Wall time.Duration `json:"wall"`
	CPU  time.Duration `json:"cpu"` // user and system, with whatever else the node did meanwhile
}

// round runs a thousand instances to their ends, 64 at once.
func (s *site) round(ctx context.Context) (cost, error) {
	var left atomic.Int64
	left.Store(besideInstances)
	cpu, begun := cpuTime(), time.Now()
	err := parallel(64, func() error {
		for left.Add(-1) >= 0 {
			if err := s.named(ctx, besideProcess); err != nil {
				return err
			}
		}
		return nil
	})
	return cost{Wall: time.Since(begun), CPU: cpuTime() - cpu}, err
}

// rounds is the fresh node's process: for each line that it reads it runs a round and
// prints the cost. It ends with its input.
func rounds(ctx context.Context, in io.Reader, out io.Writer) error {
	_, err := inDirectory(func(dir string) (struct{}, error) {
		s, err := openBeside(ctx, dir)
		if err != nil {
			return struct{}{}, err
		}
		lines, answers := bufio.NewScanner(in), json.NewEncoder(out)
		for err == nil && lines.Scan() {
			var c cost
			if c, err = s.round(ctx); err == nil {
				err = answers.Encode(c)
			}
		}
		return struct{}{}, errors.Join(err, lines.Err(), s.stop(ctx))
	})
	return err
}

// freshNode is a node on which nothing is parked. It has a process, and so a heap, of
// its own, and its CPU time is nobody else's.
type freshNode struct {
	process *exec.Cmd
	asks    io.WriteCloser
	answers *json.Decoder
}

func startFresh(ctx context.Context) (*freshNode, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &freshNode{process: exec.CommandContext(ctx, self, "-rounds")}
	f.process.Stderr = os.Stderr
	if f.asks, err = f.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := f.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	f.answers = json.NewDecoder(out)
	return f, f.process.Start()
}

func (f *freshNode) round() (c cost, err error) {
	if _, err = fmt.Fprintln(f.asks); err == nil {
		err = f.answers.Decode(&c)
	}
	if err != nil {
		err = fmt.Errorf("round on the fresh node: %w", err)
	}
	return c, err
}

func (f *freshNode) stop() error { return errors.Join(f.asks.Close(), f.process.Wait()) }

// turn is a round on either node, one right after the other.
type turn struct{ here, fresh cost }

// turns runs rounds on s and on the fresh node alternately, and which comes first
// alternates too: what else the machine does meets both.
func (s *site) turns(ctx context.Context, fresh *freshNode, n int) ([]turn, error) {
	all := make([]turn, n)
	for i := range all {
		t := &all[i]
		steps := []func() error{
			func() (err error) { t.here, err = s.round(ctx); return err },
			func() (err error) { t.fresh, err = fresh.round(); return err },
		}
		if i%2 == 1 {
			slices.Reverse(steps)
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// compareTurns is the median time of a round on either node, and the median of the
// turns' ratios.
func compareTurns(name, goal string, all []turn) figure {
	var here, fresh []time.Duration
	var ratios []float64
	for _, t := range all {
		here, fresh = append(here, t.here.Wall), append(fresh, t.fresh.Wall)
		ratios = append(ratios, t.here.Wall.Seconds()/t.fresh.Wall.Seconds())
	}
	return figure{
		Name: name, Value: median(here).Seconds(), Unit: "s", Goal: goal,
		Of: "s on a fresh node, in turn", Yardstick: median(fresh).Seconds(), Ratio: median(ratios),
	}
}

// compareCPU is the mean CPU time of a round on either node: with the compactions, which
// come once in several rounds.
func compareCPU(name string, all []turn) figure {
	var here, fresh time.Duration
	for _, t := range all {
		here, fresh = here+t.here.CPU, fresh+t.fresh.CPU
	}
	n := float64(len(all))
	return figure{Name: name, Value: here.Seconds() / n, Unit: "s"}.against("s on the fresh node, compactions included", fresh.Seconds()/n)
}
