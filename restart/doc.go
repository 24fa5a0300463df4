// Package restart replaces a server with a new process of itself, for instance of another
// build, without refusing or losing a connection. It works with any server, and imports
// only the standard library.
//
// The new process inherits the listening sockets of the old one. Both accept for a moment;
// then the old one completes its requests and exits:
//
//	old process                       new process
//	Listen: opens the socket
//	Ready: nobody waits
//	serves
//	Process ─────── starts ─────────▶ Listen: takes the socket over
//	  waits                           prepares, so that nothing can fail any more
//	  returns ◀──── Ready ─────────── serves
//	Shutdown
//	ends
//
// A program is written once for both roles:
//
//	l, err := restart.Listen("tcp", ":8080")
//	...
//	srv := &redline.Server{Handler: mux}
//	if err := srv.Adopt(l); err != nil { // what could fail, fails here
//		log.Fatal(err) // and the old process serves on
//	}
//	go srv.Run()
//	if err := restart.Ready(); err != nil {
//		log.Fatal(err)
//	}
//	for range hangups { // signal.Notify(hangups, syscall.SIGHUP)
//		if _, err := restart.Process(ctx, l); err != nil {
//			log.Print(err) // and serve on: a bad build is no reason to stop
//			continue
//		}
//		srv.Shutdown(ctx)
//		return
//	}
//
// With net/http, Serve replaces Adopt and Run; its errors then occur after Ready.
//
// # What is passed on
//
// TCP and Unix socket listeners are passed on, and so are the arguments, the environment,
// the working directory, and standard input, output and error. Connections are not: the old
// process completes their requests.
//
// The process takes the descriptors over when the package is initialised: from then on
// processes that it starts get neither the sockets nor the environment variable that names
// them. Otherwise a forgotten child would hold a socket and take connections that nobody
// accepts.
//
// A supervisor sees its child end. With systemd this requires Type=notify and a new
// MAINPID, or sockets that systemd keeps itself, which need no package.
//
// docs/adr/0015-restarts.md says why this package is used instead of an existing library.
package restart
