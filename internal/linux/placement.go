package linux

// A Placement says where the threads of workers run, and before whom. The zero
// value leaves that to the system.
type Placement struct {
	CPUs     []int // worker i runs on CPUs[i] alone, beginning anew behind the last; none: anywhere
	Realtime bool  // before all ordinary threads, see realtime
}

// Enter places the calling thread, which must be locked and is of a worker
// counted from 0, and returns how to end that on the same thread.
func (p *Placement) Enter(worker int) (leave func(), err error) {
	var undo []func()
	leave = func() {
		for _, f := range undo {
			f()
		}
	}
	if len(p.CPUs) > 0 {
		f, err := pin(p.CPUs[worker%len(p.CPUs)])
		if err != nil {
			return nil, err
		}
		undo = append(undo, f)
	}
	if p.Realtime {
		f, errRealtime := realtime()
		if errRealtime != nil {
			leave()
			return nil, errRealtime
		}
		undo = append(undo, f)
	}
	return leave, nil
}
