package trust

import "fmqm/processtable"

// Operators say whose requests a node takes over its links (invariant 11): what one of them
// takes is taken. Nobody's are, if there are none.
type Operators []Operator

// Operator are operators at other sites.
type Operator struct {
	// Site is the name of the asking site, in which * stands for any characters.
	Site string
	// Operators are names as api.ValidOperator has them, with *; nil: whoever asks there, also
	// who has no name.
	Operators []string
}

// Take says whether a request of an operator at a site is taken. An empty name is nobody's.
func (o Operators) Take(site processtable.NodeID, operator string) bool {
	for _, one := range o {
		if one.takes(site, operator) {
			return true
		}
	}
	return false
}

func (o Operator) takes(site processtable.NodeID, operator string) bool {
	return allowed([]string{o.Site}, string(site)) && (o.Operators == nil || operator != "" && allowed(o.Operators, operator))
}
