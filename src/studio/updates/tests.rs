//! Tests against a server on the loopback, with files that a test key signed (`fixtures`):
//! `minisign -G -W -p test.pub -s test.key`, then `minisign -S -s test.key -m newer.json -x newer.json.minisig` for each file.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use super::*;

/// The second line of `test.pub`.
const TEST_KEY: &str = "RWRIf/akR5V0+BBcn+O/Qsl7NHHtJgg//3O1BX3fMqZ2U3+AJrdiEXaA";
const NEWER: (&[u8], &[u8]) = (include_bytes!("fixtures/newer.json"), include_bytes!("fixtures/newer.json.minisig"));
const OLDER: (&[u8], &[u8]) = (include_bytes!("fixtures/older.json"), include_bytes!("fixtures/older.json.minisig"));
const OTHER_PRODUCT: (&[u8], &[u8]) =
    (include_bytes!("fixtures/other_product.json"), include_bytes!("fixtures/other_product.json.minisig"));
const WRONG_PAGE: (&[u8], &[u8]) = (include_bytes!("fixtures/wrong_page.json"), include_bytes!("fixtures/wrong_page.json.minisig"));
const STRANGERS: &[u8] = include_bytes!("fixtures/stranger.json.minisig");

/// Answers each request with the file or its signature, by the end of its path; then calls `answer` of the stream.
fn serve(answer: impl Fn(&mut TcpStream, bool) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or(0);
            let head = String::from_utf8_lossy(&request[..read]).into_owned();
            answer(&mut stream, head.lines().next().is_some_and(|line| line.contains(".minisig ")));
        }
    });
    format!("http://{address}/atelier.json")
}

fn send(stream: &mut TcpStream, body: &[u8]) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

fn feed(url: &str) -> Feed {
    Feed { proxy: ProxyChoice::None, ..Feed::new(url, TEST_KEY).unwrap() }
}

fn served((text, signature): (&'static [u8], &'static [u8])) -> Feed {
    feed(&serve(move |stream, is_signature| send(stream, if is_signature { signature } else { text })))
}

/// A feed that names a version newer than this program.
pub(crate) fn newer_feed() -> Feed {
    served(NEWER)
}

/// A feed that names a version older than this program.
pub(crate) fn older_feed() -> Feed {
    served(OLDER)
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

#[test]
fn a_signed_version_is_told_with_its_page() {
    let release = served(NEWER).check(None).unwrap();
    assert_eq!((release.version, release.page.as_str()), (version("999.0.0"), "https://example.org/atelier"));
    assert!(release.version > Version::of_program() && served(OLDER).check(None).unwrap().version < Version::of_program());
}

#[test]
fn a_signed_answer_older_than_one_that_was_seen_is_a_replay() {
    assert_eq!(served(OLDER).check(Some(version("0.0.2"))), Err(UpdateError::Replayed));
    assert!(served(NEWER).check(Some(version("999.0.0"))).is_ok());
}

#[test]
fn nothing_is_believed_that_the_publisher_did_not_sign_as_it_is() {
    let changed: &[u8] = br#"{"product":"atelier","version":"999.0.1","page":"https://example.org/atelier"}"#;
    for bad in [
        (changed, NEWER.1),
        (NEWER.0, STRANGERS),
        (NEWER.0, OLDER.1),
        (NEWER.0, b"".as_slice()),
        (NEWER.0, b"\xff\xfe"),
        OTHER_PRODUCT,
        WRONG_PAGE,
    ] {
        assert_eq!(served(bad).check(None), Err(UpdateError::NotGenuine));
    }
}

#[test]
fn a_huge_answer_ends_early() {
    let url = serve(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    });
    assert!(matches!(feed(&url).check(None), Err(UpdateError::Fetch(_))));
}

#[test]
fn a_server_that_drips_or_refuses_is_given_up() {
    let slow = serve(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let hurried = Feed { limit: Duration::from_millis(300), ..feed(&slow) };
    assert!(matches!(hurried.check(None), Err(UpdateError::Fetch(_))));
    let refusing = serve(|stream, _| drop(stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")));
    assert!(matches!(feed(&refusing).check(None), Err(UpdateError::Fetch(_))));
    assert!(Feed::new("https://example.org", "no key").is_err());
}

#[test]
fn a_check_is_due_once_a_week_and_only_where_the_person_agreed() {
    let week = INTERVAL_SECS;
    let at = |choice, checked_secs| UpdateSettings { choice, checked_secs, seen: None };
    for (settings, now, due) in [
        (at(UpdateChoice::Unasked, 0), 10 * week, false),
        (at(UpdateChoice::Off, 0), 10 * week, false),
        (at(UpdateChoice::Weekly, 0), 10 * week, true),
        (at(UpdateChoice::Weekly, 10 * week), 11 * week - 1, false),
        (at(UpdateChoice::Weekly, 10 * week), 11 * week, true),
        // The clock was wrong.
        (at(UpdateChoice::Weekly, 10 * week), 9 * week, true),
    ] {
        assert_eq!(settings.is_due(now), due, "{settings:?} at {now}");
    }
}
