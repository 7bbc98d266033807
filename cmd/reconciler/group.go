package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reconciler/config"
	"reconciler/postgres"
	"reconciler/reports"
)

// group is a command that only holds others. Called without one of them, or
// with a word that is none, it is a usage error, not a silent page of help.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(below...)
	names := make([]string, 0, len(below))
	for _, sub := range below {
		names = append(names, sub.Name())
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usage("there is no command '%s %s'; there is: %s", cmd.CommandPath(), args[0], strings.Join(names, ", "))
		}
		return usage("'%s' needs one of: %s (see '%[1]s --help')", cmd.CommandPath(), strings.Join(names, ", "))
	}
	return cmd
}

// completion offers values for arguments and flags. Whatever goes wrong gives
// no offer: the command itself will say what is wrong.
type completion func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// fromConfig offers names of the configuration, each once; files besides them
// where the arguments may be files too.
func (a *app) fromConfig(most int, names func(*config.Config) []string) completion {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveDefault
		}
		cfg, err := config.Load(a.configFile(), a.env)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		left := slices.DeleteFunc(slices.Clone(names(cfg)), func(name string) bool { return slices.Contains(args, name) })
		return left, cobra.ShellCompDirectiveNoFileComp
	}
}

// fromDatabase offers what a shared database knows. A private one would have
// to be started for it, which is too much for a key press.
func (a *app) fromDatabase(names func(context.Context, *postgres.Store) ([]string, error)) completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cfg, err := config.Load(a.configFile(), a.env)
		if err != nil || cfg.Database.Private {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionWait)
		defer cancel()
		s, err := a.connect(ctx, cfg, true)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer s.close()
		found, err := names(ctx, s.store)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

const (
	// completionWait is how long a key press may wait for the database.
	completionWait = 2 * time.Second
	// completionLimit is how many values are offered.
	completionLimit = 100
)

func fixed(values ...string) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlag registers what a flag may be completed to.
func completeFlag(cmd *cobra.Command, flag string, with completion) {
	if err := cmd.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(err) // the flag is not there: every start of the program shows it
	}
}

// waitingExceptions offers the cases that wait for somebody.
func waitingExceptions(ctx context.Context, store *postgres.Store) ([]string, error) {
	list, err := store.Exceptions(ctx, postgres.ExceptionFilter{})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, x := range list[:min(len(list), completionLimit)] {
		ids = append(ids, x.ExceptionID+"\t"+x.Kind+" "+reports.Visible(x.IdempotencyKey))
	}
	return ids, nil
}

// currentStatements offers the newest current statements.
func currentStatements(ctx context.Context, store *postgres.Store) ([]string, error) {
	list, err := store.ListStatements(ctx, postgres.StatementFilter{Current: true, Limit: completionLimit})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, st := range list {
		ids = append(ids, strconv.FormatInt(st.StatementID, 10)+"\t"+reports.Visible(st.Name))
	}
	return ids, nil
}
