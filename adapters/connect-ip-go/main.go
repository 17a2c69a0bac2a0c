// Command quiclab-connect-ip-go is an end of CONNECT-IP (RFC 9484) on connect-ip-go and quic-go, for tests of quiclab-tunnel
// against another implementation. It makes a TUN device, gives it the assigned addresses and advertised routes, and prints
// "ready" when packets can pass.
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

type arguments struct {
	uri, address, device      string
	certificate, key, peerKey string
	authorities               string
	own, assign, advertise    prefixes
}

// prefixes is a flag with networks, separated by commas.
type prefixes []netip.Prefix

func (p *prefixes) String() string { return fmt.Sprint([]netip.Prefix(*p)) }

func (p *prefixes) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		prefix, err := netip.ParsePrefix(word)
		if err != nil {
			return err
		}
		*p = append(*p, prefix)
	}
	return nil
}

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("usage: quiclab-connect-ip-go server|client|version [options]"))
	}
	if os.Args[1] == "version" {
		fmt.Println("quiclab-connect-ip-go, connect-ip-go " + version())
		return
	}
	run := map[string]func(context.Context, arguments) error{"server": serve, "client": connect}[os.Args[1]]
	if run == nil {
		fail(fmt.Errorf("expected server, client or version, got %s", os.Args[1]))
	}
	args := parse(os.Args[1], os.Args[2:])
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	if err := run(ctx, args); err != nil && ctx.Err() == nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "quiclab-connect-ip-go:", err)
	os.Exit(1)
}

func parse(role string, words []string) (args arguments) {
	flags := flag.NewFlagSet(role, flag.ExitOnError)
	flags.StringVar(&args.uri, "uri", "", "URI of the tunnel")
	flags.StringVar(&args.address, "address", "", "address and port of the server")
	flags.StringVar(&args.device, "device", "cip0", "name of the TUN device")
	flags.StringVar(&args.certificate, "certificate", "", "certificate of this end (PEM)")
	flags.StringVar(&args.key, "key", "", "its private key (PEM)")
	flags.StringVar(&args.peerKey, "peer-key", "", "Ed25519 key in the certificate of the other end, in hexadecimal digits")
	flags.StringVar(&args.authorities, "authorities", "", "certificates of authorities (PEM), in place of the key of the server")
	flags.Var(&args.own, "own", "addresses of the server's device, with their networks")
	flags.Var(&args.assign, "assign", "addresses that the server assigns")
	flags.Var(&args.advertise, "advertise", "destinations that the server advertises, in order")
	flags.Parse(words)
	return args
}

// tlsConfig lets in the end whose certificate has the key of the arguments, and no other.
func (args arguments) tlsConfig() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(args.certificate, args.key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{own},
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{"h3"},
		ClientAuth:   tls.RequireAnyClientCert,
	}
	if args.authorities != "" {
		text, err := os.ReadFile(args.authorities)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(text)
		return config, nil
	}
	known, err := hex.DecodeString(args.peerKey)
	if err != nil || len(known) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("-peer-key %q: expected 64 hexadecimal digits", args.peerKey)
	}
	config.InsecureSkipVerify = true // the key below is what counts
	config.VerifyPeerCertificate = func(chain [][]byte, _ [][]*x509.Certificate) error {
		if len(chain) == 0 {
			return errors.New("no certificate")
		}
		certificate, err := x509.ParseCertificate(chain[0])
		if err != nil {
			return err
		}
		if key, ok := certificate.PublicKey.(ed25519.PublicKey); !ok || !key.Equal(ed25519.PublicKey(known)) {
			return errors.New("the certificate has another key")
		}
		return nil
	}
	return config, nil
}
