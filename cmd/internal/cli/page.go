package cli

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"
)

// CheckPage says what a page in Markdown has people type that app would not understand:
// the lines of its blocks of code, and what stands as code in its text, where arguments
// may be left out. A line that leaves something out (…) is passed over. It gives how many
// it has looked at.
func CheckPage(app *cli.App, page string) (wrong []string, checked int) {
	check := func(line string, args []string, passing bool) {
		checked++
		err := CheckLine(app, args)
		if err != nil && passing { // what names a command in passing may lack its arguments
			_, err = parse(app, append(args, "--help"))
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%q: %v", strings.TrimSpace(line), err))
		}
	}
	fenced := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if fenced || strings.HasPrefix(line, "    ") {
			if args := typed(app.Name, line); args != nil {
				check(line, args, false)
			}
			continue
		}
		for _, code := range inlineCode.FindAllStringSubmatch(line, -1) {
			if args := typed(app.Name, code[1]); len(args) > 0 && strings.HasPrefix(code[1], app.Name+" ") && !signed.MatchString(code[1]) {
				check(code[1], args, true)
			}
		}
	}
	return wrong, checked
}

var (
	// signed is a text with which what is signed begins, as formats.md has them.
	signed     = regexp.MustCompile(`^[a-z -]+ [0-9]+$`)
	inlineCode = regexp.MustCompile("`([^`]+)`")
	remark     = regexp.MustCompile(`(?:^|\s)#.*`)
	shellEnd   = regexp.MustCompile(`^(?:[|&;]+|[0-9&]?>.*|<.*)$`)
)

// typed gives what a shell would give the program in a line; nil if the program is not
// called in it, or something is left out, or needs the shell to be known.
func typed(program, line string) []string {
	line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
	if strings.ContainsAny(line, "…$\\") || strings.Contains(line, "...") {
		return nil
	}
	var args []string
	for _, word := range words(remark.ReplaceAllString(line, "")) {
		bare := strings.TrimSuffix(word, ";")
		switch {
		case args == nil && path.Base(word) == program:
			args = []string{}
		case args == nil:
			if !strings.Contains(word, "=") && word != "sudo" { // of another program
				return nil
			}
		case shellEnd.MatchString(word):
			return args
		case bare != word:
			return append(args, bare)
		default:
			args = append(args, word)
		}
	}
	return args
}
