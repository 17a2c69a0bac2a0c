package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"

	connectip "github.com/quic-go/connect-ip-go"
	"golang.org/x/sys/unix"
)

const (
	// mtu fits the first packets of QUIC: connect-ip-go sends 1350 bytes.
	mtu      = 1280
	maxBytes = 1 << 16
)

// device is a TUN device, which is gone with the process.
type device struct {
	name string
	file *os.File
}

func newDevice(name string) (*device, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, fmt.Errorf("TUN device %s: %w", name, err)
	}
	made := &device{name, os.NewFile(uintptr(fd), "/dev/net/tun")}
	return made, ip("link", "set", name, "mtu", strconv.Itoa(mtu), "up")
}

func ip(words ...string) error {
	if said, err := exec.Command("ip", words...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %s", strings.Join(words, " "), said)
	}
	return nil
}

func (d *device) setAddress(prefix netip.Prefix) error {
	words := []string{"addr", "replace", prefix.String(), "dev", d.name}
	if prefix.Addr().Is6() {
		words = append(words, "nodad")
	}
	return ip(words...)
}

func (d *device) setRoute(prefix netip.Prefix) error {
	return ip("route", "replace", prefix.String(), "dev", d.name)
}

// carry moves packets between the device and the tunnel until one of them ends.
func (d *device) carry(ctx context.Context, conn *connectip.Conn) error {
	ended := make(chan error, 2)
	go func() {
		packet := make([]byte, maxBytes)
		for {
			length, err := conn.ReadPacket(packet)
			if err != nil {
				ended <- err
				return
			}
			d.file.Write(packet[:length]) // a packet that the kernel refuses is lost
		}
	}()
	go func() {
		packet := make([]byte, maxBytes)
		for {
			length, err := d.file.Read(packet)
			if err != nil {
				ended <- err
				return
			}
			icmp, err := conn.WritePacket(packet[:length])
			if err != nil {
				ended <- err
				return
			}
			if len(icmp) > 0 {
				d.file.Write(icmp)
			}
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return conn.Close()
	}
}
