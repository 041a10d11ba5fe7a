package fileblob

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"guildhall/pkg/blob"
)

// List implements blob.Store. It walks the directories in the byte order of keys and reads
// only those that may hold an answer; a directory's names are in memory while it is walked.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) (blob.Page, error) {
	if err := blob.ValidList(limit); err != nil {
		return blob.Page{}, err
	}
	w := walk{ctx: ctx, store: s, prefix: prefix, after: after, limit: limit}
	err := w.dir(objectsDir, "")
	return w.page, err
}

type walk struct {
	ctx           context.Context
	store         *Store
	prefix, after string
	limit         int
	page          blob.Page
}

// node is a directory entry under its key: a directory's key ends in a slash, which makes
// the order of nodes the order of all keys beneath them.
type node struct {
	key, path string
	isDir     bool
}

func (w *walk) dir(path, base string) error {
	nodes, err := w.nodes(path, base)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if w.page.More {
			return nil
		}
		if n.isDir {
			err = w.dir(n.path, n.key)
		} else {
			err = w.file(n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) file(n node) error {
	if len(w.page.Entries) == w.limit {
		w.page.More = true
		return nil
	}
	info, err := w.store.head(n.path, n.key)
	if errors.Is(err, blob.ErrNotFound) {
		return nil // deleted since the directory was read
	}
	if err != nil {
		return err
	}
	w.page.Entries = append(w.page.Entries, blob.Entry{Key: n.key, Size: info.Size, StoredAt: info.StoredAt})
	return nil
}

// nodes reads a directory: what may lie in the asked range, in order.
func (w *walk) nodes(path, base string) ([]node, error) {
	d, err := w.store.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var out []node
	for _, e := range entries {
		if n, ok := nodeOf(e, path, base); ok && w.wanted(n) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b node) int { return strings.Compare(a.key, b.key) })
	return out, nil
}

func nodeOf(e fs.DirEntry, path, base string) (node, bool) {
	name, marked := strings.CutSuffix(e.Name(), dirMark)
	seg, ok := unescape(name)
	if !ok || marked != e.IsDir() {
		return node{}, false
	}
	n := node{key: base + seg, path: path + "/" + e.Name(), isDir: e.IsDir()}
	if n.isDir {
		n.key += "/"
	}
	return n, true
}

func (w *walk) wanted(n node) bool {
	if n.isDir {
		behind := n.key > w.after || strings.HasPrefix(w.after, n.key)
		return behind && (strings.HasPrefix(n.key, w.prefix) || strings.HasPrefix(w.prefix, n.key))
	}
	return n.key > w.after && strings.HasPrefix(n.key, w.prefix)
}
