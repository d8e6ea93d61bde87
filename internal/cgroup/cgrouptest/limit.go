package cgrouptest

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"fmqm/internal/skip"
)

// LimitTasks limits what a delegated group may have, as TasksMax= of a unit does. Where
// only the older hierarchy counts, a process limits itself: it writes its number to the
// file that join names; else join is empty.
func LimitTasks(t *testing.T, dir string, uid, tasks int) (join string) {
	t.Helper()
	limit := []byte(strconv.Itoa(tasks))
	if os.WriteFile(filepath.Join(dir, "pids.max"), limit, 0) == nil {
		return ""
	}
	older, err := os.MkdirTemp("/sys/fs/cgroup/pids", "fmqm-test-")
	if err == nil {
		t.Cleanup(func() {
			for late := time.Now().Add(time.Minute); os.Remove(older) != nil && time.Now().Before(late); {
				_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
			}
		})
		err = os.WriteFile(filepath.Join(older, "pids.max"), limit, 0)
	}
	join = filepath.Join(older, "cgroup.procs")
	for _, path := range []string{older, join} {
		if err == nil {
			err = os.Chown(path, uid, uid)
		}
	}
	if err != nil {
		skip.Untested(t, "a fork bomb: nothing here limits how many processes there may be: %v", err)
	}
	return join
}
