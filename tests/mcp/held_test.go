// Package peers holds the MCP endpoints to what long-running agents need: many of them wait
// at once, hear at once, and are let go when the server ends.
package peers

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/config"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/wire"
)

const (
	polls     = 1000
	perAgent  = 4        // polls held at once for one token
	maxMemory = 40 << 20 // bytes in use beyond an idle server
)

// exchange is a server in memory.
func exchange(t *testing.T) (*wire.Exchange, *httptest.Server) {
	t.Helper()
	keys, err := config.NewKeys(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	x, err := wire.Open(context.Background(), wire.Options{BaseURL: "http://" + s.Listener.Addr().String(), Keys: wire.KeysOf(keys)})
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Handler = x.Handler()
	s.Start()
	t.Cleanup(func() { x.Stop(); s.Close(); x.Close() })
	return x, s
}

// token issues an MCP token of a new agent.
func token(t *testing.T, x *wire.Exchange) string {
	t.Helper()
	var s string
	err := x.Engine.Run(context.Background(), x.Engine.Now(), "bench", func(c *op.Call) (err error) {
		who, err := id.New(rand.Reader)
		if err != nil {
			return err
		}
		s, err = account.MCPToken.Issue(c, who, nil, c.Now.Add(time.Hour))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// held counts the goroutines that wait for a change.
func held() int {
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1)
	n := 0
	for block := range strings.SplitSeq(b.String(), "\n\n") {
		if strings.Contains(block, "op.(*Engine).hold") {
			var k int
			fmt.Sscanf(block[strings.LastIndex("\n"+block, "\n@")+1:], "%d @", &k)
			for line := range strings.SplitSeq(block, "\n") {
				if c := 0; strings.Contains(line, " @ ") {
					fmt.Sscanf(line, "%d @", &c)
					n += c
				}
			}
		}
	}
	return n
}

func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

func TestAThousandAgentsWaitInLittleMemoryAndAreLetGoAtTheEnd(t *testing.T) {
	x, s := exchange(t)
	var conns []net.Conn
	before := inUse()
	tok := ""
	for i := range polls {
		if i%perAgent == 0 {
			tok = token(t, x)
		}
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_events","arguments":{"wait":20}}}`
		fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
			s.Listener.Addr(), tok, len(body), body)
	}
	for held() < polls {
		runtime.Gosched()
	}
	used := inUse() - before
	t.Logf("%d held polls take %d bytes each", polls, used/polls)
	if used > raceFactor*maxMemory {
		t.Errorf("%d held polls take %d bytes, at most %d", polls, used, maxMemory)
	}
	x.Stop()
	for i, c := range conns {
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("poll %d: %v %v", i, res, err)
		}
		res.Body.Close()
	}
}
