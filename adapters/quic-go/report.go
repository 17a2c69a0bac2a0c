package main

import (
	"encoding/json"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"golang.org/x/sys/unix"
)

// sampleEvery is the time between two rows of a series.
const sampleEvery = 10 * time.Millisecond

// report is what an end says of its transfer, as `quiclab.report/1` (docs/adapters.md). Times are those of
// CLOCK_MONOTONIC in nanoseconds; nil where something did not happen.
type report struct {
	Schema      string                `json:"schema"`
	StartedNs   *int64                `json:"started_ns"`
	ConnectedNs *int64                `json:"connected_ns"`
	FirstByteNs *int64                `json:"first_byte_ns"`
	FinishedNs  *int64                `json:"finished_ns"`
	Bytes       int64                 `json:"bytes"`
	Failure     *string               `json:"failure"`
	Statistics  map[string]float64    `json:"statistics"`
	Samples     map[string][]*float64 `json:"samples"`

	lock       sync.Mutex
	nextSample int64
}

func newReport() *report {
	return &report{
		Schema:     "quiclab.report/1",
		Statistics: map[string]float64{},
		Samples:    map[string][]*float64{"time_ns": {}},
	}
}

// monotonicNs is what CLOCK_MONOTONIC shows: both ends and the network share it.
func monotonicNs() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic("every Linux has CLOCK_MONOTONIC: " + err.Error())
	}
	return now.Nano()
}

// note writes the present time to one of the times, if it has none.
func (r *report) note(at **int64) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if *at == nil {
		now := monotonicNs()
		*at = &now
	}
}

// add counts bytes of answers, and samples their sum on the receiver.
func (r *report) add(bytes int, sampled bool) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.Bytes += int64(bytes)
	if now := monotonicNs(); sampled && r.nextSample <= now {
		r.nextSample = now + sampleEvery.Nanoseconds()
		r.row(now, map[string]float64{"delivered_bytes": float64(r.Bytes)})
	}
}

// sample adds a row with the state of recovery.
func (r *report) sample(conn *quic.Conn) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.row(monotonicNs(), state(conn))
}

func (r *report) row(now int64, values map[string]float64) {
	time := float64(now)
	r.Samples["time_ns"] = append(r.Samples["time_ns"], &time)
	for name, value := range values {
		r.Samples[name] = append(r.Samples[name], &value)
	}
}

// tellConnection adds values of the whole connection.
func (r *report) tellConnection(conn *quic.Conn) {
	r.lock.Lock()
	defer r.lock.Unlock()
	stats := conn.ConnectionStats()
	for name, value := range state(conn) {
		r.Statistics[name] = value
	}
	r.Statistics["packets_sent"] = float64(stats.PacketsSent)
	r.Statistics["packets_received"] = float64(stats.PacketsReceived)
	r.Statistics["bytes_sent"] = float64(stats.BytesSent)
}

// tellResponseTimes adds mean, smallest, largest and 95th percentile (nearest rank) of response times.
func (r *report) tellResponseTimes(times []time.Duration) {
	if len(times) < 2 {
		return
	}
	slices.Sort(times)
	var sum time.Duration
	for _, took := range times {
		sum += took
	}
	ms := func(took time.Duration) float64 { return float64(took.Nanoseconds()) / 1e6 }
	r.Statistics["responses"] = float64(len(times))
	r.Statistics["response_time_ms_mean"] = ms(sum) / float64(len(times))
	r.Statistics["response_time_ms_min"] = ms(times[0])
	r.Statistics["response_time_ms_max"] = ms(times[len(times)-1])
	r.Statistics["response_time_ms_p95"] = ms(times[(len(times)*95+99)/100-1])
}

// state is the state of recovery, with the names that all stacks share.
func state(conn *quic.Conn) map[string]float64 {
	stats := conn.ConnectionStats()
	return map[string]float64{
		"cwnd_bytes":   float64(stats.CongestionWindow),
		"srtt_ms":      float64(stats.SmoothedRTT.Nanoseconds()) / 1e6,
		"min_rtt_ms":   float64(stats.MinRTT.Nanoseconds()) / 1e6,
		"lost_packets": float64(stats.PacketsLost),
	}
}

// write writes the report; the file appears when it is complete.
func (r *report) write(path string, failure error) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	if failure != nil {
		sentence := failure.Error()
		r.Failure = &sentence
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", text, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}
