package spawn

import "testing"

// TestFreeAddress wants a port that no other process is given meanwhile.
func TestFreeAddress(t *testing.T) {
	for range 100 {
		addr, err := FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		if !addr.Addr().IsLoopback() || addr.Port() < firstPort || addr.Port() > lastPort {
			t.Fatalf("address %v", addr)
		}
	}
}
