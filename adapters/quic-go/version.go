package main

import "runtime/debug"

// version is that of quic-go in this binary.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/quic-go/quic-go" {
			return module.Version
		}
	}
	return "unknown"
}
