package apitest

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"fmqm/api"
	"fmqm/definition"
)

// Tables compiles processes, and gives their tables as `fmqm-define upload --unsigned` sends them.
func Tables(processes ...*definition.Process) ([]api.Table, error) {
	var all []api.Table
	for _, p := range processes {
		compiled, err := definition.Compile(p)
		if err != nil {
			return nil, err
		}
		for i, t := range compiled.Tables {
			sum := sha256.Sum256(compiled.Encoded[i])
			all = append(all, api.Table{
				Node: string(t.Node), Process: t.Process.String(), Definition: t.Definition.String(),
				SHA256: hex.EncodeToString(sum[:]), Table: compiled.Encoded[i],
			})
		}
	}
	return all, nil
}

// Upload gives the request that uploads the processes of a definition, which has no errors.
func Upload(t testing.TB, text string) api.UploadRequest {
	t.Helper()
	processes, problems := definition.Load("test.yaml", []byte(text))
	for _, p := range problems {
		if p.Severity == definition.Error {
			t.Fatal(p.Text([]byte(text)))
		}
	}
	tables, err := Tables(processes...)
	if err != nil {
		t.Fatal(err)
	}
	return api.UploadRequest{Tables: tables}
}
