package config

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// retired reads how long a version that is retired can be taken back here: from then on the site gives its final word (N31).
func (r *reader) retired(n *yaml.Node, c *Config) {
	const want = "how long a retired version can be taken back, such as 7d, or 0s"
	s, ok := r.scalar(n, want)
	if !ok {
		return
	}
	d, err := parseAge(s)
	switch {
	case err != nil:
		r.add(n, fmt.Sprintf("%q is not a duration", s), "write "+want)
	case d < 0 || d > maxAge:
		r.add(n, s+" is out of range", "write a duration from 0s to "+ageText(maxAge))
	default:
		c.Retired = &d
	}
}
