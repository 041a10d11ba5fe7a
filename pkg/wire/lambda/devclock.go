//go:build devclock

package lambda

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"time"
)

// Limits of a question for the time.
const (
	clockTimeout = 2 * time.Second
	maxClock     = 4 << 10 // bytes of the answer
	clockTries   = 3
)

// exchangeClock asks the runner for the time. It is for functions that run on the machine
// of whoever moves the clock: another address than a loopback one is refused.
func exchangeClock(getenv func(string) string) (func() time.Time, error) {
	address := getenv("GUILDHALL_DEV_CLOCK_URL")
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || !loopback(u.Hostname()) {
		return nil, fmt.Errorf("GUILDHALL_DEV_CLOCK_URL: this build takes its time from a runner on this machine; give its http://127.0.0.1:PORT/_dev/clock")
	}
	client := &http.Client{Timeout: clockTimeout, Transport: &http.Transport{DialContext: (&net.Dialer{}).DialContext}}
	return func() time.Time {
		var last error
		for range clockTries {
			t, err := askTime(client, u.String())
			if err == nil {
				return t
			}
			last = err
		}
		fmt.Fprintf(os.Stderr, "the runner does not tell the time: %v\n", last)
		os.Exit(1) // a wrong time would be written into rows
		return time.Time{}
	}, nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

func askTime(client *http.Client, address string) (time.Time, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	if err != nil {
		return time.Time{}, err
	}
	res, err := client.Do(req)
	if err != nil {
		return time.Time{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxClock))
	var answer struct {
		Now time.Time `json:"now"`
	}
	if err == nil {
		err = json.Unmarshal(b, &answer)
	}
	if err == nil && (res.StatusCode != http.StatusOK || answer.Now.IsZero()) {
		err = fmt.Errorf("answer %d without a time", res.StatusCode)
	}
	return answer.Now, err
}
