// Command fmqm-launch is what a program was before: the daemon starts it, and it takes from
// itself what the program must not have, and becomes it (package internal/launch). fmqmd can
// do that too, and does where fmqm-launch is not beside it; this one is small, and so starts
// in a third of the time. Nobody else has a use for it.
package main

import (
	"os"

	"fmqm/internal/launch/stage"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == stage.Ask {
		_, _ = os.Stdout.WriteString(stage.Speaks)
		return
	}
	_, _ = os.Stderr.WriteString("fmqm-launch: fmqmd starts this one: it is to be beside fmqmd, and has no use else\n")
	os.Exit(2)
}
