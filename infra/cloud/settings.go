package cloud

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"guildhall/infra/plan"
)

// Settings reads an operator's choices from CDK context (-c name=value).
func Settings(app awscdk.App) (plan.Settings, error) {
	s := plan.Defaults()
	texts := map[string]*string{"name": &s.Name, "mailFrom": &s.MailFrom, "baseUrl": &s.BaseURL, "domain": &s.Domain, "certificate": &s.Certificate,
		"alarmEmail": &s.AlarmEmail, "keysSecret": &s.KeysSecret, "keysVersion": &s.KeysVersion, "stripeSecret": &s.StripeSecret,
		"stripeVersion": &s.StripeVersion, "tips": &s.Tips, "texts": &s.Texts, "links": &s.Links, "logLevel": &s.LogLevel, "arch": &s.Arch, "dist": &s.Dist}
	for key, to := range texts {
		if v := app.Node().TryGetContext(str(key)); v != nil {
			*to = fmt.Sprint(v)
		}
	}
	for key, to := range map[string]*int{"waiting": &s.Waiting, "rate": &s.Rate} {
		v := app.Node().TryGetContext(str(key))
		if v == nil {
			continue
		}
		n, err := strconv.Atoi(fmt.Sprint(v))
		if err != nil {
			return s, fmt.Errorf("%s: %v is no number", key, v)
		}
		*to = n
	}
	return s, s.Check()
}
