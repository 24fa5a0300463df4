package tickets

import "crypto/tls"

type (
	wrapFunc   = func(tls.ConnectionState, *tls.SessionState) ([]byte, error)
	unwrapFunc = func([]byte, tls.ConnectionState) (*tls.SessionState, error)
)

// apply sets the functions of a configuration, and of those that it chooses for clients.
func apply(c *tls.Config, wrap wrapFunc, unwrap unwrapFunc) {
	c.WrapSession, c.UnwrapSession = wrap, unwrap
	choose := c.GetConfigForClient
	if choose == nil {
		return
	}
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		chosen, err := choose(hello)
		if err != nil || chosen == nil || chosen.WrapSession != nil || chosen.UnwrapSession != nil {
			return chosen, err
		}
		// The configuration may be in use by other connections: it must not be changed.
		chosen = chosen.Clone()
		chosen.WrapSession, chosen.UnwrapSession = wrap, unwrap
		return chosen, nil
	}
}
