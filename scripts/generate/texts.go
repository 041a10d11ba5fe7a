package main

import (
	"guildhall/pkg/catalog"
	"guildhall/pkg/spec"
)

const textsDir = "pkg/spec/texts/"

// texts makes llms.txt and the agent card.
func (g *generator) texts() (err error) {
	g.out[textsDir+spec.LLMsName] = spec.LLMs(g.ops, catalog.Doors())
	g.out[textsDir+spec.CardName], err = spec.Card(catalog.Doors())
	return err
}
