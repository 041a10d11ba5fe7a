package registry

import (
	"guildhall/pkg/account"
	"guildhall/pkg/op"
)

// ServerMetadata is the authorization server's document that MCP clients look for.
var ServerMetadata = op.Declare(op.Meta{
	ID: "bench.oauth.server", Method: "GET", Path: "/.well-known/oauth-authorization-server", Auth: op.Public, Cache: "public, max-age=3600",
	Summary: "Read the authorization server's metadata (RFC 8414).", Contract: "bench.md 21.1",
}, func(c *op.Call, _ struct{}) (ServerOut, error) {
	return ServerOut{Issuer: c.BaseURL, Token: c.BaseURL + tokenPath, Methods: []string{"private_key_jwt"}, Algorithms: []string{"EdDSA"},
		Grants: []string{"client_credentials"}, Responses: []string{}, Scopes: account.BenchScopes, Docs: c.BaseURL + docSkill}, nil
})

// ServerOut is RFC 8414 metadata.
type ServerOut struct {
	Issuer     string   `json:"issuer"`
	Token      string   `json:"token_endpoint"`
	Methods    []string `json:"token_endpoint_auth_methods_supported"`
	Algorithms []string `json:"token_endpoint_auth_signing_alg_values_supported"`
	Grants     []string `json:"grant_types_supported"`
	Responses  []string `json:"response_types_supported"`
	Scopes     []string `json:"scopes_supported"`
	Docs       string   `json:"service_documentation"`
}

// Raw answers the bare document.
func (o ServerOut) Raw() *op.Raw { return rawJSON(o) }

// ResourceMetadata and its form for the MCP endpoint say which server guards /mcp.
var (
	ResourceMetadata    = op.Declare(resourceMeta("bench.oauth.resource", "/.well-known/oauth-protected-resource"), resource)
	MCPResourceMetadata = op.Declare(resourceMeta("bench.oauth.mcp_resource", "/.well-known/oauth-protected-resource/mcp"), resource)
)

func resourceMeta(id, path string) op.Meta {
	return op.Meta{ID: id, Method: "GET", Path: path, Auth: op.Public, Cache: "public, max-age=3600",
		Summary: "Read the protected resource's metadata (RFC 9728).", Contract: "bench.md 21.1"}
}

// ResourceOut is RFC 9728 metadata.
type ResourceOut struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
	Bearer   []string `json:"bearer_methods_supported"`
	Name     string   `json:"resource_name"`
	Docs     string   `json:"resource_documentation"`
}

// Raw answers the bare document.
func (o ResourceOut) Raw() *op.Raw { return rawJSON(o) }

func resource(c *op.Call, _ struct{}) (ResourceOut, error) {
	return ResourceOut{Resource: c.BaseURL + "/mcp", Servers: []string{c.BaseURL}, Scopes: account.BenchScopes, Bearer: []string{"header"},
		Name: "Guildhall bench", Docs: c.BaseURL + docSkill}, nil
}
