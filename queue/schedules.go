package queue

import (
	"fmt"

	"fmqm/internal/store"
	"fmqm/queue/record"
)

// Schedules says how far this node has come with the schedules of each process that it has, or had,
// by name (N23).
func (m *Manager) Schedules() (map[string]record.Schedule, error) {
	all := map[string]record.Schedule{}
	err := m.read.Each(store.ScanOptions{Prefix: record.ScheduleKeys()}, func(key, value []byte) error {
		s, err := record.ReadSchedule(key, value)
		all[s.Process] = s
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read how far the schedules are: %w", m.read.Judge(err))
	}
	return all, nil
}
