package queue_test

import "fmqm/processtable"

var procP = processtable.ProcessID{Name: "p", Version: 1}

func activity(s string) processtable.ActivityID { return processtable.ActivityID(s) }
