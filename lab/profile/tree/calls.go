package tree

import (
	"cmp"
	"slices"
	"sort"
)

// mostNodes limits a tree. A stack that needs more ends at its last node.
const mostNodes = 2 << 20

// Node is a function in a tree of calls, called as its ancestors say.
type Node struct {
	Symbol   int32 // index into the symbols of the tree; -1: the root
	Parent   int32 // index of the caller, which is smaller than that of the node; -1: the root has none
	Total    int64 // with all that it called
	Before   int64 // of a difference: the Total in the first profile; else 0
	children int32
}

// Calls is a tree of calls. The nodes are in the order of a walk from the root that visits a node
// before its children, and the larger of two children first.
type Calls struct {
	Symbols []Symbol
	Nodes   []Node
	Short   int // stacks that end at an ancestor, because the tree would be too large
}

// Calls returns the tree of all stacks.
func (s *Samples) Calls() *Calls {
	b := newBuilder(s.Symbols)
	b.add(s, nil, func(n *Node, v int64) { n.Total += v })
	return b.finish()
}

// Diff returns the tree of both profiles' stacks. Total has the values of s, Before those of
// before.
func (s *Samples) Diff(before *Samples) *Calls {
	symbols, index := slices.Clone(s.Symbols), map[string]int32{}
	for i := range symbols {
		index[symbols[i].Name] = int32(i)
	}
	moved := make([]int32, len(before.Symbols))
	for i, symbol := range before.Symbols {
		at, ok := index[symbol.Name]
		if !ok {
			at = int32(len(symbols))
			symbols = append(symbols, symbol)
		}
		moved[i] = at
	}
	b := newBuilder(symbols)
	b.add(s, nil, func(n *Node, v int64) { n.Total += v })
	b.add(before, moved, func(n *Node, v int64) { n.Before += v })
	return b.finish()
}

// edge is a call: the node of the caller, and the symbol of the callee.
type edge struct{ caller, symbol int32 }

type builder struct {
	calls Calls
	edges map[edge]int32
}

func newBuilder(symbols []Symbol) *builder {
	return &builder{calls: Calls{Symbols: symbols, Nodes: []Node{{Symbol: -1, Parent: -1}}}, edges: map[edge]int32{}}
}

// add adds stacks. moved has the indexes of their symbols; nil: they are the same.
func (b *builder) add(s *Samples, moved []int32, count func(*Node, int64)) {
	for i, stack := range s.Stacks {
		at, v := int32(0), s.Values[i]
		count(&b.calls.Nodes[0], v)
		for _, symbol := range stack {
			if moved != nil {
				symbol = moved[symbol]
			}
			next, ok := b.edges[edge{at, symbol}]
			if !ok {
				if len(b.calls.Nodes) == mostNodes {
					b.calls.Short++
					break
				}
				next = int32(len(b.calls.Nodes))
				b.edges[edge{at, symbol}] = next
				b.calls.Nodes = append(b.calls.Nodes, Node{Symbol: symbol, Parent: at})
				b.calls.Nodes[at].children++
			}
			at = next
			count(&b.calls.Nodes[at], v)
		}
	}
}

// finish sorts the nodes.
func (b *builder) finish() *Calls {
	nodes := b.calls.Nodes
	order := make([]int32, len(nodes)) // by caller, and then by size
	for i := range order {
		order[i] = int32(i)
	}
	weight := func(n *Node) int64 { return max(n.Total, n.Before) }
	slices.SortFunc(order, func(i, j int32) int {
		x, y := &nodes[i], &nodes[j]
		return cmp.Or(cmp.Compare(x.Parent, y.Parent), cmp.Compare(weight(y), weight(x)), cmp.Compare(b.name(x), b.name(y)))
	})
	first := make([]int32, len(nodes)) // position of the first child in order
	for i, n := range order {
		if p := nodes[n].Parent; p >= 0 && (i == 0 || nodes[order[i-1]].Parent != p) {
			first[p] = int32(i)
		}
	}
	sorted := make([]Node, 0, len(nodes))
	type visit struct{ node, parent int32 }
	todo := []visit{{0, -1}}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n := nodes[at.node]
		n.Parent = at.parent
		place := int32(len(sorted))
		sorted = append(sorted, n)
		for i := first[at.node] + n.children - 1; i >= first[at.node] && n.children > 0; i-- {
			todo = append(todo, visit{order[i], place})
		}
	}
	b.calls.Nodes = sorted
	return &b.calls
}

func (b *builder) name(n *Node) string {
	if n.Symbol < 0 {
		return ""
	}
	return b.calls.Symbols[n.Symbol].Name
}

// Largest returns the tree without its smallest nodes, so that at most so many remain. A node
// stays if its caller does. The root always stays.
func (c *Calls) Largest(most int) *Calls {
	if len(c.Nodes) <= most {
		return c
	}
	sizes := make([]int64, len(c.Nodes))
	for i := range c.Nodes {
		sizes[i] = max(c.Nodes[i].Total, c.Nodes[i].Before)
	}
	slices.Sort(sizes)
	least := sizes[len(sizes)-most]
	ties := most - (len(sizes) - sort.Search(len(sizes), func(i int) bool { return sizes[i] > least })) // that stay
	out := &Calls{Symbols: c.Symbols, Short: c.Short}
	place := make([]int32, len(c.Nodes))
	for i, n := range c.Nodes {
		place[i] = -1
		size := max(n.Total, n.Before)
		if i > 0 && (place[n.Parent] < 0 || size < least || size == least && ties <= 0) {
			if place[n.Parent] >= 0 {
				out.Nodes[place[n.Parent]].children--
			}
			continue
		}
		if size == least {
			ties--
		}
		place[i] = int32(len(out.Nodes))
		if n.Parent >= 0 {
			n.Parent = place[n.Parent]
		}
		out.Nodes = append(out.Nodes, n)
	}
	return out
}
