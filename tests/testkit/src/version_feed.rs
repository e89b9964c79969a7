//! Servers on the loopback that publish versions of Atelier, with files that a test key signed
//! (`fixtures`): `minisign -G -W -p test.pub -s test.key`, then `minisign -S -s test.key -m
//! newer.json -x newer.json.minisig` for each file.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// A file and its signature.
pub type SignedFile = (&'static [u8], &'static [u8]);

/// The second line of `test.pub`.
pub const TEST_KEY: &str = "RWRIf/akR5V0+BBcn+O/Qsl7NHHtJgg//3O1BX3fMqZ2U3+AJrdiEXaA";
/// Names version 999.0.0.
pub const NEWER: SignedFile =
    (include_bytes!("version_feed/fixtures/newer.json"), include_bytes!("version_feed/fixtures/newer.json.minisig"));
/// Names version 0.0.1.
pub const OLDER: SignedFile =
    (include_bytes!("version_feed/fixtures/older.json"), include_bytes!("version_feed/fixtures/older.json.minisig"));
/// Names a version of another product.
pub const OTHER_PRODUCT: SignedFile =
    (include_bytes!("version_feed/fixtures/other_product.json"), include_bytes!("version_feed/fixtures/other_product.json.minisig"));
/// Names a page that is not reached by `https`.
pub const WRONG_PAGE: SignedFile =
    (include_bytes!("version_feed/fixtures/wrong_page.json"), include_bytes!("version_feed/fixtures/wrong_page.json.minisig"));
/// The signature of [`NEWER`] by another key.
pub const STRANGERS: &[u8] = include_bytes!("version_feed/fixtures/stranger.json.minisig");

/// Starts a server that calls `answer` for each request, with true where its path ends as a
/// signature's does. Returns the file's address.
///
/// # Errors
/// If the loopback cannot be listened at.
pub fn serve(answer: impl Fn(&mut TcpStream, bool) + Send + 'static) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or(0);
            let head = String::from_utf8_lossy(&request[..read]).into_owned();
            answer(&mut stream, head.lines().next().is_some_and(|line| line.contains(".minisig ")));
        }
    });
    Ok(format!("http://{address}/atelier.json"))
}

/// Starts a server of this file and its signature, and returns the file's address.
///
/// # Errors
/// If the loopback cannot be listened at.
pub fn serve_file((text, signature): SignedFile) -> io::Result<String> {
    serve(move |stream, is_signature| send(stream, if is_signature { signature } else { text }))
}

fn send(stream: &mut TcpStream, body: &[u8]) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}
