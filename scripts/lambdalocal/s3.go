package lambdalocal

import (
	"bufio"
	"context"
	"crypto/subtle"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// s3Path is below which S3 is served to functions, and to whoever has a signed address.
const s3Path = "/s3"

// startS3 starts the program that serves objects.
func (r *Runner) startS3(context.Context) error {
	if r.options.S3 == "" {
		return nil
	}
	cmd := exec.Command(r.options.S3)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("lambdalocal: S3: %w", err)
	}
	r.stopS3 = func() {
		in.Close() // it ends with its input
		if err := cmd.Wait(); err != nil {
			r.log.Error("S3 ended badly", slog.String("cause", err.Error()))
		}
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		return fmt.Errorf("lambdalocal: %s did not say where it listens, but %q (%v)", r.options.S3, line, err)
	}
	at, err := url.Parse(address)
	if err != nil {
		return err
	}
	r.objects = &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(at) }, ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug)}
	return nil
}

// s3 serves objects: it checks a signed address, which S3's stand-in does not, and the role
// of whoever signed. An address allows what its signer may.
func (r *Runner) s3(w http.ResponseWriter, q *http.Request) {
	who, err := signer(q, time.Now()) // the machine's: that is what signs
	if err != nil {
		refuseXML(w, "SignatureDoesNotMatch", err.Error())
		return
	}
	for _, need := range objectNeeds(q) {
		if who == runnerKey {
			break
		}
		if err := r.allow(who, need[0], need[1]); err != nil {
			refuseXML(w, "AccessDenied", err.Error())
			return
		}
	}
	http.StripPrefix(s3Path, r.objects).ServeHTTP(w, q)
}

// objectNeeds lists the actions a request needs, each with its resource.
func objectNeeds(q *http.Request) (needs [][2]string) {
	name := strings.TrimPrefix(q.URL.Path, s3Path+"/")
	bucket, key, object := strings.Cut(name, "/")
	if !object || key == "" {
		return [][2]string{{"s3:ListBucket", bucketARN(bucket)}}
	}
	switch q.Method {
	case http.MethodGet, http.MethodHead:
		return [][2]string{{"s3:GetObject", bucketARN(name)}}
	case http.MethodDelete:
		return [][2]string{{"s3:DeleteObject", bucketARN(name)}}
	}
	needs = [][2]string{{"s3:PutObject", bucketARN(name)}}
	if source := q.Header.Get("X-Amz-Copy-Source"); source != "" {
		from, err := url.PathUnescape(strings.TrimPrefix(source, "/"))
		if err != nil {
			from = source
		}
		needs = append(needs, [2]string{"s3:GetObject", bucketARN(from)})
	}
	return needs
}

func bucketARN(name string) string { return "arn:aws:s3:::" + name }

// Errors of an address.
var (
	errUnsigned = errors.New("the request has no signature")
	errSigned   = errors.New("the signature is not that of this request")
	errOver     = errors.New("the address has expired")
)

// signer is the function that signed a request, in a header or, checked here, in the address:
// as AWS does, over the headers the address names with the values that arrived.
func signer(q *http.Request, now time.Time) (string, error) {
	if who := caller(q); who != "" {
		return who, nil
	}
	query := q.URL.Query()
	who, _, ok := strings.Cut(query.Get("X-Amz-Credential"), "/")
	signed, err := time.Parse("20060102T150405Z", query.Get("X-Amz-Date"))
	life, lifeErr := strconv.Atoi(query.Get("X-Amz-Expires"))
	if !ok || err != nil || lifeErr != nil {
		return "", errUnsigned
	}
	if now.After(signed.Add(time.Duration(life) * time.Second)) {
		return "", errOver
	}
	again, err := http.NewRequest(q.Method, "http://"+q.Host+q.URL.EscapedPath(), nil)
	if err != nil {
		return "", err
	}
	for name := range strings.SplitSeq(query.Get("X-Amz-SignedHeaders"), ";") {
		switch name {
		case "host":
		case "content-length":
			again.ContentLength = q.ContentLength
		default:
			again.Header.Set(name, q.Header.Get(name))
		}
	}
	given := query.Get("X-Amz-Signature")
	for _, name := range []string{"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-SignedHeaders", "X-Amz-Signature"} {
		query.Del(name)
	}
	again.URL.RawQuery = query.Encode()
	keys := aws.Credentials{AccessKeyID: who, SecretAccessKey: functionSecret, SessionToken: functionSecret}
	address, _, err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).PresignHTTP(q.Context(), keys, again, "UNSIGNED-PAYLOAD", "s3", Region, signed)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(address)
	if err != nil || subtle.ConstantTimeCompare([]byte(u.Query().Get("X-Amz-Signature")), []byte(given)) != 1 {
		return "", errSigned
	}
	return who, nil
}

func refuseXML(w http.ResponseWriter, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusForbidden)
	_, _ = io.WriteString(w, xml.Header)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: code, Message: message})
}
