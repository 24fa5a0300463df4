package backend

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Row is what GET /postgres reads: one row by its key, the id [RowID].
const (
	Row   = "SELECT value FROM redline WHERE id = $1"
	RowID = 1
)

// newPostgres makes a pool with the settings that pgxpool has by itself: as many
// connections as there are CPUs, and at least four. A URL that it cannot read ends the
// process: it comes from the command line.
func newPostgres(url string) *pgxpool.Pool {
	pool, err := pgxpool.New(context.Background(), url)
	if err != nil {
		fmt.Fprintf(os.Stderr, "--postgres: %v\n", err)
		os.Exit(2)
	}
	return pool
}

// Postgres asks for one row.
func (b *Backends) Postgres(ctx context.Context) (value string, err error) {
	if b.postgres == nil {
		return "", ErrNone
	}
	err = b.postgres.QueryRow(ctx, Row, RowID).Scan(&value)
	return value, err
}
