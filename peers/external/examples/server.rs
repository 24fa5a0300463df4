// The server of rust.yaml: a thread for each connection. It is here for its form: it
// answers every request alike, knows no bodies, and has no Date.
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!";

fn serve(mut conn: TcpStream) -> std::io::Result<()> {
    conn.set_nodelay(true)?;
    let (mut input, mut used) = (vec![0u8; 64 << 10], 0);
    loop {
        let n = conn.read(&mut input[used..])?;
        if n == 0 {
            return Ok(()); // the client has left, or its head is too long
        }
        used += n;
        let (mut output, mut begin) = (Vec::new(), 0);
        while let Some(end) = input[begin..used].windows(4).position(|w| w == b"\r\n\r\n") {
            begin += end + 4;
            output.extend_from_slice(ANSWER);
        }
        input.copy_within(begin..used, 0);
        used -= begin;
        conn.write_all(&output)?;
    }
}

fn main() -> std::io::Result<()> {
    let addr = std::env::args().nth(1).expect("usage: server HOST:PORT");
    for conn in TcpListener::bind(addr)?.incoming() {
        let conn = conn?;
        std::thread::spawn(move || serve(conn));
    }
    Ok(())
}
