package sns

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/sms"
	"guildhall/pkg/sms/smstest"
)

// service is SNS as far as a text goes: it checks the signature by computing it anew, and
// answers in XML. Its fields make it misbehave.
type service struct {
	t *testing.T

	mu      sync.Mutex
	inbox   map[string][]string
	last    url.Values
	calls   int
	status  int // of the error it answers; 0: none
	code    string
	message string
	hangUp  bool // close the connection after the text was taken
	raw     string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/" || signature(r, body) != strings.SplitAfter(r.Header.Get("Authorization"), "Signature=")[1] {
		s.t.Errorf("%s %s, signed %q: %v", r.Method, r.URL.Path, r.Header.Get("Authorization"), err)
	}
	s.last, _ = url.ParseQuery(string(body))
	w.Header().Set("Content-Type", "text/xml")
	if s.status != 0 {
		w.WriteHeader(s.status)
		fmt.Fprintf(w, `<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>r-1</RequestId></ErrorResponse>`, s.code, s.message)
		return
	}
	to := s.last.Get("PhoneNumber")
	s.inbox[to] = append(s.inbox[to], s.last.Get("Message"))
	if s.hangUp {
		panic(http.ErrAbortHandler)
	}
	if s.raw != "" {
		_, _ = io.WriteString(w, s.raw)
		return
	}
	_, _ = io.WriteString(w, `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>m-1</MessageId></PublishResult><ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata></PublishResponse>`)
}

// signature computes what Signature Version 4 must say of a request to SNS.
func signature(r *http.Request, body []byte) string {
	auth := r.Header.Get("Authorization")
	rest, ok := strings.CutPrefix(auth, "AWS4-HMAC-SHA256 Credential=AKID/20260308/eu-west-1/sns/aws4_request, SignedHeaders=")
	names, _, _ := strings.Cut(rest, ",")
	if !ok || !strings.Contains(";"+names+";", ";host;") || !strings.Contains(names, "x-amz-date") || !strings.Contains(names, "x-amz-security-token") {
		return "not signed as it must be"
	}
	sum := sha256.Sum256(body)
	canonical := "POST\n/\n\n"
	for name := range strings.SplitSeq(names, ";") {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(len(body))
		}
		canonical += name + ":" + value + "\n"
	}
	canonical += "\n" + names + "\n" + hex.EncodeToString(sum[:])
	key := []byte("AWS4secret")
	for _, part := range []string{"20260308", "eu-west-1", "sns", "aws4_request"} {
		key = mac(key, part)
	}
	hashed := sha256.Sum256([]byte(canonical))
	return hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+r.Header.Get("X-Amz-Date")+"\n20260308/eu-west-1/sns/aws4_request\n"+hex.EncodeToString(hashed[:])))
}

func mac(key []byte, s string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(s))
	return h.Sum(nil)
}

func fixed() time.Time { return time.Date(2026, 3, 8, 10, 59, 0, 0, time.UTC) }

func options(endpoint string) Options {
	return Options{Region: "eu-west-1", BaseEndpoint: endpoint, Now: fixed, Credentials: Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret", SessionToken: "session"}}
}

func open(t *testing.T) (*service, *Sender) {
	t.Helper()
	s := &service{t: t, inbox: map[string][]string{}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	out, err := New(options(web.URL))
	if err != nil {
		t.Fatal(err)
	}
	return s, out
}

func TestSuite(t *testing.T) {
	smstest.Run(t, func(t *testing.T) smstest.Subject {
		s, out := open(t)
		return smstest.Subject{Sender: out, Delivered: func(_ *testing.T, to string) []string {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.inbox[to]
		}}
	})
}

func TestATextIsPublishedToThePhoneAsATransactionalOne(t *testing.T) {
	s, out := open(t)
	m := smstest.Message("k")
	if err := out.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	want := url.Values{"Action": {"Publish"}, "Version": {"2010-03-31"}, "PhoneNumber": {m.To}, "Message": {m.Body}, "MessageAttributes.entry.1.Name": {"AWS.SNS.SMS.SMSType"},
		"MessageAttributes.entry.1.Value.DataType": {"String"}, "MessageAttributes.entry.1.Value.StringValue": {"Transactional"}}
	if s.last.Encode() != want.Encode() {
		t.Errorf("sent %s\nwant %s", s.last.Encode(), want.Encode())
	}
}

func TestOnlyWhatIsSaidOfTheNumberIsForGood(t *testing.T) {
	for _, c := range []struct {
		status        int
		code, message string
		want          error
	}{
		{400, "InvalidParameter", "Invalid parameter: PhoneNumber Reason: +15550100200 is not valid to publish to", sms.ErrRefused},
		{400, "InvalidParameter", "Invalid parameter: PhoneNumber Reason: Phone number +15550100200 is opted out", sms.ErrRefused},
		{400, "OptedOut", "+15550100200", sms.ErrRefused},
		{400, "InvalidParameterValue", "x", sms.ErrRefused}, {400, "ValidationError", "x", sms.ErrRefused},
		{429, "Throttled", "Rate exceeded", sms.ErrUnavailable}, {400, "Throttling", "Rate exceeded", sms.ErrUnavailable}, {400, "ThrottlingException", "x", sms.ErrUnavailable},
		{400, "KMSThrottling", "x", sms.ErrUnavailable},
		{403, "AuthorizationError", "User may not publish to +15550100200", sms.ErrUnavailable}, {403, "SignatureDoesNotMatch", "x", sms.ErrUnavailable},
		{403, "InvalidClientTokenId", "x", sms.ErrUnavailable}, {404, "NotFound", "x", sms.ErrUnavailable}, {400, "+15550100200 said no", "x", sms.ErrUnavailable},
		{503, "ServiceUnavailable", "x", sms.ErrUnavailable},
		{500, "InternalError", "x", sms.ErrUnknown}, {502, "", "x", sms.ErrUnknown}, {503, "", "x", sms.ErrUnknown}, {504, "", "x", sms.ErrUnknown}, {302, "", "x", sms.ErrUnknown},
	} {
		s, out := open(t)
		s.status, s.code, s.message = c.status, c.code, c.message
		err := out.Send(t.Context(), smstest.Message("k"))
		if !errors.Is(err, c.want) || s.calls != 1 || strings.Contains(err.Error(), "555") {
			t.Errorf("%d %s: %v after %d calls, want %v after one, without the number", c.status, c.code, err, s.calls, c.want)
		}
	}
}

func TestAnAnswerThatCannotBeReadIsUnknownAndIsNotAskedForAgain(t *testing.T) {
	for what, change := range map[string]func(*service){
		"hung up": func(s *service) { s.hangUp = true }, "no XML": func(s *service) { s.raw = "fine" },
		"no id":    func(s *service) { s.raw = "<PublishResponse><PublishResult></PublishResult></PublishResponse>" },
		"too long": func(s *service) { s.raw = "<a>" + strings.Repeat("b", maxAnswer) + "</a>" },
	} {
		s, out := open(t)
		change(s)
		if err := out.Send(t.Context(), smstest.Message("k")); !errors.Is(err, sms.ErrUnknown) || s.calls != 1 {
			t.Errorf("%s: %v after %d calls", what, err, s.calls)
		}
	}
}

func TestATextThatIsGivenUpWhileSNSThinksIsUnknown(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	}))
	defer web.Close()
	out, err := New(options(web.URL))
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Send(ctx, smstest.Message("k")); !errors.Is(err, sms.ErrUnknown) {
		t.Errorf("%v", err)
	}
}

func TestAServiceThatIsNotReachedSentNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	_ = l.Close()
	out, err := New(options(address))
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Send(t.Context(), smstest.Message("k")); !errors.Is(err, sms.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

func TestOptionsAreNeeded(t *testing.T) {
	for what, change := range map[string]func(*Options){
		"region": func(o *Options) { o.Region = "" }, "key": func(o *Options) { o.Credentials.AccessKeyID = "" },
		"secret": func(o *Options) { o.Credentials.SecretAccessKey = "" }, "clock": func(o *Options) { o.Now = nil },
	} {
		o := options("")
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("no %s: accepted", what)
		}
	}
	for region, want := range map[string]string{"eu-west-1": "https://sns.eu-west-1.amazonaws.com", "cn-north-1": "https://sns.cn-north-1.amazonaws.com.cn"} {
		o := options("")
		o.Region = region
		if s, err := New(o); err != nil || s.o.BaseEndpoint != want {
			t.Errorf("%s: %v", region, err)
		}
	}
}
