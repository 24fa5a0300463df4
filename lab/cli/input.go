package cli

import (
	"context"
	"io"
	"os"
)

// Open opens a file that is read to its end. It may be a pipe: the end of ctx, and so an interrupt,
// ends the wait for its writer as well as that for data, with the error of ctx. The caller closes it.
func Open(ctx context.Context, path string) (io.ReadCloser, error) {
	type result struct {
		file *os.File
		err  error
	}
	opened := make(chan result)
	go func() {
		f, err := os.Open(path)
		select {
		case opened <- result{f, err}:
		case <-ctx.Done():
			if err == nil {
				_ = f.Close() // nobody has read it
			}
		}
	}()
	select {
	case r := <-opened:
		if r.err != nil {
			return nil, r.err
		}
		i := &input{ctx: ctx, file: r.file}
		i.stop = context.AfterFunc(ctx, func() { _ = r.file.Close() }) // which Close does otherwise
		return i, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// input is a file that the end of a context closes.
type input struct {
	ctx  context.Context
	file *os.File
	stop func() bool
}

func (i *input) Read(b []byte) (int, error) {
	n, err := i.file.Read(b)
	if err != nil && i.ctx.Err() != nil {
		err = i.ctx.Err()
	}
	return n, err
}

func (i *input) Close() error {
	if !i.stop() {
		return nil // it is closed, or being closed
	}
	return i.file.Close()
}
