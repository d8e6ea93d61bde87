package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// figure is one line of the table. Yardstick is measured in the same run.
type figure struct {
	Name      string  `json:"name"`
	Value     float64 `json:"value"`
	Unit      string  `json:"unit"`
	Yardstick float64 `json:"yardstick,omitempty"`
	Of        string  `json:"of,omitempty"`    // what the yardstick is
	Ratio     float64 `json:"ratio,omitempty"` // Value to Yardstick
	Goal      string  `json:"goal,omitempty"`
}

func (f figure) against(of string, yardstick float64) figure {
	f.Of, f.Yardstick, f.Ratio = of, yardstick, f.Value/yardstick
	return f
}

// scenario measures some figures, in a process of its own so that none has the
// memory or the garbage of another.
type scenario struct {
	name string
	run  func(ctx context.Context, d time.Duration) ([]figure, error)
}

var scenarios = []scenario{
	{"throughput", throughput},
	{"idle", idle},
	{"pair", pair},
	{"fan", fan},
	{"dead", deadBranch},
	{"model", model},
	{"bundle", bundle},
	{"spread", overFour},
	{"parked", parked},
	{"pending", pending},
	{"receiving", receiving},
	{"worklists", worklists},
	{"lists", lists},
	{"suspends", suspends},
	{"catchup", catchUp},
	{"routes", routes},
}

func main() {
	seconds := flag.Float64("seconds", 3, "how long each figure is measured")
	only := flag.String("only", "", "measure only this `SCENARIO`, and print JSON: "+names())
	asJSON := flag.Bool("json", false, "print JSON, a line for each figure")
	profile := flag.String("cpuprofile", "", "with -only: write a CPU profile to this `FILE`")
	fresh := flag.Bool("rounds", false, "what the scenario parked starts: for each line of standard input run a round on a fresh node, and print what it cost")
	flag.Parse()
	runtime.MemProfileRate = 0 // but where a scenario asks what is held
	d := time.Duration(*seconds * float64(time.Second))
	var err error
	switch {
	case *fresh:
		err = rounds(context.Background(), os.Stdin, os.Stdout)
	case *only != "":
		err = one(*only, d, *profile)
	default:
		err = all(d, *asJSON)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func names() string {
	all := make([]string, len(scenarios))
	for i, s := range scenarios {
		all[i] = s.name
	}
	return strings.Join(all, ", ")
}

// one measures a scenario in this process.
func one(name string, d time.Duration, profile string) error {
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
	if i < 0 {
		return fmt.Errorf("no scenario %q: there are %s", name, names())
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	figures, err := scenarios[i].run(context.Background(), d)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	out := json.NewEncoder(os.Stdout)
	for _, f := range figures {
		if err := out.Encode(f); err != nil {
			return err
		}
	}
	return nil
}

// all measures every scenario in a process of its own.
func all(d time.Duration, asJSON bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "FIGURE\tVALUE\tYARDSTICK\tRATIO\tGOAL")
	for _, s := range scenarios {
		fmt.Fprintf(os.Stderr, "measuring %s ...\n", s.name)
		child := exec.Command(self, "-only", s.name, "-seconds", fmt.Sprint(d.Seconds()))
		child.Stderr = os.Stderr
		printed, err := child.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if asJSON {
			if _, err := os.Stdout.Write(printed); err != nil {
				return err
			}
			continue
		}
		if err := rows(w, printed); err != nil {
			return err
		}
	}
	if asJSON {
		return nil
	}
	return w.Flush()
}

func rows(w *tabwriter.Writer, printed []byte) error {
	in := json.NewDecoder(strings.NewReader(string(printed)))
	for in.More() {
		var f figure
		if err := in.Decode(&f); err != nil {
			return err
		}
		yardstick, ratio := "", ""
		if f.Of != "" {
			yardstick = fmt.Sprintf("%s %s", number(f.Yardstick), f.Of)
			ratio = fmt.Sprintf("%.2f", f.Ratio)
		}
		fmt.Fprintf(w, "%s\t%s %s\t%s\t%s\t%s\n", f.Name, number(f.Value), f.Unit, yardstick, ratio, f.Goal)
	}
	return nil
}

func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func median[T cmp.Ordered](all []T) (middle T) {
	if len(all) == 0 {
		return middle
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
