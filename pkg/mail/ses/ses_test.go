package ses

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/mail"
	"guildhall/pkg/mail/mailtest"
)

// service takes what the real SDK client sends. Its fields make it misbehave.
type service struct {
	t *testing.T

	mu     sync.Mutex
	inbox  map[string][]mail.Mail
	auth   string
	calls  int
	status int
	kind   string // of the error it answers
	broken int    // next calls that answer 503
}

type sent struct {
	FromEmailAddress string
	Destination      struct{ ToAddresses []string }
	Content          struct{ Raw struct{ Data []byte } }
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.auth = r.Header.Get("Authorization")
	if s.broken > 0 {
		s.broken--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if s.kind != "" {
		w.Header().Set("X-Amzn-Errortype", s.kind)
		w.WriteHeader(s.status)
		_, _ = w.Write([]byte(`{"message":"about ada@example.org"}`))
		return
	}
	var in sent
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.URL.Path != "/v2/email/outbound-emails" || r.Method != http.MethodPost {
		s.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	m, err := mailtest.Parse(in.Content.Raw.Data)
	if err != nil || len(in.Destination.ToAddresses) != 1 || in.Destination.ToAddresses[0] != m.To || !strings.Contains(m.From, in.FromEmailAddress) {
		s.t.Errorf("%+v: %v", in, err)
	}
	s.inbox[m.To] = append(s.inbox[m.To], m)
	_, _ = w.Write([]byte(`{"MessageId":"ses-1"}`))
}

func fixed() time.Time { return time.Date(2026, 3, 8, 10, 59, 0, 0, time.UTC) }

func open(t *testing.T) (*service, *Mailer) {
	t.Helper()
	s := &service{t: t, inbox: map[string][]mail.Mail{}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	m, err := New(Options{Region: "eu-west-1", BaseEndpoint: web.URL, Now: fixed,
		Credentials: Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret", SessionToken: "session"}})
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

func TestSuite(t *testing.T) {
	mailtest.Run(t, func(t *testing.T) mailtest.Subject {
		s, m := open(t)
		return mailtest.Subject{Mailer: m, Delivered: func(_ *testing.T, to string) []mail.Mail {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.inbox[to]
		}}
	})
}

func TestRequestsAreSignedForTheRegion(t *testing.T) {
	s, m := open(t)
	if err := m.Send(t.Context(), mailtest.Message("k")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.auth, "Credential=AKID/") || !strings.Contains(s.auth, "/eu-west-1/ses/aws4_request") {
		t.Errorf("Authorization: %s", s.auth)
	}
}

func TestABrokenAttemptIsRepeatedByTheSDK(t *testing.T) {
	s, m := open(t)
	s.broken = 1
	if err := m.Send(t.Context(), mailtest.Message("k")); err != nil || s.calls != 2 || len(s.inbox["ada@example.org"]) != 1 {
		t.Errorf("%v after %d calls", err, s.calls)
	}
}

func TestOnlyWhatIsSaidOfTheMessageIsForGood(t *testing.T) {
	for kind, want := range map[string]error{
		"MessageRejected": mail.ErrRefused, "BadRequestException": mail.ErrRefused,
		"MailFromDomainNotVerifiedException": mail.ErrUnavailable, "SendingPausedException": mail.ErrUnavailable,
		"AccountSuspendedException": mail.ErrUnavailable, "NotFoundException": mail.ErrUnavailable, "AccessDeniedException": mail.ErrUnavailable,
	} {
		s, m := open(t)
		s.kind, s.status = kind, http.StatusBadRequest
		if err := m.Send(t.Context(), mailtest.Message("k")); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", kind, err, want)
		} else if errors.Is(err, mail.ErrRefused) && strings.Contains(err.Error(), "ada@") {
			t.Errorf("%s: an address in %v", kind, err)
		}
	}
}

func TestWhatSESCannotCarryIsRefusedBeforeItIsAsked(t *testing.T) {
	s, m := open(t)
	far := mailtest.Message("k")
	far.To = "jörg@example.com"
	if err := m.Send(t.Context(), far); !errors.Is(err, mail.ErrRefused) {
		t.Errorf("an international address: %v", err)
	}
	if s.calls != 0 {
		t.Errorf("%d calls", s.calls)
	}
}

func TestOptionsAreNeeded(t *testing.T) {
	whole := Options{Region: "r", Credentials: Credentials{AccessKeyID: "a", SecretAccessKey: "s"}, Now: fixed}
	for what, change := range map[string]func(*Options){
		"region": func(o *Options) { o.Region = "" }, "key": func(o *Options) { o.Credentials.AccessKeyID = "" },
		"secret": func(o *Options) { o.Credentials.SecretAccessKey = "" }, "clock": func(o *Options) { o.Now = nil },
	} {
		o := whole
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("no %s: accepted", what)
		}
	}
}
