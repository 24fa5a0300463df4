package tickets

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// applier is what both Keys and Cache are.
type applier interface{ Apply(*tls.Config) }

// both runs a test with keys and with a cache. Each call of fresh makes others.
func both(t *testing.T, test func(t *testing.T, fresh func() applier)) {
	t.Run("keys", func(t *testing.T) {
		test(t, func() applier { return newKeys(t) })
	})
	t.Run("cache", func(t *testing.T) {
		test(t, func() applier { return NewCache(MinCache) })
	})
}

func TestResume(t *testing.T) {
	both(t, func(t *testing.T, fresh func() applier) {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(tls.VersionName(version), func(t *testing.T) {
				base := serverConfig(t)
				base.MaxVersion = version
				mine := fresh()
				server, client := applied(base, mine), newClient()
				if connect(t, server, client) {
					t.Error("the first connection resumes")
				}
				for range 3 {
					if !connect(t, server, client) {
						t.Error("a later connection does not resume")
					}
				}
				if !connect(t, applied(base, mine), client) {
					t.Error("another configuration does not resume")
				}
				if connect(t, applied(base, fresh()), client) {
					t.Error("others resume")
				}
			})
		}
	})
}

// anyName is a cache of a client that offers its ticket to every server.
type anyName struct{ tls.ClientSessionCache }

func (a anyName) Get(string) (*tls.ClientSessionState, bool) { return a.ClientSessionCache.Get("any") }

func (a anyName) Put(_ string, s *tls.ClientSessionState) { a.ClientSessionCache.Put("any", s) }

// TestServerName offers a ticket under another name.
func TestServerName(t *testing.T) {
	both(t, func(t *testing.T, fresh func() applier) {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			base := serverConfig(t)
			base.MaxVersion = version
			server, client := applied(base, fresh()), newClient()
			client.ClientSessionCache = anyName{client.ClientSessionCache}
			connect(t, server, client)
			client.ServerName = "A.test"
			if !connect(t, server, client) {
				t.Error("a name in upper case does not resume")
			}
			client.ServerName = "b.test"
			if connect(t, server, client) {
				t.Errorf("%s resumes under another name", tls.VersionName(version))
			}
		}
	})
}

// TestConfigForClient uses configurations that a function chooses.
func TestConfigForClient(t *testing.T) {
	both(t, func(t *testing.T, fresh func() applier) {
		special := serverConfig(t)
		base := serverConfig(t)
		base.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if hello.ServerName == "a.test" {
				return special, nil
			}
			return nil, nil
		}
		mine := fresh()
		servers := []*tls.Config{applied(base, mine), applied(base, mine)}
		for _, name := range []string{"a.test", "b.test"} {
			client := newClient()
			client.ServerName = name
			for i, want := range []bool{false, true, true} {
				if got := connect(t, servers[i%2], client); got != want {
					t.Errorf("%s: connection %d resumes: %v", name, i, got)
				}
			}
		}
		if special.WrapSession != nil {
			t.Error("the function's configuration was changed")
		}
		// One with functions of its own keeps them.
		fresh().Apply(special)
		client := newClient()
		connect(t, servers[0], client)
		if !connect(t, special, client) {
			t.Error("the function's configuration does not use its own")
		}
	})
}

// TestClientCertificates resumes sessions of clients with certificates, and not where other
// clients are accepted.
func TestClientCertificates(t *testing.T) {
	both(t, func(t *testing.T, fresh func() applier) {
		base, mine := serverConfig(t), fresh()
		base.ClientAuth = tls.RequireAnyClientCert
		server, client := applied(base, mine), newClient()
		client.Certificates = serverConfig(t).Certificates
		connect(t, server, client)
		if !connect(t, server, client) {
			t.Error("no resumption")
		}
		open := server.Clone()
		open.ClientAuth = tls.NoClientCert
		if connect(t, open, client) {
			t.Error("resumed where clients have no certificates")
		}
		// This session has no certificate, and must not pass for one that has.
		if connect(t, server, client) {
			t.Error("resumed a session without a certificate")
		}
	})
}

// TestNetHTTP serves with net/http, which copies its configuration, while keys change.
func TestNetHTTP(t *testing.T) {
	k := newKeys(t)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.DidResume {
			io.WriteString(w, "resumed")
		}
	}))
	srv.TLS = &tls.Config{}
	k.Apply(srv.TLS)
	srv.StartTLS()
	defer srv.Close()
	tr := &http.Transport{TLSClientConfig: newClient(), DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr, Timeout: patience}
	for i, want := range []string{"", "resumed", "resumed"} {
		resp, err := c.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(b) != want {
			t.Errorf("connection %d: %q, %v, want %q", i, b, err, want)
		}
		if err := k.Rotate(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // the next key is of another moment
	}
}
