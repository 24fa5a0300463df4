package certs

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"time"
)

const (
	// again is after how long what is still wrong is logged again.
	again = time.Hour
	// seldom is how long a pair logs nothing after it has logged that it is unusable.
	seldom = time.Minute
	// racy is how old a file has to be for its modification time to tell whether it has
	// changed: file systems record it in steps of up to two seconds.
	racy = 3 * time.Second
	// readings is how often files that change while they are read are read again at once.
	readings = 3
	// maxFile is the size of the largest file that is read, in bytes.
	maxFile = 1 << 20
)

// errChanging is the error of files that are being replaced.
var errChanging = errors.New("the files change while they are read: write each under another name, then rename it")

// A pair is a certificate and its key, each in a file. It is used with the lock of its
// Reloader.
type pair struct {
	certFile, keyFile string

	cert   *tls.Certificate // in use; nil before the first load
	seen   version          // what cert was read from, or what could not be used
	settle bool             // the files were so new at the last reading that a later change may not show
	broken bool             // seen could not be used

	looks    int       // with which the pair has been unusable without interruption
	logged   version   // last version logged as unusable
	loggedAt time.Time // when that was
	state    string    // last state of its expiry that was logged
	stateAt  time.Time // when that was
}

// A version tells contents of the two files apart. A nil entry is a file that cannot be
// examined.
type version [2]fs.FileInfo

func (v version) equal(w version) bool {
	for i := range v {
		a, b := v[i], w[i]
		if a == nil || b == nil {
			if a != b {
				return false
			}
			continue
		}
		if a.Size() != b.Size() || !a.ModTime().Equal(b.ModTime()) || !os.SameFile(a, b) {
			return false
		}
	}
	return true
}

// young reports whether a file may change again without a new modification time.
func (v version) young(now time.Time) bool {
	for _, f := range v {
		if f != nil && now.Sub(f.ModTime()) < racy {
			return true
		}
	}
	return false
}

// look examines both files, through symbolic links.
func (p *pair) look() (v version, err error) {
	for i, name := range []string{p.certFile, p.keyFile} {
		info, failure := os.Stat(name)
		if failure != nil {
			err = errors.Join(err, failure)
			continue
		}
		if !info.Mode().IsRegular() || info.Size() > maxFile {
			err = errors.Join(err, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file of at most 1 MiB")})
		}
		v[i] = info
	}
	return v, err
}

// load reads the pair if it has changed, if the last reading was not conclusive, or if
// asked to. It reports whether there is another certificate than before. After an error
// the previous certificate is still in use.
func (p *pair) load(force bool) (fresh bool, err error) {
	v, err := p.look()
	if !force && !p.broken && !p.settle && err == nil && v.equal(p.seen) {
		return false, nil
	}
	for range readings {
		if err != nil {
			break
		}
		var cert tls.Certificate
		p.settle = v.young(time.Now())
		cert, err = tls.LoadX509KeyPair(p.certFile, p.keyFile)
		// Both files have to be of the same moment, or the key may be that of a later
		// certificate with the same public key.
		after, changed := p.look()
		if changed == nil && after.equal(v) {
			p.seen, p.broken = v, err != nil
			if err != nil {
				return false, err
			}
			fresh = p.cert == nil || !p.cert.Leaf.Equal(cert.Leaf) || !sameChain(p.cert, &cert)
			if fresh {
				p.cert = &cert
			}
			return fresh, nil
		}
		v, err = after, changed
	}
	if err == nil {
		err = errChanging
	}
	p.seen, p.broken = v, true
	return false, err
}

// sameChain compares what is sent to clients.
func sameChain(a, b *tls.Certificate) bool {
	if len(a.Certificate) != len(b.Certificate) {
		return false
	}
	for i := range a.Certificate {
		if string(a.Certificate[i]) != string(b.Certificate[i]) {
			return false
		}
	}
	return true
}

// report logs the result of a look at the files. The first failure is not logged: one file
// of the pair may not be written yet.
func (p *pair) report(log *slog.Logger, now time.Time, fresh bool, err error) {
	if fresh {
		log.Info("certificate reloaded", "file", p.certFile, "notAfter", p.cert.Leaf.NotAfter)
	}
	if err == nil {
		p.looks = 0
		return
	}
	p.looks++
	since := now.Sub(p.loggedAt)
	if p.looks < 2 || since < seldom || p.logged.equal(p.seen) && since < again {
		return
	}
	p.logged, p.loggedAt = p.seen, now
	log.Error("new certificate cannot be used, the previous one is kept", "error", err, "notAfter", p.cert.Leaf.NotAfter)
}
