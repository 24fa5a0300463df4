// Package certs serves certificates from files and notices when the files change. It works
// with every server that takes a [crypto/tls.Config], and imports only the standard
// library.
//
//	r, err := certs.Load("/etc/tls/tls.crt", "/etc/tls/tls.key")
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer r.Close()
//	srv := &http.Server{Addr: ":8443", Handler: mux, TLSConfig: &tls.Config{GetCertificate: r.GetCertificate}}
//	log.Fatal(srv.ListenAndServeTLS("", ""))
//
// # Changes
//
// The files are looked at every five seconds ([Interval]), and at once by [Reloader.Reload].
// A file has changed if its modification time, its size or its identity has. Symbolic links
// are followed, so both common ways to replace a certificate are noticed: the new link of a
// Kubernetes secret's directory, and the new target of certbot's links.
//
// Certificate and key are used only together. While they do not match, because one of them
// is not written yet, the previous pair stays in use, and the files are read again at every
// interval. A pair that is still unusable at the second look is logged, once for each
// version of the files, at most once a minute, and again after an hour.
//
// A new certificate is used from the next handshake on. Connections are not touched.
//
// # Several certificates
//
// [Pair] adds a pair. Each handshake gets a certificate by the name that the client asks for
// (RFC 6066, section 3): one that has exactly this name, or else one with a wildcard for it,
// or else the first pair. If several match, as with an ECDSA and an RSA key for the same
// name, it is the first that the client supports.
//
// # Expiry
//
// [Reloader.NotAfter] says when the first of the certificates expires. A certificate that
// expires within a day, or has expired, is logged when this is noticed, and again every
// hour. An expired certificate stays in use, because clients report it more clearly than
// a handshake that fails.
//
// The status of certificates (OCSP, RFC 6960) is not stapled.
package certs
