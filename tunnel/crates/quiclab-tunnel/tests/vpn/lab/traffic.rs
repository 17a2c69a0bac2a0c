//! Traffic through the tunnel, and the metrics of the server.

use super::Lab;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

impl Lab {
    /// Response of `/metrics` of the server, with the header.
    pub fn metrics(&self) -> String {
        let task = || {
            let mut stream = TcpStream::connect("127.0.0.1:9477").unwrap();
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        self.within('s', task).join().unwrap()
    }

    /// A socket of a host that listens when this returns, and may be used from any thread: it stays in the host's namespace.
    pub fn listener(&self, host: char, address: &'static str) -> TcpListener {
        self.within(host, move || TcpListener::bind(address).unwrap()).join().unwrap()
    }

    /// A socket of a host, which may be used from any thread.
    pub fn socket(&self, host: char, address: impl ToSocketAddrs + Send + 'static) -> UdpSocket {
        self.within(host, move || UdpSocket::bind(address).unwrap()).join().unwrap()
    }

    /// Answers datagrams at an address inside the tunnel, indefinitely.
    pub fn echo(&self, host: char, address: impl ToSocketAddrs + Send + 'static) {
        let socket = self.socket(host, address);
        std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok((size, from)) = socket.recv_from(&mut buffer) {
                let _ = socket.send_to(&buffer[..size], from);
            }
        });
    }

    /// Sends a datagram through the tunnel and waits for the answer, at most `longest`.
    pub fn ping(&self, address: &'static str, longest: Duration) -> Option<Duration> {
        let task = move || {
            let to: SocketAddr = address.parse().unwrap();
            let socket = UdpSocket::bind(if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).unwrap();
            socket.set_read_timeout(Some(longest)).unwrap();
            let start = Instant::now();
            socket.send_to(b"hello", to).ok()?;
            let mut buffer = [0; 16];
            socket.recv_from(&mut buffer).ok()?;
            Some(start.elapsed())
        };
        self.within('c', task).join().unwrap()
    }

    /// Sends successive pings while `task` runs; returns its result, the number of pings, and the number of
    /// answers. An answer may be late on a busy machine.
    pub fn pings_during<T>(&self, task: JoinHandle<T>, address: &'static str) -> (T, u32, u32) {
        let (mut asked, mut answered) = (0, 0);
        while !task.is_finished() {
            asked += 1;
            answered += u32::from(self.ping(address, Duration::from_secs(2)).is_some());
        }
        (task.join().unwrap(), asked, answered)
    }
}
