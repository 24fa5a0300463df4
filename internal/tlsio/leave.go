package tlsio

// Leave implements [transport.Conn]. No session that leaves a Feed runs over TLS yet.
func (c *Conn) Leave(int) { panic("tlsio: Leave is not implemented") }
