package definition

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
)

// What was probably meant where the language does not understand what is written.

// configurationKeys are keys of the configuration of a node that a process does not have.
var configurationKeys = []string{
	"node", "listen", "socket", "store", "insecure", "identity", "network", "operators", "remote_operators", "old_signatures", "definers",
	"links", "programs", "limits", "audit",
}

// otherFile reports a document that is of another kind: without a key of a process, in this
// language or in the words of another, or with those of a configuration.
func (l *loader) otherFile(root *yaml.Node) bool {
	known, configured := 0, 0
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch key := root.Content[i].Value; {
		case key == "process" || key == "activities":
			return false
		case slices.Contains(configurationKeys, key):
			configured++
			if key == "node" { // every configuration has it
				configured++
			}
		case l.isProcessKey(key):
			known++
		}
	}
	switch {
	case configured > 1:
		l.fail(l.pos(root), codeForm, "this is the configuration of a node, not a process definition", "check it with `fmqmd check-config FILE`")
	case known == 0 && len(root.Content) > 0:
		l.fail(l.pos(root), codeForm, "this is not a process definition: it has none of the keys of one", "name another file, or begin with `process: NAME` and `version: 1`")
	default:
		return false
	}
	return true
}

// isProcessKey says whether a key is one of a process, or was meant to be.
func (l *loader) isProcessKey(key string) bool {
	_, near := l.nearest(key, []string{"process", "activities", "control", "structures"})
	return near || slices.Contains(processKeys, key) || foreignKeys["a process"][strings.ToLower(key)].key != ""
}

// otherArrow is an arrow as others write it.
var otherArrow = regexp.MustCompile(`-{2,}>|={1,2}>|[–—]>|[→⇒]|<-+`)

// wrongArrow reports a connector with an arrow of another kind.
func (d *draft) wrongArrow(n *yaml.Node, example string) bool {
	at := otherArrow.FindStringIndex(n.Value)
	if n.Kind != yaml.ScalarNode || at == nil {
		return false
	}
	d.fail(d.within(n, at[0]), codeForm, fmt.Sprintf("%s is not an arrow of the language", n.Value[at[0]:at[1]]),
		"write `- "+example+"`, from the source to the target")
	return true
}

// memberAsEnd is the remedy for a connector `a.n -> b.n`.
func (d *draft) memberAsEnd(name string) (string, bool) {
	activity, _, dotted := strings.Cut(name, ".")
	_, known := d.byName[activity]
	return "a connector leads from activity to activity; name members behind its colon, as `- a -> b: {target: source}`", dotted && known
}

// insideAsEnd is the remedy for a connector to what is inside of a composite: count[0], documents#2, documents/check.
func (d *draft) insideAsEnd(name string) (string, bool) {
	at := strings.IndexAny(name, "[#/.")
	if at < 0 {
		return "", false
	}
	around, known := d.byName[name[:at]]
	_, inside := d.home[name[at+1:]]
	switch {
	case !known || name[at] == '.' && !inside:
		return "", false
	case name[at] == '[' && around.Bundle != nil:
		return fmt.Sprintf("%s is connected as a whole, when all its elements have ended: write %[1]s, and read _RESULTS", around.Name), true
	}
	return fmt.Sprintf("%s is connected as a whole: write %[1]s; what is needed from inside is mapped to its sink", around.Name), true
}

// processEnds are words of others for source and sink.
var processEnds = map[string]string{
	"input": sourceEnd, "inputs": sourceEnd, "start": sourceEnd, "begin": sourceEnd, "output": sinkEnd, "outputs": sinkEnd, "result": sinkEnd, "end": sinkEnd,
}

// endMeant is end where `source` or `sink` may be meant.
func (d *draft) endMeant(name string, at Pos, process string) *step {
	if d.byName[name] == nil && d.home[name] == nil && !d.stepsUnknown {
		_, near := d.nearest(name, []string{process})
		if near || processEnds[strings.ToLower(name)] == process {
			d.fail(at, codeUnknownName, fmt.Sprintf("unknown activity %s", name), "did you mean "+process)
			return nil
		}
	}
	return d.end(name, at, process)
}

// mappingRemedy writes out what a text or a list instead of {target: source} means.
func mappingRemedy(n *yaml.Node, from, to dataEnd) string {
	names := n.Content
	if n.Kind == yaml.ScalarNode {
		names = []*yaml.Node{n}
	}
	var all []string
	for _, name := range names {
		_, source := from.members.MemberIndex(name.Value)
		_, target := to.members.MemberIndex(name.Value)
		if source && target {
			all = append(all, name.Value+": "+name.Value)
		}
	}
	if len(all) == 0 || len(all) < len(names) {
		return "write {target: source}, or leave the mapping out: then members of the same name and type are mapped"
	}
	return "write {" + strings.Join(all, ", ") + "}"
}

// otherwiseMeant reports a transition condition that says `otherwise` in another word.
func (d *draft) otherwiseMeant(n *yaml.Node, source *step) bool {
	text := strings.TrimSpace(n.Value)
	if !slices.Contains([]string{"else", "default", otherwise}, strings.ToLower(text)) {
		return false
	}
	remedy := fmt.Sprintf("write `otherwise`: it is TRUE if %s ran and every other connector out of it is FALSE", source.Name)
	if source == d.head {
		remedy = "write `otherwise`: it is TRUE if every other condition out of source is FALSE"
	}
	d.fail(d.pos(n), codeCondition, fmt.Sprintf("%s is not a condition", text), remedy)
	return true
}

// withoutOwner mends the remedies of a condition that names whose output it reads, or of
// which type that is: a.n. Out of source it reads an input.
func (d *draft) withoutOwner(text string, s *step, problems []condition.Problem) []condition.Problem {
	mended := slices.Clone(problems)
	for i, p := range mended {
		if s == d.head {
			mended[i] = d.ofInput(text, p)
		}
		for _, owner := range []string{s.Name, s.Output.Name, s.output.key, "source"} {
			if rest, ok := strings.CutPrefix(text[min(p.Offset, len(text)):], owner+"."); ok && owner != "" {
				member := firstName.FindString(rest)
				if strings.HasPrefix(rest[len(member):], "(") { // a function of it
					member = member[:max(0, strings.LastIndexByte(member, '.'))]
				}
				if member != "" {
					mended[i].Remedy = fmt.Sprintf("a condition reads %s, by the names of its members only: write %s", d.given(s), member)
				}
			}
		}
	}
	return mended
}

// ofInput is a problem of a condition out of source, which is about no activity.
func (d *draft) ofInput(text string, p condition.Problem) condition.Problem {
	switch {
	case strings.HasPrefix(text[min(p.Offset, len(text)):], condition.RC):
		p.Message, p.Remedy = fmt.Sprintf("%s has no _RC", d.given(d.head)), "a return code is of an activity that has run: name a member of the input"
	case len(d.input.members.Members) == 0 && strings.HasPrefix(p.Message, "there is no member"):
		p.Message, p.Remedy = fmt.Sprintf("%s declares no input container, so there is nothing to read", d.owner), "write `input: STRUCTURE` at "+d.owner
	}
	return p
}

// given names the container that conditions out of an activity, or of source, are over.
func (d *draft) given(s *step) string {
	if s == d.head {
		return "the input of " + d.owner
	}
	return "the output of " + s.Name
}

var (
	firstName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*`)
	endMeantOf   = regexp.MustCompile(`\b(ran|skipped|failed)[ \t]+([A-Za-z_]\w*)\b`)
	appendMeant  = regexp.MustCompile(`^append(?:\s+|\s*\(\s*)([A-Za-z_][\w.]*)\s*\)?$`)
	atLeastMeant = regexp.MustCompile(`^(?:at[_ -]?least\W*)?([0-9]+)\W*$`)
)

// startMeant is the remedy for a start condition in another form.
func startMeant(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if m := atLeastMeant.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("write start: {at_least: %s}", m[1]), true
	}
	if m := firstMeant.FindStringSubmatch(strings.ToLower(text)); m != nil {
		return fmt.Sprintf("write start: {first: %s}", m[1]), true
	}
	if lower := strings.ToLower(text); lower == "all" || lower == "any" || lower == startFirst {
		return "write start: " + lower, true
	}
	if m := endMeantOf.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("write %s(%s)", m[1], m[2]), true
	}
	if firstWord.MatchString(text) {
		return "write `start: first` or {first: 2} alone: it counts the connectors that are TRUE, and asks nothing else", true
	}
	return "", false
}

// foreignIndent reports white space that YAML does not take for indentation, in the lines
// up to one where it stumbled.
func (l *loader) foreignIndent(number int) bool {
	for n := number; n > 0 && n > number-50; n-- {
		line := l.line(n)
		indent := line[:len(line)-len(strings.TrimLeftFunc(line, unicode.IsSpace))]
		for at, r := range []rune(indent) {
			if r != ' ' && r != '\t' {
				l.fail(Pos{l.file, n, at + 1}, codeSyntax, fmt.Sprintf("not YAML: the line is indented with a character that is not a space (%U)", r),
					"replace it with spaces: it often comes with text that is copied from a web page")
				return true
			}
		}
	}
	return false
}
