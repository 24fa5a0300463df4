//go:build twin

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
	db.SetMaxOpenConns(1000)
	db.SetMaxIdleConns(1000)
	db.SetConnMaxLifetime(time.Hour)
	return db, nil
}
