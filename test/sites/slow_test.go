package sites

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/test/fleet"
)

// costly goes through a list of costlyList for each of its members: a good part of what one
// condition may cost (condition.MaxCost).
const (
	costly     = "many.all(x, many.exists(y, y == x + 0) || !many.exists(z, z == x))"
	costlyList = 350
)

// Conditions that cost much, in many activities at once: the daemon goes on
// to answer health checks and questions, feeds its watchdog, and every instance ends.
func TestSlowConditionsStarveNobody(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer notify.Close()
	var fed atomic.Int64
	go func() {
		for text := make([]byte, 4096); ; {
			n, err := notify.Read(text)
			if err != nil {
				return
			}
			if strings.Contains(string(text[:n]), "WATCHDOG=1") {
				fed.Add(1)
			}
		}
	}()
	f := fleet.New(t, fleet.Options{
		Sites: []string{"A"}, Env: []string{"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=300000"},
		Programs: func(string) []string { return []string{"pass: {builtin: echo, concurrency: 20}"} },
	})
	s := f.Sites["A"]
	s.Answers()
	var text strings.Builder
	text.WriteString("process: slow\nversion: 1\nstructures: {S: {many: [int]}}\ninput: S\nactivities:\n  last: {node: A, program: pass}\n")
	control, data := "control:\n", "data:\n"
	for i := range 6 {
		fmt.Fprintf(&text, "  a%d: {node: A, program: pass, input: S, output: S}\n", i)
		control += fmt.Sprintf("  - a%d -> last: %q\n", i, costly)
		data += fmt.Sprintf("  - source -> a%d\n", i)
	}
	s.Upload(text.String()+control+data, "--unsigned")
	many := make([]int, costlyList)
	for i := range many {
		many[i] = i
	}
	input, err := json.Marshal(map[string]any{"many": many})
	if err != nil {
		t.Fatal(err)
	}
	var ids []api.InstanceID
	for range 8 {
		ids = append(ids, uuid.Must(uuid.NewV7()))
		if _, err := s.Client.Start(t.Context(), api.StartRequest{Instance: ids[len(ids)-1], Process: "slow", Input: input}); err != nil {
			t.Fatal(err)
		}
	}
	before, asked, longest, began, late := fed.Load(), 0, time.Duration(0), time.Now(), 0
	err = fleet.Until(t.Context(), func() (bool, error) {
		at := time.Now()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Listen+"/livez", nil)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return false, err
		}
		_ = answer.Body.Close()
		if late++; answer.StatusCode == http.StatusOK {
			late = 0
		}
		if late > 1 { // once: a machine that stood still for five seconds does that too
			return false, fmt.Errorf("/livez: %s, twice in a row", answer.Status)
		}
		ended := 0
		for _, id := range ids {
			status, err := s.Client.Status(t.Context(), id)
			switch {
			case err != nil:
				return false, err
			case status.State == api.InstanceFinished:
				ended++
			case status.State != api.InstanceRunning:
				return false, fmt.Errorf("%+v", status)
			}
		}
		asked++
		longest = max(longest, time.Since(at))
		return ended == len(ids), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rounds of questions in %s, the longest took %s; the watchdog was fed %d times", asked, time.Since(began), longest, fed.Load()-before)
	if asked < 3 || longest > time.Minute {
		t.Errorf("%d rounds, the longest of %s", asked, longest)
	}
	if fed.Load() == before {
		t.Error("the watchdog was not fed meanwhile")
	}
	if n := strings.Count(s.Log(), `"message":"ready"`); n != 1 {
		t.Errorf("the daemon has started %d times", n)
	}
}
