// Command empty contains nothing but the runtime.
package main

func main() {}
