// Package restart lets a server be replaced by a new process of itself, of another
// build for instance, without a connection being refused or lost. It is for any
// server, and imports the standard library alone.
//
// The new process is given the listening sockets of the old one. Both accept for a
// moment; then the old one ends what it has begun, and goes:
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
// With net/http, Serve takes the place of Adopt and Run; what fails there fails
// after Ready then.
//
// # What is passed on
//
// Listeners of TCP and of Unix sockets are, and the arguments, the environment, the
// working directory, and standard input, output and error. Connections are not: the
// old process completes their requests.
//
// The process takes what was passed on when the package is initialised: from then on
// neither the sockets nor the environment variable that names them go to processes
// that it starts itself. A socket in the hands of a forgotten child would go on
// taking connections that nobody accepts.
//
// A supervisor sees its child end. With systemd that takes Type=notify and a new
// MAINPID, or sockets that systemd keeps itself, which need no package.
//
// docs/adr/0015-restarts.md says why this is not one of the libraries for it.
package restart
