package registry

import (
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// A link is a mailed secret that the responsible party uses once in a browser. The page
// behind it shows a button and acts on POST only, so that a mail scanner uses nothing up.

// Purposes of links; each is the kind word of its token.
const (
	contactLink  = "contact"
	recoveryLink = "recovery"
)

// Lives of links.
const (
	contactLife  = 7 * 24 * time.Hour
	recoveryLife = time.Hour
)

// maxLinks is how many links of one purpose are live at a time; the oldest gives way.
const maxLinks = 4

// LinkExpired is the refusal of a used, old or unknown link, all alike.
var LinkExpired = fault.New(fault.Unauthorized, "link_expired", "This link was used, is too old, or was never given out. Ask for a new one.")

type links struct {
	Live []liveLink `json:"live"`
}

type liveLink struct {
	Code    string    `json:"code"` // HMAC of the secret
	Expires time.Time `json:"expires"`
}

func linkKey(agentID, purpose string) table.Key { return child(agentID, "LINK#"+purpose) }

// makeLink stages a link and returns its token.
func makeLink(c *op.Call, agentID, purpose string, life time.Duration) (string, error) {
	l, _, err := op.Load[links](c, linkKey(agentID, purpose))
	if err != nil {
		return "", err
	}
	t := c.NewToken(purpose, agentID)
	l.Live = append(l.Live, liveLink{Code: c.Keys.MAC("link:"+purpose, agentID+"."+t.Secret), Expires: c.Now.Add(life)})
	l.Live = l.Live[max(0, len(l.Live)-maxLinks):]
	c.PutUntil(linkKey(agentID, purpose), l, c.Now.Add(life))
	return t.String(), nil
}

// linkRows names the rows that using a link of a purpose reads.
func linkRows(token, purpose string) []table.Key {
	t, ok := id.ParseToken(token)
	if !ok || t.Kind != purpose {
		return nil
	}
	return []table.Key{AgentKey(t.Account), linkKey(t.Account, purpose)}
}

// useLink stages that a link is used up, with every other one of its purpose, and loads
// its agent.
func useLink(c *op.Call, token, purpose string) (Agent, error) {
	t, ok := id.ParseToken(token)
	if !ok || t.Kind != purpose {
		return Agent{}, LinkExpired
	}
	key := linkKey(t.Account, purpose)
	l, _, err := op.Load[links](c, key)
	if err != nil {
		return Agent{}, err
	}
	good := false
	for _, one := range l.Live {
		fits := c.Keys.Verify("link:"+purpose, t.Account+"."+t.Secret, one.Code)
		good = good || fits && c.Now.Before(one.Expires)
	}
	if !good {
		return Agent{}, LinkExpired
	}
	c.Delete(key)
	a, err := Load(c, t.Account)
	if err == nil && !a.DelistedAt.IsZero() {
		err = LinkExpired
	}
	return a, err
}

// dropLinks stages the end of every live link of a purpose.
func dropLinks(c *op.Call, agentID, purpose string) error {
	if _, err := c.Get(linkKey(agentID, purpose)); err != nil {
		return err
	}
	c.Delete(linkKey(agentID, purpose))
	return nil
}
