package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	shared "fmqm/cmd/internal/cli"
	"fmqm/definition"
	"fmqm/processtable"
)

func compileCommand() *cli.Command {
	return &cli.Command{
		Name:      "compile",
		Usage:     "write one table for each node, and a manifest with their hashes",
		ArgsUsage: "FILE",
		Description: `Writes NAME@VERSION.NODE.table for each node and NAME@VERSION.manifest.json into
DIR. The same definition gives the same bytes on every machine. To send tables to
their nodes, use upload, which compiles by itself.`,
		UsageText: `fmqm-define compile purchase-order.yaml -o tables
fmqm-define compile -o /tmp/tables purchase-order.yaml`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Required: true, Usage: "write into `DIR`; it is created if missing"},
			tableFormatFlag(),
		},
		Action: compile,
	}
}

func compile(c *cli.Context) error {
	dir := c.String("output")
	write := func(name string, content []byte) error {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the output directory: %w", err)
		}
		return writeFile(dir, name, content)
	}
	s, err := loadWhole(c, c.Args().First())
	if err != nil {
		return err
	}
	for _, p := range s.processes {
		m, err := s.compile(c, p, func(t *processtable.Table, encoded []byte) error {
			return write(definition.TableFile(t), encoded)
		})
		if err != nil {
			return err
		}
		for _, t := range m.Tables {
			shared.Talk(c, "%s: %s, %s", filepath.Join(dir, t.File), plural(len(t.Activities), "activity"), plural(t.Bytes, "byte"))
		}
		manifest, err := manifestText(m)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s@%d.manifest.json", m.Process, m.Version)
		if err := write(name, manifest); err != nil {
			return err
		}
		shared.Talk(c, "%s", filepath.Join(dir, name))
	}
	return nil
}

const tableFormat = "table-format"

func tableFormatFlag() cli.Flag {
	return &cli.IntFlag{Name: tableFormat, Usage: "write tables in format `N`, for nodes that read no newer one (default: the newest)"}
}

// compile gives the tables of a process one by one, in the format that --table-format asks
// for.
func (s *source) compile(c *cli.Context, p *definition.Process, each func(t *processtable.Table, encoded []byte) error) (definition.Manifest, error) {
	m, err := definition.CompileEach(p, definition.CompileOptions{TableFormat: c.Int(tableFormat), AsWritten: s.asWritten[processID(p)]}, each)
	if err != nil {
		return m, fmt.Errorf("%s: %w", s.name, err)
	}
	return m, nil
}

func manifestText(m definition.Manifest) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(m)
	return b.Bytes(), err
}

// writeFile writes a file whole or not at all: nobody finds half of one.
func writeFile(dir, name string, content []byte) (err error) {
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(f.Name()))
		}
	}()
	if _, err = f.Write(content); err != nil {
		return errors.Join(err, f.Close())
	}
	if err = f.Chmod(0o644); err != nil {
		return errors.Join(err, f.Close())
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, name))
}
