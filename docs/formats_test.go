package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/api"
	"fmqm/container"
	"fmqm/link/frame"
	"fmqm/link/seal"
	"fmqm/message"
	"fmqm/node/config"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// section gives what stands below a heading of formats.md, up to the next heading.
func section(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("formats.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	found := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			if found {
				break
			}
			found = strings.TrimSpace(strings.TrimLeft(line, "#")) == heading
			continue
		}
		if found {
			b.WriteString(line)
		}
	}
	if !found {
		t.Fatalf("formats.md has no section %q", heading)
	}
	return b.String()
}

var firstColumn = regexp.MustCompile("(?m)^\\| `?([0-9A-Za-z]+)`? \\|")

// documented gives the first column of the tables of a section that matches.
func documented(t *testing.T, heading string, like *regexp.Regexp) []string {
	t.Helper()
	var all []string
	for _, m := range firstColumn.FindAllStringSubmatch(section(t, heading), -1) {
		if like.MatchString(m[1]) {
			all = append(all, m[1])
		}
	}
	slices.Sort(all)
	return all
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// constants gives the values of the group of constants, from that of the name first
// to that of the name last.
func constants(t *testing.T, file, first, last string) (values []string) {
	t.Helper()
	inside, ended := false, false
	ast.Inspect(parse(t, file), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || ended {
			return true
		}
		inside = inside || spec.Names[0].Name == first
		if inside {
			literal, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("%s: %s is no literal", file, spec.Names[0].Name)
			}
			values = append(values, strings.Trim(literal.Value, "'"))
		}
		ended = spec.Names[0].Name == last
		return true
	})
	if !ended {
		t.Fatalf("%s: no constants from %s to %s", file, first, last)
	}
	return unique(values)
}

// events gives the numbers of those that the audit has.
func events() (values []string) {
	for _, e := range record.Events() {
		values = append(values, strconv.Itoa(int(e)))
	}
	return unique(values)
}

// written gives the keys that a function writes into a map: the first argument of
// w.Text(3, ...) and the like.
func written(t *testing.T, file, function string) (keys []string) {
	t.Helper()
	for _, d := range parse(t, file).Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != function {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if on, ok := method.X.(*ast.Ident); !ok || on.Name != "w" {
				return true
			}
			if literal, ok := call.Args[0].(*ast.BasicLit); ok {
				keys = append(keys, literal.Value)
			}
			return true
		})
	}
	if len(keys) == 0 {
		t.Fatalf("%s: %s writes nothing", file, function)
	}
	return unique(keys)
}

var cborTag = regexp.MustCompile(`cbor:"([0-9]+),keyasint`)

// tagged gives the keys of a structure that is encoded by its tags.
func tagged(t *testing.T, file, name string) (keys []string) {
	t.Helper()
	ast.Inspect(parse(t, file), func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			if m := cborTag.FindStringSubmatch(f.Tag.Value); m != nil {
				keys = append(keys, m[1])
			}
		}
		return false
	})
	if len(keys) == 0 {
		t.Fatalf("%s: no structure %s with keys", file, name)
	}
	return unique(keys)
}

func unique(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

// Every number that the code writes stands in the table of its section, and no other.
func TestFormats(t *testing.T) {
	const table = "processtable/encode.go"
	number, letter := regexp.MustCompile(`^[0-9]+$`), regexp.MustCompile(`^[A-Za-z]$`)
	for _, tc := range []struct {
		heading string
		like    *regexp.Regexp
		code    []string
	}{
		{"Kinds of types", number, constants(t, "container/type.go", "Bool", "List")},
		{"Table", number, constants(t, table, "keyFormat", "keyDeadlines")},
		{"Schedule", number, constants(t, "processtable/schedule.go", "keyCron", "keyOverlap")},
		{"Activity", number, constants(t, table, "keyName", "keyMore")},
		{"Connector", number, constants(t, table, "keyEnd", "keyMappings")},
		{"Mapping", number, constants(t, table, "keyRC", "keyDid")},
		{"Staff expression", number, constants(t, "processtable/manual_codec.go", "keyWhoIs", "keyWhoActivity")},
		{"Start condition", number, constants(t, table, "keyOp", "keyArgs")},
		{"Condition", number, constants(t, table, "keyText", "keyReads")},
		{"Structure and member", number, constants(t, "processtable/types.go", "keyStructureName", "keyDefault")},
		{"Header", number, constants(t, "message/codec.go", "fieldProcess", "fieldRank")},
		{"Kinds of messages", number, constants(t, "message/message.go", "KindConnector", "KindRecalled")},
		{"Record", number, written(t, "message/body.go", "EncodeRecord")},
		{"Snapshot", number, written(t, "message/body.go", "EncodeSnapshot")},
		{"Notice", number, written(t, "message/noticebody.go", "EncodeNotice")},
		{"Marker", number, written(t, "message/body.go", "EncodeMarker")},
		{"Mark", number, written(t, "message/mark.go", "EncodeMark")},
		{"Word", number, written(t, "message/word.go", "EncodeWord")},
		{"Answer", number, written(t, "message/word.go", "EncodeAnswer")},
		{"Keys", letter, constants(t, "queue/record/keys.go", "ClassMeta", "ClassRemoved")},
		{"Audit record", number, written(t, "queue/record/auditcodec.go", "AppendAudit")},
		{"Events", number, events()},
		{"Removed instance", number, written(t, "queue/record/removed.go", "EncodeRemoved")},
		{"Refused message", number, constants(t, "queue/record/refused.go", "refusedTime", "refusedHeader")},
		{"Frame", number, tagged(t, "link/frame/codec.go", "wireFrame")},
		{"Types of frames", number, constants(t, "link/frame/frame.go", "TypeHello", "TypeStop")},
		{"Hello", number, tagged(t, "link/frame/codec.go", "wireHello")},
		{"Data", number, tagged(t, "link/frame/codec.go", "wireData")},
		{"Gap", number, tagged(t, "link/frame/codec.go", "wireGap")},
		{"Query", number, tagged(t, "link/frame/codec.go", "wireQuery")},
		{"Reply", number, tagged(t, "link/frame/codec.go", "wireReply")},
		{"Stop", number, tagged(t, "link/frame/codec.go", "wireStop")},
		{"Stop codes", number, constants(t, "link/frame/frame.go", "StopBelowLowest", "StopByPeer")},
		{"Envelope", number, constants(t, "link/seal/envelope.go", "keyVersion", "keyFrame")},
		{"Kinds of envelopes", number, constants(t, "link/seal/envelope.go", "kindHello", "kindFrame")},
	} {
		if diff := cmp.Diff(tc.code, documented(t, tc.heading, tc.like)); diff != "" {
			t.Errorf("formats.md, %s (-in the code +on the page):\n%s", tc.heading, diff)
		}
	}
}

// The small enumerations stand in a line: each number of them is named.
func TestEnumerations(t *testing.T) {
	for _, tc := range []struct{ heading, row, file, first, last string }{
		{"Activity", "kind", "processtable/table.go", "KindProgram", "KindManual"},
		{"Start condition", "operator", "condition/logic.go", "LogicVar", "LogicFailed"},
		{"Header", "control", "message/message.go", "Unresolved", "TrueFailed"},
		{"Header", "data", "message/message.go", "DataNone", "DataWords"},
		{"Header", "lane", "message/message.go", "LaneData", "LaneControl"},
	} {
		row := regexp.MustCompile(`(?m)^\| [0-9]+ \| ` + tc.row + ` \| (.*) \|$`).FindStringSubmatch(section(t, tc.heading))
		if row == nil {
			t.Errorf("%s has no row %s", tc.heading, tc.row)
			continue
		}
		got := unique(regexp.MustCompile(`\b[0-9]+\b`).FindAllString(row[1], -1))
		if diff := cmp.Diff(constants(t, tc.file, tc.first, tc.last), got); diff != "" {
			t.Errorf("%s, %s (-in the code +on the page):\n%s", tc.heading, tc.row, diff)
		}
	}
}

// The page is about the versions that this code writes, and says its limits.
func TestVersionsAndLimits(t *testing.T) {
	if v := []int{processtable.FormatVersion, message.FormatVersion, frame.MaxVersion, seal.Version}; !slices.Equal(v, []int{9, 5, 3, 2}) {
		t.Errorf("the code writes versions %v: describe them in formats.md, beside version 1, which stays", v)
	}
	for heading, want := range map[string][]string{
		"Kinds of types":       {fmt.Sprintf("%d MiB encoded, %d levels", container.MaxEncoded>>20, container.MaxNesting)},
		"Process table":        {fmt.Sprintf("at most %d MiB", processtable.MaxEncoded>>20)},
		"Message":              {fmt.Sprintf("at most %d MiB", message.MaxBody>>20), fmt.Sprintf("at most %d KiB", message.MaxHeader>>10)},
		"Links over a broker":  {fmt.Sprintf("has at most %d KiB, a frame at most %d MiB", seal.MaxHandshake>>10, seal.MaxFrame>>20)},
		"How a session begins": {fmt.Sprintf("remembers the newest %d", seal.Window)},
		"Connection":           {fmt.Sprintf("at most %d MiB, the first one %d KiB", frame.MaxFrame>>20, frame.MaxHello>>10)},
	} {
		for _, w := range want {
			if !strings.Contains(section(t, heading), w) {
				t.Errorf("%s does not say %q", heading, w)
			}
		}
	}
}

// Every request of the API is on the page, and every member of what it takes and gives.
func TestAPI(t *testing.T) {
	text := section(t, "API")
	for _, r := range api.Requests() {
		if !strings.Contains(text, "| `"+r.Pattern+"` |") {
			t.Errorf("%s is not on the page", r.Pattern)
		}
	}
	for row, types := range map[string][]any{
		"status": {api.Status{}}, "activity": {api.Activity{}}, "unreachable": {api.Unreachable{}}, "removed": {api.Removed{}}, "instance": {api.Instance{}, api.ActivityError{}},
		"event": {api.HistoryEvent{}}, "attempt's log": {api.AttemptLog{}}, "wait": {api.Wait{}}, "node": {api.Node{}}, "definition": {api.Definition{}, api.Place{}, api.WrittenOff{}},
		"link": {api.Link{}}, "transport": {api.Transport{}}, "lane": {api.Lane{}}, "broker": {api.Broker{}}, "`GET /v1/links`": {api.LinksAnswer{}},
		"whole refused message": {api.RefusedMessage{}}, "decision": {api.RefusedDecision{}}, "`POST /v1/dead/{number}/drop`": {api.DropRequest{}},
		"refused message": {api.Refused{}}, "table to upload": {api.Table{}}, "line of an upload": {api.UploadNode{}},
		"`POST /v1/instances`": {api.StartRequest{}}, "`GET /v1/instances`": {api.ListAnswer{}},
		"`GET /v1/instances/{id}/history`": {api.HistoryAnswer{}}, "`GET /v1/instances/{id}/why`": {api.WhyAnswer{}},
		"`POST /v1/instances/{id}/retry`": {api.RetryRequest{}}, "`GET /v1/nodes`": {api.NodesAnswer{}},
		"`GET /v1/definitions`": {api.DefinitionsAnswer{}}, "`GET /v1/dead`": {api.RefusedAnswer{}},
		"`POST /v1/upload`": {api.UploadRequest{}, api.UploadAnswer{}},
	} {
		var want []string
		for _, v := range types {
			for f := range fields(reflect.TypeOf(v)) {
				want = append(want, f)
			}
		}
		line := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(row) + ` \|(.*)$`).FindString(text)
		var got []string
		for _, m := range regexp.MustCompile("`([a-z_0-9]+)`").FindAllStringSubmatch(line, -1) {
			got = append(got, m[1])
		}
		if diff := cmp.Diff(unique(want), unique(got)); diff != "" {
			t.Errorf("%s (-in the code +on the page):\n%s", row, diff)
		}
	}
}

// fields gives the names of a structure's members in JSON.
func fields(t reflect.Type) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if t.Field(i).Anonymous { // the page has it in another row
				continue
			}
			if !yield(name) {
				return
			}
		}
	}
}

// Every key that the reader of configurations knows is on the page, with the defaults.
func TestConfigurationKeys(t *testing.T) {
	text := section(t, "Configuration")
	for _, file := range []string{"reader.go", "programs.go", "settings.go", "links.go", "identity.go", "audit.go", "logs.go", "staff.go", "ldap.go"} {
		ast.Inspect(parse(t, "node/config/"+file), func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			key, ok := pair.Key.(*ast.BasicLit)
			if _, function := pair.Value.(*ast.FuncLit); !ok || !function {
				return true
			}
			name, err := strconv.Unquote(key.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text, "`"+name) && !strings.Contains(text, "{"+name+":") {
				t.Errorf("%s: the key %s is not on the page", file, name)
			}
			return true
		})
	}
	for key, def := range map[string]int64{
		"transmission": config.DefaultTransmission, "free": config.DefaultFree, "stop": config.DefaultStop, "reserve": config.DefaultReserve,
	} {
		size := fmt.Sprintf("%dMiB", def>>20)
		if def >= 1<<30 {
			size = fmt.Sprintf("%dGiB", def>>30)
		}
		if !strings.Contains(text, "| `"+key+"` | "+size+" |") {
			t.Errorf("the default of limits.%s, %s, is not on the page", key, size)
		}
	}
	for key, def := range map[string]string{
		"data": config.DefaultData, "socket": config.DefaultSocket, "store": config.DefaultStore,
	} {
		if !strings.Contains(text, "| `"+key+"` | `"+def+"` |") {
			t.Errorf("the default of %s, %s, is not on the page", key, def)
		}
	}
}
