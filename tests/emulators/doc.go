// Package emulators runs the suites of the ports on emulators of AWS, so that the adapters
// meet servers we did not write. It is a module of its own: no emulator enters the product's
// module graph. What an emulator is known to do otherwise than AWS is listed, with the cases
// left out because of it, in localstack/differences.md.
//
//	go test ./...              kumo and gofakes3, in this process
//	bash scripts/emulators.sh  the same, and fauxqs on Node 22 (build tag node)
package emulators
