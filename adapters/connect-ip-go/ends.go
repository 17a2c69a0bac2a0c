package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"

	connectip "github.com/quic-go/connect-ip-go"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/yosida95/uritemplate/v3"
)

// firstPacketBytes is the size that connect-ip-go recommends, so that packets of 1280 bytes pass from the start.
const firstPacketBytes = 1350

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/quic-go/connect-ip-go" {
			return module.Version
		}
	}
	return "unknown"
}

func quicConfig() *quic.Config {
	return &quic.Config{EnableDatagrams: true, InitialPacketSize: firstPacketBytes}
}

// connect is a client: it asks for no address, and takes what the server assigns.
func connect(ctx context.Context, args arguments) error {
	config, err := args.tlsConfig()
	if err != nil {
		return err
	}
	template, err := uritemplate.New(args.uri)
	if err != nil {
		return err
	}
	request, err := connectip.NewRequest(ctx, template)
	if err != nil {
		return err
	}
	transport := connectip.Transport{
		TLSClientConfig: config,
		QUICConfig:      quicConfig(),
		DialAddr: func(ctx context.Context, _ string, tlsConf *tls.Config, quicConf *quic.Config) (*quic.Conn, error) {
			return quic.DialAddr(ctx, args.address, tlsConf, quicConf)
		},
	}
	conn, response, err := transport.Dial(request)
	if err != nil {
		if response != nil {
			return fmt.Errorf("status %d: %w", response.StatusCode, err)
		}
		return err
	}
	device, err := newDevice(args.device)
	if err != nil {
		return err
	}
	assigned, err := conn.ReceiveAddressAssignment(ctx)
	if err != nil {
		return err
	}
	for _, address := range assigned {
		if address.Rejected() {
			continue
		}
		if err := device.setAddress(address.IPPrefix); err != nil {
			return err
		}
		fmt.Println("address", address.IPPrefix)
	}
	routes, err := conn.Routes(ctx)
	if err != nil {
		return err
	}
	for _, route := range routes {
		for _, prefix := range route.Prefixes() {
			if err := device.setRoute(prefix); err != nil {
				return err
			}
			fmt.Println("route", prefix)
		}
	}
	fmt.Println("ready")
	return device.carry(ctx, conn)
}

// serve is a server with one client at a time.
func serve(ctx context.Context, args arguments) error {
	config, err := args.tlsConfig()
	if err != nil {
		return err
	}
	template, err := uritemplate.New(args.uri)
	if err != nil {
		return err
	}
	uri, err := url.Parse(args.uri)
	if err != nil {
		return err
	}
	device, err := newDevice(args.device)
	if err != nil {
		return err
	}
	for _, prefix := range args.own {
		if err := device.setAddress(prefix); err != nil {
			return err
		}
	}
	server := http3.Server{
		Addr:            args.address,
		TLSConfig:       config,
		QUICConfig:      quicConfig(),
		EnableDatagrams: true,
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != uri.Path {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		request, err := connectip.ParseProxyRequest(r, template)
		if err != nil {
			log.Println("request refused:", err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		conn, err := (&connectip.Proxy{}).Proxy(w, request)
		if err == nil {
			err = args.tunnel(ctx, conn, device)
		}
		log.Println("tunnel ended:", err)
	})
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	fmt.Println("ready")
	return server.ListenAndServe()
}

// tunnel answers requests for addresses, and carries packets.
func (args arguments) tunnel(ctx context.Context, conn *connectip.Conn, device *device) error {
	var routes []connectip.IPRoute
	for _, prefix := range args.advertise {
		routes = append(routes, connectip.IPRoute{StartIP: prefix.Masked().Addr(), EndIP: last(prefix)})
	}
	if err := conn.AdvertiseRoute(routes); err != nil {
		return err
	}
	go func() {
		for {
			asked, err := conn.ReceiveAddressRequest(ctx)
			if err != nil {
				return
			}
			if err := asked.Respond(args.answer(asked.Prefixes), nil); err != nil {
				log.Println("answer:", err)
			}
			fmt.Println("asked for", asked.Prefixes)
		}
	}()
	return device.carry(ctx, conn)
}

// answer has the first address of each family that is asked for.
func (args arguments) answer(asked []netip.Prefix) []netip.Prefix {
	answer := make([]netip.Prefix, len(asked))
	for i, prefix := range asked {
		for _, own := range args.assign {
			if own.Addr().Is4() == prefix.Addr().Is4() && !answer[i].IsValid() {
				answer[i] = own
			}
		}
	}
	return answer
}

// last is the last address of a network.
func last(prefix netip.Prefix) netip.Addr {
	bytes := prefix.Masked().Addr().AsSlice()
	for bit := prefix.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	address, _ := netip.AddrFromSlice(bytes)
	return address
}
