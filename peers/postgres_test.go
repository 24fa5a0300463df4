//go:build linux

package peers_test

import (
	"fmt"
	"net"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/redline-go/redline/peers/internal/backend"
)

// rowURL is where a PostgreSQL listens whose socket is at path.
func rowURL(path string) string {
	return fmt.Sprintf("postgres://redline@/postgres?host=%s&port=5432&sslmode=disable", filepath.Dir(path))
}

// postgres answers the one statement of the contract with one row, prepared or not.
func postgres(conn net.Conn) error {
	server := pgproto3.NewBackend(conn, conn)
	if _, err := server.ReceiveStartupMessage(); err != nil {
		return err
	}
	server.Send(&pgproto3.AuthenticationOk{})
	server.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	server.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	const integer, text = 23, 25 // of pg_type
	columns := &pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{
		{Name: []byte("value"), DataTypeOID: text, DataTypeSize: -1, TypeModifier: -1},
	}}
	for {
		if err := server.Flush(); err != nil {
			return err
		}
		message, err := server.Receive()
		if err != nil {
			return err
		}
		switch m := message.(type) {
		case *pgproto3.Parse:
			if m.Query != backend.Row {
				return fmt.Errorf("it asks %q", m.Query)
			}
			server.Send(&pgproto3.ParseComplete{})
		case *pgproto3.Describe:
			if m.ObjectType == 'S' {
				server.Send(&pgproto3.ParameterDescription{ParameterOIDs: []uint32{integer}})
			}
			server.Send(columns)
		case *pgproto3.Bind:
			server.Send(&pgproto3.BindComplete{})
		case *pgproto3.Execute:
			server.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(value)}})
			server.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
		case *pgproto3.Sync:
			server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case *pgproto3.Terminate:
			return nil
		default:
			return fmt.Errorf("it sends %T", m)
		}
	}
}
