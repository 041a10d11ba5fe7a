// Package assets holds the files of the pages.
package assets

import "embed"

// Files are served below /static/.
//
//go:embed *.css *.js *.svg
var Files embed.FS
