package daemon

import (
	"fmqm/api"
)

// brokerStatus tells of the access to the broker, as the node shows it; the zero Broker: there
// is none.
func (d *Daemon) brokerStatus() api.Broker {
	b := d.broker.Load()
	if b == nil {
		return api.Broker{}
	}
	s := b.Status()
	return api.Broker{
		Address: s.Address, State: string(s.State), Reason: s.Reason, Since: s.Since, Queue: s.Queue, Kind: s.Kind, Server: s.Server,
		Published: s.Published, Confirmed: s.Confirmed, Refused: s.Refused, Returned: s.Returned, Received: s.Received, Dropped: s.Dropped,
	}
}
