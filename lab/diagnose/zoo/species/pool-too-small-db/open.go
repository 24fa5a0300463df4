//go:build !twin

package main

import (
	"database/sql"
	"time"
)

// open opens the database.
func open(addr string) (*sql.DB, error) {
	db, err := sql.Open("tables", addr)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	db.SetConnMaxLifetime(time.Hour)
	return db, nil
}
