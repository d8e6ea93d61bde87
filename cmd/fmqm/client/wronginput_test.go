package client_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/cli"
	"fmqm/container"
)

// Everything that a node finds wrong with a container is told with its line and column in
// what was given, although it was sent in another layout.
func TestEverythingWrongIsToldWithItsPlace(t *testing.T) {
	order := container.NewStructure("Order", []container.Member{
		{Name: "item", Type: container.Scalar(container.String)}, {Name: "quantity", Type: container.Scalar(container.Int)},
	})
	judge := func(text []byte) error {
		if _, err := container.DecodeJSON(order, text); err != nil {
			return api.ContainerErrorf(api.CodeRefused, err, "see the process's `input` structure", "start p@1: input")
		}
		return nil
	}
	to := apitest.Serve(t, &apitest.Backend{
		OnStart: func(_ context.Context, r api.StartRequest) (api.Status, error) { return api.Status{}, judge(r.Input) },
		OnRetry: func(_ context.Context, _ api.InstanceID, r api.RetryRequest) (api.Word, error) {
			return api.Word{}, judge(r.Output)
		},
	})
	const wrong = "\n\n{\n  \"itme\": \"<ä&>\",\n\n  \"quantity\":   \"two\" }\n"
	file := filepath.Join(t.TempDir(), "order.json")
	if err := os.WriteFile(file, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	both := func(name, flag string) string {
		return name + ":4:3: itme: unknown member; Order has item, quantity: did you mean item\n" +
			name + ":6:17: quantity: expected int, found \"two\": write an integer of 64 bits, such as 42\n" +
			"fmqm: " + flag + ": 2 things are wrong: correct them, then try again\n"
	}
	for _, tc := range []struct {
		line []string
		want string
	}{
		{[]string{"start", "p", "--input", "@" + file}, both(file, "--input")},
		{[]string{"start", "p", "-n", "3", "--input", "@" + file}, both(file, "--input")},
		{[]string{"start", "p", "--input", "-"}, both("<stdin>", "--input")},
		{[]string{"start", "p", "--input", `{"item": 5}`}, "fmqm: --input:1:10: item: expected string, found 5: write a string, such as \"text\"\n"},
		{[]string{"retry", id, "credit", "--output", "@" + file}, both(file, "--output")},
	} {
		want(t, strings.Join(tc.line, " "), fmqm(to, wrong, tc.line...), result{cli.ExitRefused, "", tc.want})
	}
}
