# Read by the other programs: takes the input container, one JSON object in one line,
# from standard input. A name between quotes before a colon is always a member there,
# since quotes inside a text are written \".

input=$(cat)

# text MEMBER gives a text as JSON has it between the quotes.
text() {
	printf '%s\n' "$input" | sed -nE 's/.*"'"$1"'": *"(([^"\\]|\\.)*)".*/\1/p'
}

# number MEMBER gives a number.
number() {
	printf '%s\n' "$input" | sed -nE 's/.*"'"$1"'": *([-+.0-9eE]+).*/\1/p'
}

# list MEMBER gives a list of texts without its brackets.
list() {
	printf '%s\n' "$input" | sed -nE 's/.*"'"$1"'": *\[([^]]*)\].*/\1/p'
}
