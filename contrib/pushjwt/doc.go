// Package pushjwt lets a hub's subscribers and publishers prove with a JSON Web Token (RFC
// 7519) what they may do:
//
//	tokens, err := pushjwt.New(ctx, pushjwt.Options{
//		JWKS:       "https://id.example.com/.well-known/jwks.json",
//		Algorithms: []string{"ES256"},
//		Audience:   "https://api.example.com",
//		Cookie:     "access_token",
//	})
//	if err != nil { ... }
//	defer tokens.Close()
//	mux.Handle("/events", tokens.Handler(hub))
//
// with tokens such as
//
//	{"sub": "alice", "exp": 1800000000, "aud": "https://api.example.com",
//	 "subscribe": ["users/alice/**", "news"], "publish": ["chat/*"]}
//
// The library github.com/golang-jwt/jwt/v5 checks tokens, and
// github.com/MicahParks/keyfunc/v3 keeps the keys of a JWK Set (RFC 7517).
package pushjwt
