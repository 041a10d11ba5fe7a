package op

// Door is an MCP endpoint: the tools of one context. A function's main names its door, so
// it is plain data.
type Door struct {
	Context string
	Path    string // "/mcp"
	Title   string // what clients show
	Version string // of the exchange
	// Instructions tell a model, in a few lines, what the endpoint is for and how to begin.
	Instructions string
	// Metadata is the path of the resource metadata that says where tokens come from
	// (RFC 9728); "" where no authorization server issues them.
	Metadata string
	// Headers name headers of the HTTP request that tools of this endpoint read like their
	// REST twins: what the program around a model sends, never the model.
	Headers []string
	// Order lists the tools as they are listed; a tool that is not named comes behind them.
	Order []string
	// Elsewhere names, for arguments whose schema is too long for a list of tools, the call
	// that returns it in full.
	Elsewhere map[string]string
}

// ID is the name of the door among functions and in logs.
func (d *Door) ID() string { return d.Context + ".mcp" }

// Folder is the door's function folder below functions/.
func (d *Door) Folder() string { return (&Operation{Meta: Meta{ID: d.ID()}}).Folder() }
