// TLS serves HTTPS with a certificate that is reloaded when its files change, and resumes the
// sessions of every process that shares its file of ticket keys.
//
//	go run "$(go env GOROOT)/src/crypto/tls/generate_cert.go" -host localhost   # writes cert.pem and key.pem
//	go build -o /tmp/tls ./examples/tls
//	/tmp/tls -tickets /tmp/tickets &
//	/tmp/tls -tickets /tmp/tickets -addr localhost:8444 &
//	curl --cacert cert.pem https://localhost:8443/ https://localhost:8444/
//	go run "$(go env GOROOT)/src/crypto/tls/generate_cert.go" -host localhost   # another certificate, within five seconds
//	kill -HUP %1                                                                # or at once
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/certs"
	"github.com/redline-go/redline/tickets"
)

func main() {
	addr := flag.String("addr", "localhost:8443", "address to listen on")
	cert := flag.String("cert", "cert.pem", "file of the certificate and its intermediates")
	key := flag.String("key", "key.pem", "file of the certificate's key")
	shared := flag.String("tickets", "", "file of ticket keys that several processes share; none: keys of this process alone")
	flag.Parse()
	if err := run(*addr, *cert, *key, *shared); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(addr, cert, key, shared string) error {
	reloader, err := certs.Load(cert, key)
	if err != nil {
		return err
	}
	defer reloader.Close()
	keys, err := tickets.NewKeys(tickets.File(shared)) // no file if the name is empty
	if err != nil {
		return err
	}
	defer keys.Close()
	config := &tls.Config{GetCertificate: reloader.GetCertificate}
	keys.Apply(config)

	srv := &redline.Server{Handler: http.HandlerFunc(hello), TLSConfig: config}
	at, err := srv.ListenTLS(addr, "", "") // the files are those of the reloader
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- srv.Run() }()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	fmt.Printf("listening on https://%s\n", at)
	for {
		select {
		case err := <-served:
			return err
		case s := <-signals:
			if s == syscall.SIGHUP {
				if err := reloader.Reload(); err != nil {
					slog.Error("reload", "error", err) // and serve with the previous certificate
				}
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := srv.Shutdown(ctx); err != nil {
				return err
			}
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		}
	}
}

func hello(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s, resumed: %v\n", tls.VersionName(r.TLS.Version), r.TLS.DidResume)
}
