package hpack

// responseLines are what services answer with.
var responseLines = [][2]string{
	{"Content-Type", "application/json; charset=utf-8"},
	{"Content-Length", "1532"},
	{"Date", "Sun, 22 Nov 2026 20:13:21 GMT"},
	{"Server", "redline"},
	{"Cache-Control", "private, max-age=0, must-revalidate"},
	{"Vary", "Accept-Encoding, Origin"},
	{"Strict-Transport-Security", "max-age=31536000; includeSubDomains"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Request-Id", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"},
	{"Set-Cookie", "session=eyJ1c2VyIjoiYWxpY2UifQ.ZUQ3bQ; Path=/; HttpOnly"},
	{"Authorization", "Bearer abcdef"},
	{"Cookie", "a=b"},
	{"Cookie", "theme=dark; session=0123456789abcdef"},
}

// requestLines are what a browser asks with.
var requestLines = [][2]string{
	{":method", "GET"},
	{":scheme", "https"},
	{":authority", "shop.example.com"},
	{":path", "/api/v1/items/48213?fields=name,price"},
	{"user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"},
	{"accept", "application/json, text/plain, */*"},
	{"accept-language", "en-US,en;q=0.5"},
	{"accept-encoding", "gzip, deflate, br, zstd"},
	{"referer", "https://shop.example.com/items"},
	{"cookie", "theme=dark; session=0123456789abcdef0123456789abcdef"},
	{"sec-fetch-dest", "empty"},
	{"sec-fetch-mode", "cors"},
	{"sec-fetch-site", "same-origin"},
	{"te", "trailers"},
}
