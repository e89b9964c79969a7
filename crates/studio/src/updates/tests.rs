//! Tests against servers on the loopback.

use std::io::Write;
use std::thread;

use testkit::version_feed::{NEWER, OLDER, OTHER_PRODUCT, STRANGERS, SignedFile, TEST_KEY, WRONG_PAGE, serve, serve_file};

use super::*;

fn feed(url: &str) -> Feed {
    Feed { proxy: ProxyChoice::None, ..Feed::new(url, TEST_KEY).unwrap() }
}

fn served(file: SignedFile) -> Feed {
    feed(&serve_file(file).unwrap())
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
    })
    .unwrap();
    assert!(matches!(feed(&url).check(None), Err(UpdateError::Fetch(_))));
}

#[test]
fn a_server_that_drips_or_refuses_is_given_up() {
    let slow = serve(|stream, _| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    })
    .unwrap();
    let hurried = Feed { limit: Duration::from_millis(300), ..feed(&slow) };
    assert!(matches!(hurried.check(None), Err(UpdateError::Fetch(_))));
    let refusing =
        serve(|stream, _| drop(stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))).unwrap();
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
