// Command fmqm starts process instances and looks after them. See package client.
package main

import (
	"os"

	"fmqm/cmd/fmqm/client"
	"fmqm/cmd/internal/cli"
)

func main() { os.Exit(client.Main(os.Args, cli.OS())) }
