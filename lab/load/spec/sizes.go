package spec

// Sizes is the range of the sizes of bodies, in bytes.
type Sizes struct {
	Count uint64 `json:"count"`
	Min   int64  `json:"min_bytes"`
	Max   int64  `json:"max_bytes"`

	Compared uint64 `json:"compared,omitempty"` // of a GET without checks: bodies whose first 4 KiB were compared with those of the first one of their size
	Differed uint64 `json:"differed,omitempty"` // of them, those with another content
}

// Merge returns the range of both; nil is empty.
func (s *Sizes) Merge(other *Sizes) *Sizes {
	if s == nil || other == nil {
		if s == nil {
			return other
		}
		return s
	}
	return &Sizes{s.Count + other.Count, min(s.Min, other.Min), max(s.Max, other.Max), s.Compared + other.Compared, s.Differed + other.Differed}
}
