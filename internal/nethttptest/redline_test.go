package nethttptest

// candidates are the engines that are held to net/http.
func candidates() []engine { return []engine{{"net/http again", netHTTP.make}} }
