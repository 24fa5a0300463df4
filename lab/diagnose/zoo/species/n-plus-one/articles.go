//go:build !twin

package main

import "context"

// articles reads articles.
func (l *Lists) articles(ctx context.Context, keys []string) ([]string, error) {
	list := make([]string, 0, len(keys))
	for _, key := range keys {
		article, err := l.redis.Get(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		list = append(list, article)
	}
	return list, nil
}
