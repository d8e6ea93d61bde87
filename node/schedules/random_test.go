package schedules

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// N23: whenever the daemon dies, however long it is away and whenever the node takes on no work, with
// missed: all each time has its instance, in order, and no time has two. The clock goes right here;
// testdata/clock.txt has what is set.
func TestEachTimeHasOneInstance(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &stage{t: t, tables: map[processtable.ProcessID]*processtable.Table{}, stored: map[string]record.Schedule{}, standing: map[message.InstanceID]bool{}}
		begun := time.Date(2026, 3, 28, 12, 34, 56, 0, time.UTC) // Berlin's clock jumps the next night
		s.begin(begun)
		s.upload(`
process: night
version: 1
schedule: {node: office, cron: "0,20 * * * *", zone: Europe/Berlin, missed: all}
activities:
  plan: {node: office, program: plan}
`)
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0:
				s.site.Kill()
				s.pass(time.Duration(rapid.IntRange(0, 100).Draw(rt, "away")) * time.Minute)
				s.dies = ""
				s.start()
			case 1:
				s.dies = rapid.SampledFrom([]string{"start", "record"}).Draw(rt, "dies at")
				s.pass(25 * time.Minute)
				s.site.Kill()
				s.dies = ""
				s.start()
			case 2:
				s.held = !s.held
			default:
				s.pass(time.Duration(rapid.IntRange(1, 1500).Draw(rt, "passes")) * time.Second)
			}
		}
		s.held = false
		s.pass(2 * again)
		times := planOf(s.Tables()[0]).times[0]
		var want string
		due, _ := times.Latest(begun, s.site.Now(), 10_000)
		for _, at := range due {
			want += fmt.Sprintf("schedule office %s\n", at.Format(time.RFC3339))
		}
		if diff := cmp.Diff(want, s.keys); diff != "" {
			rt.Fatalf("what is started (-want +got):\n%s", diff)
		}
	})
}
