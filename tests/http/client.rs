//! A client that sends exactly the bytes that it is told, and hangs up when a test wants it to.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longer than anything here takes on the slowest machine: reaching it is a failure.
const LIMIT: Duration = Duration::from_mins(5);

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The answer of a request that went well.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }
}

/// A request that was sent; dropping it hangs up.
pub(crate) struct Sent(BufReader<TcpStream>);

impl Sent {
    pub(crate) fn new(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            let _ = write!(head, "Host: {address}\r\n");
        }
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        head.push_str("Connection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        // A server that has refused the head may have hung up.
        let _ = stream.write_all(body);
        Self(BufReader::new(stream))
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits for the status of the answer, and goes on holding the connection.
    pub(crate) fn status(&mut self) -> u16 {
        let status = self.line();
        status.split(' ').nth(1).unwrap_or_else(|| panic!("{status:?}")).parse().unwrap()
    }

    pub(crate) fn answer(mut self) -> Answer {
        let status = self.status();
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut body = Vec::new();
        if headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked") {
            loop {
                let size = usize::from_str_radix(&self.line(), 16).unwrap();
                let mut chunk = vec![0; size];
                self.0.read_exact(&mut chunk).unwrap();
                self.line();
                if size == 0 {
                    break;
                }
                body.extend(chunk);
            }
        } else {
            self.0.read_to_end(&mut body).unwrap();
        }
        Answer { status, headers, body }
    }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    Sent::new(address, "GET", path, &[], b"").answer()
}

pub(crate) fn post(address: SocketAddr, path: &str, body: &Value) -> Answer {
    send(address, path, body).answer()
}

pub(crate) fn send(address: SocketAddr, path: &str, body: &Value) -> Sent {
    Sent::new(address, "POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
}
