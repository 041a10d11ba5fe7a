package main

const documentsDir = "pkg/spec/documents"

func (g *generator) openapi() error { return nil }
