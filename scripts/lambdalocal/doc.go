// Package lambdalocal executes the synthesised template on one machine: the closest thing to
// a deployment that needs neither Docker nor an account.
//
// It reads cdk.out and does what AWS would: routes lead to functions, functions are the real
// bootstrap programs behind the Lambda Runtime API, queues deliver to their functions with
// partial batch answers, the schedule ticks, and each call of a function to the table, a
// queue, mail or files is checked against the function's own role. The table is the
// adapter's stub of DynamoDB, the queues speak SQS's protocol, S3 is an emulator behind a
// check of roles and signed addresses (a program of tests/emulators; without it files come
// from here too). Mail, payments and the time come from here over a loopback address: the
// functions must be built with the tag devclock (make lambda-local does).
//
// The local controls of contract/surface.md 2 are served too: moving the clock has the real
// sweep functions fire what falls due.
//
// What it does not show: IAM beyond the actions and resources of the roles, quotas,
// CloudFormation's order of work, real contention and cold starts.
package lambdalocal
