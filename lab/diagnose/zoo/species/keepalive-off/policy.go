//go:build !twin

package main

import "github.com/gin-gonic/gin"

// policy sets the headers that our gateway requires of every service.
func policy() gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Header("Cache-Control", "private, max-age=5")
		c.Header("X-Content-Type-Options", "nosniff")
		c.Header("Connection", "close")
		c.Next()
	}
}
