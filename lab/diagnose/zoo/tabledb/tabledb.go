// Package tabledb is a driver of database/sql for the zoo's database, backends/tables. A query
// is one line, "KEY[,KEY...]"; the answer is a line with the number of rows, and a line
// "KEY<tab>VALUE" for each.
//
//	db, err := sql.Open("tables", "127.0.0.1:7000")
//	rows, err := db.QueryContext(ctx, "select key, value from items where key = ?", "a")
//
// The text of a query is not parsed: its parameters are the keys.
package tabledb

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// maxRows limits an answer.
const maxRows = 10_000

func init() { sql.Register("tables", tables{}) }

type tables struct{}

// Open connects to the database at HOST:PORT.
func (tables) Open(addr string) (driver.Conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return &conn{c, bufio.NewReader(c)}, nil
}

type conn struct {
	net.Conn
	in *bufio.Reader
}

var errUnsupported = errors.New("the database only answers queries")

func (*conn) Begin() (driver.Tx, error) { return nil, errUnsupported }

func (*conn) Prepare(string) (driver.Stmt, error) { return nil, errUnsupported }

// QueryContext asks for the keys that the parameters name.
func (c *conn) QueryContext(ctx context.Context, _ string, args []driver.NamedValue) (driver.Rows, error) {
	keys := make([]string, len(args))
	for i, a := range args {
		keys[i] = fmt.Sprint(a.Value)
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	if _, err := io.WriteString(c, strings.Join(keys, ",")+"\n"); err != nil {
		return nil, driver.ErrBadConn
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	n, err := strconv.Atoi(strings.TrimSuffix(line, "\n"))
	if err != nil || n < 0 || n > maxRows {
		return nil, fmt.Errorf("the database answered %.40q", line)
	}
	return &rows{c.in, n}, nil
}

// rows reads the rows of one answer.
type rows struct {
	in   *bufio.Reader
	left int
}

func (*rows) Columns() []string { return []string{"key", "value"} }

// Close reads what was not asked for, so that the connection can be used again.
func (r *rows) Close() error {
	for row := make([]driver.Value, 2); r.left > 0; {
		if err := r.Next(row); err != nil {
			return err
		}
	}
	return nil
}

// Next reads one row.
func (r *rows) Next(to []driver.Value) error {
	if r.left == 0 {
		return io.EOF
	}
	line, err := r.in.ReadString('\n')
	if err != nil {
		return fmt.Errorf("read a row: %w", err)
	}
	r.left--
	key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
	to[0], to[1] = key, value
	return nil
}
