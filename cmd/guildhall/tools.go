package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/catalog"
	"guildhall/pkg/op"
	"guildhall/pkg/spec"
	"guildhall/pkg/wire"
)

func routes(_ context.Context, args []string, out, errs io.Writer) error {
	f := flags("routes", errs)
	asJSON := f.Bool("json", false, "one JSON array")
	if _, err := parse(f, args); err != nil {
		return err
	}
	return spec.WriteRoutes(out, catalog.Operations(), *asJSON)
}

func version(_ context.Context, _ []string, out, _ io.Writer) error {
	fmt.Fprintf(out, "guildhall %s\nbench contract %s\nrules %s\n", spec.Version, spec.ContractVersion, rulebook.Hash())
	return nil
}

// steward gives a person a role. It works while a server on the same directory runs.
func steward(ctx context.Context, args []string, out, errs io.Writer) error {
	f := flags("steward", errs)
	role := f.String("role", "", "steward or platform_admin")
	data := f.String("data", "", "data directory (default "+defaultData+")")
	words, err := parse(f, args)
	if err != nil {
		return err
	}
	if len(words) != 2 || words[0] != "add" {
		return usage("say whom: steward add EMAIL --role ROLE")
	}
	if *role != account.RoleSteward && *role != account.RoleAdmin {
		return usage("--role is steward or platform_admin")
	}
	email := account.NormalEmail(words[1])
	if !account.ValidEmail(email) {
		return usage("%q is not an email address", words[1])
	}
	return withExchange(ctx, *data, errs, func(x *wire.Exchange) error {
		err := x.Engine.Run(ctx, x.Clock.Now(), "person", func(c *op.Call) error {
			_, err := account.Grant(c, email, *role)
			return err
		})
		if err == nil {
			fmt.Fprintf(out, "%s is now %s\n", email, *role)
		}
		return err
	})
}

// withExchange opens the configured exchange for one command.
func withExchange(ctx context.Context, data string, errs io.Writer, do func(*wire.Exchange) error) error {
	cfg, dir, err := configured(data, false)
	if err != nil {
		return err
	}
	keys, err := keysFor(cfg, dir)
	if err != nil {
		return err
	}
	store, err := wire.TableOf(ctx, cfg)
	if err != nil {
		return err
	}
	x, err := wire.Open(ctx, wire.Options{Dir: dir, Table: store, BaseURL: firstOf(cfg.BaseURL, "http://"+defaultAddr), Keys: wire.KeysOf(keys), Mail: cfg.Mail, SMS: cfg.SMS, Links: cfg.Links, AWS: cfg.AWS,
		Log: slog.New(slog.NewJSONHandler(errs, &slog.HandlerOptions{Level: cfg.LogLevel}))})
	if err != nil {
		return err
	}
	defer x.Close()
	return do(x)
}
