package main

import (
	"crypto/ed25519"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/definition"
	purchaseorder "fmqm/examples/purchase-order"
	"fmqm/node/config"
	"fmqm/processtable"
)

// demoProcess is the process of examples/purchase-order.
const demoProcess = "purchase-order"

var demoSites = []string{"A", "B", "C", "D"}

// demoDelay makes each program slow enough to be watched.
const demoDelay = 600 * time.Millisecond

// demoFiles writes the example's files and a configuration for each site. It gives the
// key that tables have to be signed with; nil: none.
func demoFiles(dir string, broker demoBroker) (ed25519.PrivateKey, error) {
	err := fs.WalkDir(purchaseorder.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, path)
		if entry.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := purchaseorder.Files.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o700)
	})
	if err != nil {
		return nil, fmt.Errorf("write the example: %w", err)
	}
	for name, text := range map[string][]byte{demoCount: demoCountText, demoInvoice: demoInvoiceText} {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), text, 0o600); err != nil {
			return nil, fmt.Errorf("write the process %s: %w", name, err)
		}
	}
	for site, text := range demoStaff {
		if err := os.WriteFile(filepath.Join(dir, staffFile(site)), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("write the staff of %s: %w", site, err)
		}
	}
	ports, err := freePorts(len(demoSites))
	if err != nil {
		return nil, err
	}
	var (
		identities map[string]string
		key        ed25519.PrivateKey
	)
	if broker.url != "" {
		if err := broker.guestPassword(dir); err != nil {
			return nil, err
		}
		if identities, key, err = demoIdentities(dir); err != nil {
			return nil, err
		}
	}
	for i, site := range demoSites {
		text := demoYAML(i, site, ports, broker) + identities[site]
		if err := os.WriteFile(demoFile(dir, site), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return key, nil
}

func demoFile(dir, site string) string {
	return filepath.Join(dir, "site-"+strings.ToLower(site)+".yaml")
}

func staffFile(site string) string { return "staff-" + strings.ToLower(site) + ".yaml" }

// demoYAML is a site's configuration, such as a sysadmin would write it.
func demoYAML(i int, site string, ports []int, broker demoBroker) string {
	var b strings.Builder
	small := strings.ToLower(site)
	fmt.Fprintf(&b, "node: %s\ndata: store-%s\nlisten: 127.0.0.1:%d\nsocket: %s.sock\n", site, small, ports[i], small)
	if broker.url == "" {
		b.WriteString("insecure: true   # plain HTTP between the sites of this demo, on this machine\n")
	}
	if site != demoSites[0] {
		fmt.Fprintf(&b, "remote_operators: [{site: %s}]   # who asks there may retry what is in error here\n", demoSites[0])
	}
	if demoStaff[site] != "" {
		fmt.Fprintf(&b, "staff: {file: %s}\n", staffFile(site))
	}
	b.WriteString("links:\n")
	if broker.url != "" {
		b.WriteString(broker.yaml())
	}
	b.WriteString("  peers:\n")
	for j, peer := range demoSites {
		switch {
		case j == i:
		case broker.url != "":
			fmt.Fprintf(&b, "    %s: {via: amqp}\n", peer)
		default:
			fmt.Fprintf(&b, "    %s: http://127.0.0.1:%d\n", peer, ports[j])
		}
	}
	b.WriteString("programs:\n")
	for _, p := range purchaseorder.Programs[site] {
		fmt.Fprintf(&b, "  %s: {exec: [/bin/sh, -c, 'sleep %.1f; exec ./programs/%s'], dir: .}\n", p, demoDelay.Seconds(), p)
	}
	for _, p := range slices.Sorted(maps.Keys(demoShelves[site])) {
		fmt.Fprintf(&b, "  %s: {exec: [/bin/sh, -c, 'sleep %.1f; %s']}\n", p, demoDelay.Seconds(), demoShelves[site][p])
	}
	return b.String()
}

func demoConfig(dir, site string) (*config.Config, error) {
	return config.Load(demoFile(dir, site), func(string) string { return "" }, config.Overrides{})
}

// freePorts finds loopback ports that nobody listens on.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		address, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("find a free port: %s", l.Addr())
		}
		ports[i] = address.Port
	}
	return ports, nil
}

// demoTables compiles a process and signs its tables, as fmqm-define does; key nil:
// unsigned.
func demoTables(dir, process string, key ed25519.PrivateKey) (api.UploadRequest, error) {
	r, err := compile(filepath.Join(dir, process+".yaml"))
	if err != nil || key == nil {
		return r, err
	}
	for i, t := range r.Tables {
		if r.Tables[i].Table, err = processtable.Sign(t.Table, key); err != nil {
			return r, fmt.Errorf("sign the table of %s for %s: %w", t.Process, t.Node, err)
		}
	}
	return r, nil
}

// compile makes the upload of a definition.
func compile(file string) (api.UploadRequest, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return api.UploadRequest{}, err
	}
	processes, problems := definition.Load(file, text)
	for _, p := range problems {
		if p.Severity == definition.Error {
			return api.UploadRequest{}, fmt.Errorf("%s", p.Text(text))
		}
	}
	var r api.UploadRequest
	for _, p := range processes {
		compiled, err := definition.Compile(p)
		if err != nil {
			return r, err
		}
		for i, t := range compiled.Tables {
			r.Tables = append(r.Tables, api.Table{
				Node: string(t.Node), Process: t.Process.String(), Definition: t.Definition.String(), Table: compiled.Encoded[i],
			})
		}
	}
	return r, nil
}
