package filekind

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// Signatures and fixed sizes of a zip file's records (APPNOTE 4.3).
const (
	localMark, directoryMark, endMark, end64Mark, locatorMark = "PK\x03\x04", "PK\x01\x02", "PK\x05\x06", "PK\x06\x06", "PK\x06\x07"

	localBytes, directoryBytes, endBytes, end64Bytes, locatorBytes = 30, 46, 22, 56, 20

	maxTail = endBytes + 1<<16 // bytes in which a zip file's end can lie
)

// Extra fields of a member.
const (
	extra64   = 0x0001 // sizes and places over 4 GB
	extraName = 0x7075 // another name, which programs prefer
)

// errLayout is a zip file that different programs read differently.
var errLayout = errors.New("filekind: a zip file of several meanings")

// placed is a member with the place of its own header.
type placed struct {
	*zip.File
	at int64
}

// endOf finds where a zip file that lies at the end of something ends: what a program that
// looks from the back finds first. at is -1 when there is none.
func endOf(tail []byte) (at int) {
	for at = len(tail) - endBytes; at >= 0; at-- {
		if string(tail[at:at+len(endMark)]) == endMark {
			if int(binary.LittleEndian.Uint16(tail[at+20:]))+at+endBytes > len(tail) {
				return -1
			}
			return at
		}
	}
	return -1
}

// endsAsZip tells whether programs would open something as an archive because of its end.
func endsAsZip(tail []byte) bool {
	at := endOf(tail)
	return at >= 0 && binary.LittleEndian.Uint16(tail[at+10:]) > 0
}

// tailOf reads the bytes in which the end of a zip file can lie.
func tailOf(s section) ([]byte, error) {
	b := make([]byte, min(maxTail, max(s.size, 0)))
	n, err := s.ReadAt(b, s.size-int64(len(b)))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}

// layout puts the members of a zip file in the order in which they lie there, and refuses one
// that two programs could read in two ways: its list and its members' own headers must say
// the same, nothing overlaps, and no member hides where the list does not lead.
func layout(s section, files []*zip.File) ([]placed, error) {
	list, err := places(s, files)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	first := make([]byte, len(localMark))
	if _, err := s.ReadAt(first, 0); err == nil && string(first) == localMark && len(list) > 0 && list[0].at > 0 {
		return nil, errLayout // it begins with a member that is not listed, or with another archive
	}
	var end int64
	for i, p := range list {
		if p.at < end {
			return nil, errLayout
		}
		if i > 0 {
			if err := holds(s, end, p.at, 0); err != nil {
				return nil, err
			}
		}
		head := make([]byte, localBytes+len(p.Name))
		if _, err := s.ReadAt(head, p.at); err != nil {
			return nil, err
		}
		n, m := int64(binary.LittleEndian.Uint16(head[26:])), int64(binary.LittleEndian.Uint16(head[28:]))
		if string(head[:4]) != localMark || n != int64(len(p.Name)) || string(head[localBytes:]) != p.Name ||
			binary.LittleEndian.Uint16(head[8:]) != p.Method || p.CompressedSize64 > uint64(s.size) {
			return nil, errLayout
		}
		end = p.at + localBytes + n + m + int64(p.CompressedSize64)
		if end > s.size {
			return nil, errLayout
		}
	}
	return list, holds(s, end, s.size, 1)
}

// holds demands that a part of a zip file outside its members has no header of a member in
// it, and exactly so many ends.
func holds(s section, from, to int64, ends int) error {
	const overlap = len(localMark) - 1
	buf := make([]byte, min(to-from, scanChunk)+int64(overlap))
	kept := 0
	for at := from; at < to; {
		n, err := s.ReadAt(buf[kept:kept+int(min(to-at, int64(len(buf)-kept)))], at)
		if err != nil && (!errors.Is(err, io.EOF) || n == 0) {
			return err
		}
		window := buf[:kept+n]
		ends -= bytes.Count(window, []byte(endMark))
		if bytes.Contains(window, []byte(localMark)) {
			return errLayout
		}
		at += int64(n)
		kept = copy(buf, window[max(0, len(window)-overlap):])
	}
	if ends != 0 {
		return errLayout
	}
	return nil
}

// places reads where each listed member begins.
func places(s section, files []*zip.File) ([]placed, error) {
	at, base, err := directoryOf(s)
	if err != nil {
		return nil, err
	}
	r := io.NewSectionReader(s, at, s.size-at)
	list, head := make([]placed, 0, len(files)), make([]byte, directoryBytes)
	for _, f := range files {
		if _, err := io.ReadFull(r, head); err != nil || string(head[:4]) != directoryMark {
			return nil, cmp.Or(err, errLayout)
		}
		n, m, k := int(binary.LittleEndian.Uint16(head[28:])), int(binary.LittleEndian.Uint16(head[30:])), int64(binary.LittleEndian.Uint16(head[32:]))
		rest := make([]byte, n+m)
		if _, err := io.ReadFull(r, rest); err != nil || string(rest[:n]) != f.Name {
			return nil, cmp.Or(err, errLayout)
		}
		if _, err := r.Seek(k, io.SeekCurrent); err != nil {
			return nil, err
		}
		offset := uint64(binary.LittleEndian.Uint32(head[42:]))
		if offset == 1<<32-1 {
			offset = farPlace(head, rest[n:])
		}
		if offset > uint64(s.size) {
			return nil, errLayout
		}
		list = append(list, placed{f, int64(offset) + base})
	}
	return list, nil
}

// farPlace is the place of a member beyond 4 GB: behind the sizes that are as large.
func farPlace(head, extra []byte) uint64 {
	field := extraField(extra, extra64)
	for _, at := range []int{24, 20} {
		if binary.LittleEndian.Uint32(head[at:]) == 1<<32-1 && len(field) >= 8 {
			field = field[8:]
		}
	}
	if len(field) < 8 {
		return 1<<32 - 1
	}
	return binary.LittleEndian.Uint64(field)
}

// extraField is the first field of a kind; nil for none.
func extraField(extra []byte, kind uint16) []byte {
	for len(extra) >= 4 {
		n := int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra)-4 {
			return nil
		}
		if binary.LittleEndian.Uint16(extra) == kind {
			return extra[4 : 4+n]
		}
		extra = extra[4+n:]
	}
	return nil
}

// secondName is the name that an extra field gives a member beside its own; "" for none.
func secondName(extra []byte) string {
	const before = 5 // a version and a sum
	if f := extraField(extra, extraName); len(f) > before {
		return string(f[before:])
	}
	return ""
}

// directoryOf finds the list of members: where it begins, and how many bytes lie before the
// archive itself.
func directoryOf(s section) (at, base int64, err error) {
	tail, err := tailOf(s)
	if err != nil {
		return 0, 0, err
	}
	i := endOf(tail)
	if i < 0 {
		return 0, 0, errLayout
	}
	end := s.size - int64(len(tail)) + int64(i)
	size, offset := uint64(binary.LittleEndian.Uint32(tail[i+12:])), uint64(binary.LittleEndian.Uint32(tail[i+16:]))
	if n := binary.LittleEndian.Uint16(tail[i+10:]); n == 1<<16-1 || size == 1<<32-1 || offset == 1<<32-1 {
		if far, ok, err := directory64(s, end); err != nil {
			return 0, 0, err
		} else if ok {
			end, size, offset = far.end, far.size, far.offset
		}
	}
	if size > uint64(end) || offset > uint64(end) {
		return 0, 0, errLayout
	}
	if base = end - int64(size) - int64(offset); base < 0 {
		return 0, 0, errLayout
	}
	if base > 0 { // some writers put something behind the list: archive/zip believes the place then
		mark := make([]byte, len(directoryMark))
		if _, err := s.ReadAt(mark, int64(offset)); err == nil && string(mark) == directoryMark {
			base = 0
		}
	}
	return base + int64(offset), base, nil
}

// far is where a list of members lies by the end of a large zip file.
type far struct {
	end          int64
	size, offset uint64
}

func directory64(s section, end int64) (f far, ok bool, err error) {
	locator := make([]byte, locatorBytes)
	if end < locatorBytes {
		return f, false, nil
	}
	if _, err := s.ReadAt(locator, end-locatorBytes); err != nil || string(locator[:4]) != locatorMark {
		return f, false, err
	}
	at := binary.LittleEndian.Uint64(locator[8:])
	record := make([]byte, end64Bytes)
	if at > uint64(s.size) {
		return f, false, errLayout
	}
	if _, err := s.ReadAt(record, int64(at)); err != nil || string(record[:4]) != end64Mark {
		return f, false, cmp.Or(err, errLayout)
	}
	return far{int64(at), binary.LittleEndian.Uint64(record[40:]), binary.LittleEndian.Uint64(record[48:])}, true, nil
}
