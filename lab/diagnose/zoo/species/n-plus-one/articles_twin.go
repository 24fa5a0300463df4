//go:build twin

package main

import "context"

// articles reads articles.
func (l *Lists) articles(ctx context.Context, keys []string) ([]string, error) {
	values, err := l.redis.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, err
	}
	list := make([]string, 0, len(values))
	for _, v := range values {
		if article, ok := v.(string); ok {
			list = append(list, article)
		}
	}
	return list, nil
}
