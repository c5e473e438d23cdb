package desync

import "runtime"

// Platform returns what this program runs on, as a report says it: "linux/amd64, go1.26.0".
func Platform() string { return runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version() }
