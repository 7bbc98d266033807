package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"reconciler/config"
	"reconciler/postgres"
	"reconciler/postgres/private"
	"reconciler/reconcile"
)

// app is one call of the program: what comes in, and where answers go.
type app struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) (string, bool)
	// terminal: stderr is one, so progress may move.
	terminal bool
	// dir against which relative paths on the command line are taken.
	dir string

	configPath string
	output     string
	verbose    bool
}

// main runs the command line and returns the exit code.
func (a *app) main(ctx context.Context) int {
	root := a.root() //nolint:contextcheck // commands take the context that cobra hands them
	root.SetArgs(a.args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return codeDone
	}
	var exit *exitError
	if !errors.As(err, &exit) || exit.err != nil {
		fmt.Fprintln(a.stderr, "reconciler:", err) //nolint:errcheck // stderr is the last resort
	}
	var broken *config.Error
	var locked *reconcile.LockedError
	switch {
	case errors.As(err, &broken):
		return codeUsage
	case errors.As(err, &locked):
		return codeLocked
	}
	return exitCode(ctx, err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "reconciler",
		Short: "Settle the open operations of a journal against what the providers say",
		Long: `reconciler finds out what really happened to operations whose answer was lost.

It reads what providers say (statements, registers), matches it to the open
operations of a shared PostgreSQL journal, moves those that are proven, and
hands the rest to people in an exception report. See it work:

  reconciler demo

` + exitCodesHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w (see '%s --help')", err, cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.configPath, "config", "", "configuration file (default reconciler.yaml, or $RECONCILER_CONFIG)")
	flags.StringVarP(&a.output, "output", "o", "table", "form of the answer on stdout: table or json")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log more")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if a.output != "table" && a.output != "json" {
			return usage("--output is %q; it can be table or json", a.output)
		}
		return nil
	}
	root.AddCommand(a.commands()...)
	for _, cmd := range root.Commands() {
		strictUsage(cmd)
	}
	return root
}

// noCommand says that there is no such command, and which may be meant.
func noCommand(cmd *cobra.Command, name string) error {
	cmd.SuggestionsMinimumDistance = 2
	meant := ""
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		meant = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage("there is no command '%s %s'%s ('%[1]s --help' lists them)", cmd.CommandPath(), name, meant)
}

// strictUsage makes wrong arguments a usage error, for all commands below.
func strictUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage("%w (see '%s --help')", err, cmd.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		strictUsage(sub)
	}
}

func (a *app) commands() []*cobra.Command {
	run, ingest := a.runCommand(), a.ingestCommand()
	run.ValidArgsFunction = a.fromConfig(0, (*config.Config).JobNames)
	ingest.ValidArgsFunction = a.fromConfig(1, (*config.Config).SourceNames)
	return []*cobra.Command{
		run, ingest, a.statementsCommand(), a.coverageCommand(), a.explainCommand(), a.operationsCommand(),
		a.exceptionsCommand(), a.journalCommand(), a.configCommand(), a.sourcesCommand(), a.demoCommand(), a.versionCommand(),
	}
}

// log writes to stderr: lines of key=value for people, JSON where stderr is
// not a terminal.
func (a *app) log() *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if a.verbose {
		opts.Level = slog.LevelDebug
	} else if a.terminal {
		opts.Level = slog.LevelWarn
	}
	if a.terminal {
		return slog.New(slog.NewTextHandler(a.stderr, opts))
	}
	return slog.New(slog.NewJSONHandler(a.stderr, opts))
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// configFile is the path of the configuration file: as the flag, the
// environment or the default says.
func (a *app) configFile() string {
	path := a.configPath
	if path == "" {
		if named, ok := a.env("RECONCILER_CONFIG"); ok && named != "" {
			path = named
		} else {
			path = "reconciler.yaml"
		}
	}
	return a.path(path)
}

// loadConfig reads the configuration file.
func (a *app) loadConfig() (*config.Config, error) {
	cfg, err := config.Load(a.configFile(), a.env)
	if err != nil {
		return nil, err
	}
	for _, w := range cfg.Warnings() {
		a.log().Warn(w.String())
	}
	return cfg, nil
}

// path takes a path of the command line.
func (a *app) path(p string) string {
	if filepath.IsAbs(p) || a.dir == "." {
		return p
	}
	return filepath.Join(a.dir, p)
}

// session is an open database under a configuration.
type session struct {
	cfg     *config.Config
	log     *slog.Logger
	url     string
	schemas postgres.Schemas
	pool    *pgxpool.Pool
	store   *postgres.Store
	close   func()
}

// open loads the configuration and connects. A private database is started,
// and its schemas are made; a shared one must have been migrated.
func (a *app) open(ctx context.Context) (*session, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	return a.connect(ctx, cfg, true)
}

// connect opens the database of a configuration; ready asks for its schemas to be there.
func (a *app) connect(ctx context.Context, cfg *config.Config, ready bool) (*session, error) {
	s := &session{
		cfg: cfg, log: a.log(), close: func() {},
		schemas: postgres.Schemas{Journal: cfg.Database.JournalSchema, Reconciler: cfg.Database.Schema},
	}
	if err := s.start(ctx, cfg); err != nil {
		return nil, err
	}
	if ready {
		if err := s.ready(ctx); err != nil {
			s.close()
			return nil, err
		}
	}
	pool, err := postgres.Connect(ctx, s.url)
	if err != nil {
		s.close()
		return nil, err
	}
	stop := s.close
	s.close = func() {
		pool.Close()
		stop()
	}
	s.pool = pool
	s.store = postgres.NewStore(pool, s.schemas, s.log)
	return s, nil
}

// start finds the database, and starts the private one.
func (s *session) start(ctx context.Context, cfg *config.Config) error {
	if !cfg.Database.Private {
		s.url = cfg.Database.URL.Reveal()
		return nil
	}
	server, err := private.Start(ctx, private.Options{Dir: cfg.DataDir, Log: s.log})
	if err != nil {
		return err
	}
	s.url = server.URL("postgres")
	s.close = func() { //nolint:contextcheck // it stops whatever has become of the run's context
		if err := server.Stop(); err != nil {
			s.log.Error("stop the private database", "error", err)
		}
	}
	return nil
}

func (s *session) ready(ctx context.Context) error {
	if s.cfg.Database.Private {
		return postgres.Migrate(ctx, s.url, s.schemas)
	}
	current, err := postgres.UpToDate(ctx, s.url, s.schemas)
	if err != nil {
		return err
	}
	if !current {
		return usage("the database has no journal of this version; run 'reconciler journal migrate' (it adopts an existing agent_operations in place)")
	}
	return nil
}
