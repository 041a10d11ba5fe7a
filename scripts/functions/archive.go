package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"hash/crc32"
	"io"
	"time"
)

// epoch is the modification time of every entry: the oldest a zip file can tell.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// archive zips a binary as the executable file bootstrap. Equal binaries give equal zips.
func archive(binary []byte) ([]byte, error) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	h := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: epoch}
	h.SetMode(0o755)
	w, err := z.CreateHeader(h)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(binary); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// holds tells whether a zip of ours was made from these very bytes, by size and checksum.
func holds(name string, binary []byte) bool {
	z, err := zip.OpenReader(name)
	if err != nil {
		return false
	}
	defer z.Close()
	return len(z.File) == 1 && z.File[0].UncompressedSize64 == uint64(len(binary)) && z.File[0].CRC32 == crc32.ChecksumIEEE(binary)
}
