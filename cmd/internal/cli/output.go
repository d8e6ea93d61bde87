package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"fmqm/internal/text"
)

// Format is how data are printed.
type Format string

const (
	Table Format = "table"
	JSON  Format = "json"  // one object, or an array of them, over several lines
	JSONL Format = "jsonl" // one object a line
)

// wide is Table without broken cells, and with all columns, also on a narrow terminal.
const wide = "wide"

// OutputFlag is -o, for every command that prints data.
func OutputFlag() cli.Flag {
	return &cli.StringFlag{Name: "o", Aliases: []string{"format"}, Value: string(Table), Usage: "print as `FORMAT`: table, wide, json or jsonl (default: table)"}
}

// Printer writes data to standard output in the format that -o says.
type Printer struct {
	Format Format // Table, JSON or JSONL
	Style  Style
	w      io.Writer
	room   int // characters of a table's line; 0: as many as are wanted
}

// NewPrinter gives the printer that the flags of c ask for.
func NewPrinter(c *cli.Context) (*Printer, error) {
	s := From(c)
	p := &Printer{Format: Format(c.String("o")), Style: NewStyle(s.Out, s.Env), w: s.Out}
	if p.Format == wide {
		p.Format = Table
		return p, nil
	}
	switch p.Format {
	case Table:
		p.room = TerminalWidth(s.Out)
		return p, nil
	case JSON, JSONL:
		return p, nil
	}
	return nil, Usagef("-o %s: no such format: write table, wide, json or jsonl", p.Format)
}

// Narrow says whether a table should do without what it can: it is for a terminal, and
// -o wide was not asked for.
func (p *Printer) Narrow() bool { return p.Room() > 0 }

// Room is how many characters a line of a table has on a terminal; 0: as many as it wants.
func (p *Printer) Room() int { return p.room }

// Object prints v: as JSON, or with table, which gets the printer's writer, for people.
func (p *Printer) Object(v any, table func(w io.Writer) error) error {
	if p.Format == Table {
		return table(p.w)
	}
	b, err := encode(v, p.Format == JSON)
	if err != nil {
		return err
	}
	_, err = p.w.Write(b)
	return err
}

// encode writes JSON and a newline, with < > & as they are, and what would steer a terminal
// in JSON's escapes.
func encode(v any, indent bool) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if indent {
		e.SetIndent("", "  ")
	}
	err := e.Encode(v)
	return text.JSON(b.Bytes()), err
}

// List begins to print rows of one kind: a table with the columns given, or JSON. A
// live list shows each row at once, and so cannot know how wide its columns get.
func (p *Printer) List(live bool, columns ...string) *List {
	return &List{p: p, live: live, columns: columns}
}

// List is rows on their way to standard output. End must be called.
type List struct {
	p       *Printer
	live    bool
	columns []string
	rows    [][]string // of a table that is not live
	widths  []int
	indent  string // before the first cell of a row
	count   int
}

// Row prints v, or the cells where a table is asked for.
func (l *List) Row(v any, cells ...string) error {
	l.count++
	switch l.p.Format {
	case JSON:
		return l.element(v)
	case JSONL:
		b, err := encode(v, false)
		if err != nil {
			return err
		}
		_, err = l.p.w.Write(b)
		return err
	case Table:
	}
	for i, cell := range cells {
		cells[i] = OneLine(cell)
		if i == 0 { // of what is inside something else
			cells[i] = strings.Repeat(" ", len(cell)-len(strings.TrimLeft(cell, " "))) + cells[i]
		}
	}
	if len(cells) > 0 {
		cells[0] = l.indent + cells[0]
	}
	if !l.live {
		l.rows = append(l.rows, cells)
		return nil
	}
	if l.count == 1 {
		l.widen(cells) // the head stands above the first row, whatever its width
		if err := l.write(l.columns, true); err != nil {
			return err
		}
	}
	return l.write(cells, false)
}

// element prints v as one of an array's, which End closes.
func (l *List) element(v any) error {
	b, err := encode(v, true)
	if err != nil {
		return err
	}
	begin := ",\n  "
	if l.count == 1 {
		begin = "[\n  "
	}
	indented := strings.ReplaceAll(strings.TrimSuffix(string(b), "\n"), "\n", "\n  ")
	_, err = io.WriteString(l.p.w, begin+indented)
	return err
}

// End prints what is left to print.
func (l *List) End() error {
	switch l.p.Format {
	case JSON:
		end := "\n]\n"
		if l.count == 0 {
			end = "[]\n"
		}
		_, err := io.WriteString(l.p.w, end)
		return err
	case JSONL:
		return nil
	case Table:
	}
	if l.live || l.count == 0 {
		return nil
	}
	if l.p.room > 0 {
		l.columns, l.rows = filled(l.columns, l.rows)
	}
	l.widen(l.columns)
	for _, row := range l.rows {
		l.widen(row)
	}
	narrow(l.columns, l.widths, l.p.room)
	if err := l.write(l.columns, true); err != nil {
		return err
	}
	for _, row := range l.rows {
		for _, line := range broken(row, l.widths) {
			if err := l.write(line, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// Count is how many rows were printed.
func (l *List) Count() int { return l.count }

// liveWidth is how wide a column of a live table begins.
func liveWidth(column string) int {
	switch column {
	case "INSTANCE":
		return 36
	case "TIME":
		return len(time.DateTime)
	case "CLOCK", "NODE", "ITERATION", "ATTEMPT", "RC":
		return max(len(column), 5)
	}
	return 10
}

func (l *List) widen(row []string) {
	if l.widths == nil {
		l.widths = make([]int, len(l.columns))
		for i, c := range l.columns {
			l.widths[i] = utf8.RuneCountInString(c)
			if l.live {
				l.widths[i] = max(l.widths[i], liveWidth(c))
			}
		}
	}
	for i, cell := range row {
		l.widths[i] = max(l.widths[i], utf8.RuneCountInString(cell))
	}
}

func (l *List) write(row []string, head bool) error {
	if l.live {
		l.widen(row)
	}
	var b strings.Builder
	at := 0
	for i, cell := range row {
		if room := l.p.room; !l.live && room > 0 && i > 0 && at+l.widths[i] > room {
			line := strings.TrimRight(b.String(), " \n")
			b.Reset()
			if line != "" { // of a broken row, whose cells here have ended
				b.WriteString(line + "\n")
			}
			b.WriteString("    ")
			at = len("    ")
		}
		at += l.widths[i] + gap
		painted := l.p.Style.state(cell)
		if head {
			painted = l.p.Style.Faint(cell)
		}
		b.WriteString(painted)
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", l.widths[i]-utf8.RuneCountInString(cell)+gap))
		}
	}
	_, err := io.WriteString(l.p.w, strings.TrimRight(b.String(), " \n")+"\n")
	return err
}

// WriteTable prints a table that is known whole.
func (p *Printer) WriteTable(columns []string, rows [][]string) error {
	return p.WriteTree(columns, rows, make([]int, len(rows)))
}

// WriteTree is WriteTable with rows that are inside of others: the first cell of each is indented so often.
func (p *Printer) WriteTree(columns []string, rows [][]string, depth []int) error {
	l := (&Printer{Format: Table, Style: p.Style, w: p.w, room: p.room}).List(false, columns...)
	for i, r := range rows {
		l.indent = strings.Repeat("  ", depth[i])
		if err := l.Row(nil, r...); err != nil {
			return err
		}
	}
	return l.End()
}

// State colours a word that is a state.
func (p *Printer) State(word string) string { return p.Style.state(word) }

// Time shows a time to people: in their zone, to the second; "-" if there is none.
func Time(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}
