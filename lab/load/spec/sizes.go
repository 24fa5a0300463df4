package spec

// Sizes is the range of the sizes of bodies, in bytes.
type Sizes struct {
	Count uint64 `json:"count"`
	Min   int64  `json:"min_bytes"`
	Max   int64  `json:"max_bytes"`
}

// Merge returns the range of both; nil is empty.
func (s *Sizes) Merge(other *Sizes) *Sizes {
	if s == nil || other == nil {
		if s == nil {
			return other
		}
		return s
	}
	return &Sizes{s.Count + other.Count, min(s.Min, other.Min), max(s.Max, other.Max)}
}
