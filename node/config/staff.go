package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v4"

	"fmqm/staff"
	"fmqm/staff/file"
	"fmqm/staff/ldap"
)

// Staff says who works at this node (N26).
type Staff struct {
	File   string // absolute; with LDAP what it says of the directory's people, or empty
	Socket string // for people of the staff, by their logins; empty: there is none
	// LDAP is the directory that says who works here; nil: File does.
	LDAP *ldap.Settings
	// People is what File says, read when the configuration was; with LDAP nil.
	People *staff.Staff
}

// From says where the staff is from, for people.
func (s *Staff) From() string {
	if s.LDAP != nil {
		return s.LDAP.URL
	}
	return s.File
}

// StaffKept is the file in which the daemon keeps what the directory said last.
func (c *Config) StaffKept() string { return filepath.Join(c.Data, "staff", "ldap.yaml") }

// staff reads where the staff is listed; who it is, readStaff reads, once the node's name is known.
func (r *reader) staff(k, v *yaml.Node, c *Config) {
	var s Staff
	before := len(r.problems)
	r.mapping(v, "staff", map[string]func(k, v *yaml.Node){
		"file": func(_, v *yaml.Node) { r.fileName(v, &s.File) },
		"ldap": r.ldap,
		"socket": func(_, v *yaml.Node) {
			path, ok := r.text(v)
			if !ok {
				return
			}
			if s.Socket = r.abs(path); len(s.Socket) > maxSocket {
				r.add(v, fmt.Sprintf("the path of the socket, %s, has %d bytes; the system allows %d", s.Socket, len(s.Socket), maxSocket), "use a shorter one")
			}
			r.workSocketAt = v
		},
	})
	if len(r.problems) > before {
		return
	}
	switch {
	case r.directory != nil:
		s.LDAP = &r.directory.settings
	case s.File == "":
		r.add(k, "staff has no file", "write staff: {file: FILE}, with the people of this node in FILE; docs/staff.md shows how")
		return
	}
	c.Staff = &s
}

// checkStaff says where both sockets are one.
func (r *reader) checkStaff(c *Config) {
	if c.Staff != nil && c.Staff.Socket != "" && c.Staff.Socket == c.Socket {
		r.add(r.workSocketAt, c.Socket+" is the socket of this node's operators", "give the staff's socket another name, such as work.sock: everybody on this machine may open it")
	}
}

// readStaff reads the staff's file. Its problems have places in that file.
func (r *reader) readStaff(c *Config) {
	if c.Staff == nil || c.Staff.File == "" || c.Node == "" {
		return
	}
	var err error
	at := staff.Site{Node: c.Node, Zone: time.Local}
	if l := c.Staff.LDAP; l != nil {
		l.Extra.File = c.Staff.File
		l.Extra.People, err = file.ReadExtra(c.Staff.File, at)
	} else {
		c.Staff.People, err = file.Read(c.Staff.File, at)
	}
	var wrong file.Problems
	if errors.As(err, &wrong) {
		for _, p := range wrong {
			r.problems = append(r.problems, Problem(p))
		}
	}
}
