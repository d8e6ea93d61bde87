package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Audit says how long what has happened is kept of instances that have ended: what is
// beyond either limit is removed, the oldest instance first. 0: no such limit.
type Audit struct {
	Age   time.Duration // since the last that happened of the instance at this node
	Bytes int64         // of all audit records
}

const (
	day = 24 * time.Hour
	// minAge keeps `90m`, meant as months, from emptying the history.
	minAge = day
	maxAge = 36_500 * day
	// minAudit lets a node keep some instances with large containers.
	minAudit = 16 << 20
)

// audit reads the audit section.
func (r *reader) audit(n *yaml.Node, c *Config) {
	r.mapping(n, "audit", map[string]func(k, v *yaml.Node){
		"age":   func(_, v *yaml.Node) { r.age(v, &c.Audit.Age) },
		"bytes": func(_, v *yaml.Node) { setLimit(r, v, &c.Audit.Bytes, minAudit, maxDisk) },
	})
}

func (r *reader) age(n *yaml.Node, into *time.Duration) {
	const want = "an age in days, such as 90d"
	s, ok := r.scalar(n, want)
	if !ok {
		return
	}
	age, err := parseAge(s)
	switch {
	case err != nil:
		r.add(n, fmt.Sprintf("%q is not an age", s), "write "+want)
	case age < minAge || age > maxAge:
		r.add(n, s+" is out of range", fmt.Sprintf("write an age from %s to %s", ageText(minAge), ageText(maxAge)))
	default:
		*into = age
	}
}

// parseAge reads days (90d), or a duration of hours and less.
func parseAge(s string) (time.Duration, error) {
	days, isDays := strings.CutSuffix(s, "d")
	if !isDays {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseUint(days, 10, 16) // so that no product overflows
	return time.Duration(n) * day, err
}

func ageText(d time.Duration) string {
	if d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return d.String()
}

// String says in words what is kept.
func (a Audit) String() string {
	var limits []string
	if a.Age > 0 {
		limits = append(limits, "for "+ageText(a.Age))
	}
	if a.Bytes > 0 {
		limits = append(limits, "up to "+sizeText(a.Bytes))
	}
	if limits == nil {
		return "kept for ever"
	}
	return "kept " + strings.Join(limits, " and ")
}
