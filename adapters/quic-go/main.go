// Command quiclab-quic-go is a sender and a receiver on quic-go, for the kernel lane of quiclab.
//
// The client opens a stream for each request; the server answers on it with a number of bytes, or for a time.
// The first eight bytes of a request (where it has as many) say when the client started, by CLOCK_MONOTONIC.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
)

const (
	protocol   = "quiclab"
	writeBytes = 64 << 10
	readBytes  = 1 << 20
	startBytes = 8
	maxStreams = 100_000
)

type arguments struct {
	address, certificate, key, name, report string
	port, request, count                    int
	response                                int64
	duration, pause                         float64
	packetSize                              int
	streamWindow, connectionWindow          uint64
}

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("usage: quiclab-quic-go server|client|version [options]"))
	}
	if os.Args[1] == "version" {
		fmt.Println("quiclab-quic-go, quic-go " + version())
		return
	}
	args := parse(os.Args[1], os.Args[2:])
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	said := newReport()
	run := roles[os.Args[1]]
	if run == nil {
		fail(fmt.Errorf("%s: allowed is server, client or version", os.Args[1]))
	}
	failure := run(ctx, args, said)
	if ctx.Err() != nil {
		failure = nil // it was asked to stop: what there is, is reported
	}
	if err := said.write(args.report, failure); err != nil {
		fail(err)
	}
	if failure != nil {
		fail(failure)
	}
}

var roles = map[string]func(context.Context, arguments, *report) error{"server": serve, "client": receive}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "quiclab-quic-go:", err)
	os.Exit(1)
}

func parse(role string, words []string) (args arguments) {
	flags := flag.NewFlagSet(role, flag.ExitOnError)
	flags.StringVar(&args.address, "address", "", "address of the server")
	flags.IntVar(&args.port, "port", 4433, "its port")
	flags.StringVar(&args.certificate, "certificate", "", "certificate (PEM)")
	flags.StringVar(&args.key, "key", "", "private key (PEM)")
	flags.StringVar(&args.name, "name", "", "name in the certificate")
	flags.StringVar(&args.report, "report", "", "file for the report")
	flags.IntVar(&args.request, "request", 100, "length of each request in bytes")
	flags.IntVar(&args.count, "count", 1, "number of requests")
	flags.Float64Var(&args.pause, "pause", 0, "pause between two requests in seconds")
	flags.Int64Var(&args.response, "response", -1, "length of each answer in bytes")
	flags.Float64Var(&args.duration, "duration", 0, "time to send, from the client's start, in seconds")
	flags.IntVar(&args.packetSize, "datagram-size", 0, "UDP payload in bytes, for good")
	flags.Uint64Var(&args.streamWindow, "stream-receive-window", 0, "initial and largest window of a stream in bytes")
	flags.Uint64Var(&args.connectionWindow, "connection-receive-window", 0, "the same of the connection")
	flags.Parse(words)
	return args
}

func (args arguments) config() *quic.Config {
	return &quic.Config{
		MaxIdleTimeout:                 time.Hour,
		MaxIncomingStreams:             maxStreams,
		InitialPacketSize:              uint16(args.packetSize),
		DisablePathMTUDiscovery:        args.packetSize != 0,
		InitialStreamReceiveWindow:     args.streamWindow,
		MaxStreamReceiveWindow:         args.streamWindow,
		InitialConnectionReceiveWindow: args.connectionWindow,
		MaxConnectionReceiveWindow:     args.connectionWindow,
	}
}

func (args arguments) endpoint() string {
	return net.JoinHostPort(args.address, strconv.Itoa(args.port))
}

func serve(ctx context.Context, args arguments, report *report) error {
	certificate, err := tls.LoadX509KeyPair(args.certificate, args.key)
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{protocol}}
	listener, err := quic.ListenAddr(args.endpoint(), config, args.config())
	if err != nil {
		return err
	}
	conn, err := listener.Accept(ctx)
	if err != nil {
		return err
	}
	report.note(&report.StartedNs)
	go func() {
		for range time.Tick(sampleEvery) {
			report.sample(conn)
		}
	}()
	defer report.tellConnection(conn)
	for {
		stream, err := conn.AcceptStream(ctx)
		if err != nil {
			report.note(&report.FinishedNs)
			return closed(err)
		}
		if err := answer(args, stream, report); err != nil {
			return closed(err)
		}
	}
}

// closed is nil for the end that a client makes when it has everything.
func closed(err error) error {
	var application *quic.ApplicationError
	if errors.As(err, &application) && application.ErrorCode == 0 {
		return nil
	}
	return err
}

func answer(args arguments, stream *quic.Stream, report *report) error {
	request, err := io.ReadAll(stream)
	if err != nil {
		return err
	}
	start := monotonicNs()
	if len(request) >= startBytes {
		start = int64(binary.BigEndian.Uint64(request))
	}
	zeros := make([]byte, writeBytes)
	end := start + int64(args.duration*1e9)
	for left := args.response; left != 0 && (args.duration == 0 || monotonicNs() < end); {
		chunk := zeros
		if left > 0 && left < writeBytes {
			chunk = zeros[:left]
		}
		written, err := stream.Write(chunk)
		report.add(written, false)
		if err != nil {
			return err
		}
		if left > 0 {
			left -= int64(written)
		}
	}
	return stream.Close()
}

func receive(ctx context.Context, args arguments, report *report) error {
	pem, err := os.ReadFile(args.certificate)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s: there is no certificate in it", args.certificate)
	}
	keys, err := keyLog()
	if err != nil {
		return err
	}
	config := &tls.Config{RootCAs: roots, ServerName: args.name, NextProtos: []string{protocol}, KeyLogWriter: keys}
	report.note(&report.StartedNs)
	conn, err := quic.DialAddr(ctx, args.endpoint(), config, args.config())
	if err != nil {
		return fmt.Errorf("no connection to %s: %w", args.endpoint(), err)
	}
	report.note(&report.ConnectedNs)
	defer conn.CloseWithError(0, "")
	defer report.tellConnection(conn)
	var times []time.Duration
	for number := range args.count {
		if number > 0 {
			time.Sleep(time.Duration(args.pause * 1e9))
		}
		asked := time.Now()
		if err := ask(ctx, args, conn, report); err != nil {
			return err
		}
		times = append(times, time.Since(asked))
	}
	report.note(&report.FinishedNs)
	report.tellResponseTimes(times)
	return nil
}

// keyLog is where SSLKEYLOGFILE says that secrets go; nil without it.
func keyLog() (io.Writer, error) {
	path := os.Getenv("SSLKEYLOGFILE")
	if path == "" {
		return nil, nil
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

func ask(ctx context.Context, args arguments, conn *quic.Conn, report *report) error {
	stream, err := conn.OpenStreamSync(ctx)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { stream.CancelRead(0) })
	defer stop()
	request := make([]byte, args.request)
	if len(request) >= startBytes {
		binary.BigEndian.PutUint64(request, uint64(*report.StartedNs))
	}
	if _, err := stream.Write(request); err != nil {
		return err
	}
	if err := stream.Close(); err != nil {
		return err
	}
	buffer := make([]byte, readBytes)
	for {
		read, err := stream.Read(buffer)
		if read > 0 {
			report.note(&report.FirstByteNs)
			report.add(read, true)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
