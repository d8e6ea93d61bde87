package condition

// form is what a text is: problems and errors call it so.
type form uint8

const (
	aCondition   form = iota // gives TRUE or FALSE
	anExpression             // gives a value
	aStaff                   // says who may do something
)

// forms are how each is called, and remedies that are its own.
var forms = [...]struct{ name, any, empty, shorter, without, cheaper string }{
	aCondition: {
		name: "condition", any: "a condition",
		empty:   "write one, or leave it out if it always holds",
		shorter: "let the program compute a member of type bool, and test that member",
		without: "leave it out, and write only what must be TRUE",
		cheaper: "make the texts and lists in its output shorter, or its conditions fewer or simpler; `fmqm retry INSTANCE ACTIVITY --output JSON` continues with a shorter output",
	},
	anExpression: {
		name: "expression", any: "an expression",
		empty:   "write one, such as the name of a member",
		shorter: "let the program compute a member, and name that member",
		without: "write it as in n > 1 ? a : b",
		cheaper: "make the texts and lists that it reads and gives shorter, or the expression simpler",
	},
	aStaff: {
		name: "staff expression", any: "a staff expression",
		empty:   `write who may do it, such as role("clerk")`,
		shorter: "give a role to those who may do it, and name that",
		without: "leave it out, and write who may do it",
		cheaper: "make the texts and lists in its input shorter",
	},
}

func (f form) String() string { return forms[f].name }
