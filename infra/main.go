// Command infra synthesises the stacks of Guildhall for CloudFormation. Run it from the root
// of the repository, after `make functions`; scripts/synth.sh and scripts/deploy.sh do.
// Settings come as CDK context: see docs/deploy.md.
package main

import (
	"fmt"
	"os"

	"github.com/aws/jsii-runtime-go"

	"guildhall/infra/cloud"
	"guildhall/infra/plan"
)

func main() {
	defer jsii.Close()
	app := cloud.NewApp("")
	s, err := cloud.Settings(app)
	if err == nil {
		err = plan.Built(s.Dist, plan.Functions())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "infra:", err)
		os.Exit(1)
	}
	cloud.Build(app, s, plan.Functions())
	app.Synth(nil)
}
