//! Lines that break, and servers that answer strangely: the file ends whole, and no byte comes
//! twice without need.

use std::time::Duration;

use atelier_downloads::{Cause, RetryPolicy};

use super::server::{Fault, Served, Server};
use super::{Home, job, known, noise, sum, wanted};

const BYTES: usize = 200_000;

/// Downloads one file, of size and hash unknown, from a server that fails so; gives the bytes that
/// came beyond it.
fn overhead(faults: impl IntoIterator<Item = Fault>) -> u64 {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(7, BYTES);
    server.file("/f", &body, faults);
    home.run(job("a", vec![wanted(server.at("/f"), "f")])).unwrap();
    assert_eq!(sum(&home.read("a/f")), sum(&body));
    assert_eq!(home.files(), ["a/f"]);
    server.sent() - BYTES as u64
}

#[test]
fn a_line_that_breaks_is_gone_on_with_where_it_broke() {
    assert_eq!(overhead([Fault::Drop(0)]), 0);
    assert_eq!(overhead([Fault::Silence, Fault::Drop(1), Fault::Drop(99_999), Fault::Silence, Fault::Drop(BYTES - 100_001)]), 0);
    assert_eq!(overhead((0..40).map(|_| Fault::Drop(1000))), 0);
}

#[test]
fn a_slow_line_is_waited_for() {
    assert_eq!(overhead([Fault::Drip]), 0);
}

#[test]
fn a_server_that_stops_sending_is_left_and_asked_again() {
    let server = Server::start();
    let body = noise(8, BYTES);
    server.file("/f", &body, [Fault::Stall(50_000), Fault::Stall(0), Fault::Stall(100)]);
    // Longer than a busy machine lets a thread of the server wait: each stall is one of the three.
    let home = Home::new(|options| options.retry_policy.stall = Duration::from_secs(1));
    home.run(job("a", vec![wanted(server.at("/f"), "f")])).unwrap();
    assert_eq!((home.read("a/f"), server.sent()), (body, BYTES as u64));
    assert_eq!(server.seen("/f").iter().map(|it| it.from().unwrap_or(0)).collect::<Vec<_>>(), [0, 50_000, 50_000, 50_100]);
}

#[test]
fn a_server_that_gives_the_whole_file_again_costs_its_bytes_and_nothing_more() {
    // The same version by its ETag: what is there stays, and the rest is added.
    assert_eq!(overhead([Fault::Drop(150_000), Fault::IgnoreRange]), 150_000);
    // Even where it breaks before it comes to something new.
    assert_eq!(overhead([Fault::Drop(150_000), Fault::IgnoreRangeAndDrop(100_000)]), 100_000);
}

#[test]
fn a_version_that_cannot_be_compared_is_never_put_together_with_another() {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(9, BYTES);
    let faults = [Fault::Drop(100_000)].into();
    server.put("/f", Served { body: body.clone().into(), etag: None, faults, ..Served::default() });
    home.run(job("a", vec![wanted(server.at("/f"), "f")])).unwrap();
    assert_eq!(home.read("a/f"), body);
    // No ETag, no hash: nothing would tell if the rest were another file's.
    assert!(server.seen("/f").iter().all(|it| it.from().is_none()));
    assert_eq!(server.sent(), BYTES as u64 + 100_000);
}

#[test]
fn a_known_hash_lets_a_part_go_on_without_an_etag() {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(10, BYTES);
    let faults = [Fault::Drop(100_000)].into();
    server.put("/f", Served { body: body.clone().into(), etag: None, faults, ..Served::default() });
    home.run(job("a", vec![known(server.at("/f"), "f", &body)])).unwrap();
    assert_eq!((home.read("a/f"), server.sent()), (body, BYTES as u64));
}

#[test]
fn a_file_that_changes_midway_begins_anew() {
    let new = noise(12, BYTES + 5000);
    // With If-Range the server itself sends the whole new file.
    let (server, home) = (Server::start(), Home::plain());
    server.file("/f", &noise(11, BYTES), [Fault::Drop(80_000), Fault::Change(new.clone(), "\"second\"".into())]);
    home.run(job("a", vec![wanted(server.at("/f"), "f")])).unwrap();
    assert_eq!(home.read("a/f"), new);
    assert_eq!(server.sent(), 80_000 + new.len() as u64);
    // A weak ETag cannot be sent in If-Range: the answer's own is compared.
    let (server, home) = (Server::start(), Home::plain());
    let (old, new) = (noise(11, BYTES), noise(12, BYTES));
    let faults = [Fault::Drop(80_000), Fault::Change(new.clone(), "W/\"second\"".into())].into();
    server.put("/f", Served { body: old.into(), etag: Some("W/\"first\"".into()), faults, ..Served::default() });
    home.run(job("a", vec![known(server.at("/f"), "f", &new)])).unwrap();
    assert_eq!(home.read("a/f"), new);
}

#[test]
fn a_part_that_the_server_denies_begins_anew_unless_it_is_the_whole_file() {
    let denied = || Fault::Status(416, Vec::new());
    assert_eq!(overhead([Fault::Drop(60_000), denied()]), 60_000);
    assert_eq!(overhead([denied()]), 0);
    // Without a length nobody knows that all of it is there, until the server says so.
    assert_eq!(overhead([Fault::Drop(BYTES)]), 0);
}

#[test]
fn a_length_that_is_wrong_is_not_believed() {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(13, BYTES);
    server.file("/f", &body, [Fault::WrongLength(-50_000), Fault::WrongLength(70_000), Fault::Drop(30_000), Fault::WrongLength(-1)]);
    home.run(job("a", vec![known(server.at("/f"), "f", &body)])).unwrap();
    assert_eq!(home.read("a/f"), body);
    // A length that is too long looks like a line that breaks.
    assert_eq!(overhead([Fault::WrongLength(10), Fault::NoLength]), BYTES as u64);
    assert_eq!(overhead([Fault::NoLength]), 0);
}

#[test]
fn another_part_than_was_asked_for_is_not_taken() {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(14, BYTES);
    server.file("/f", &body, [Fault::Drop(90_000), Fault::WrongPart]);
    home.run(job("a", vec![known(server.at("/f"), "f", &body)])).unwrap();
    assert_eq!(home.read("a/f"), body);
    assert_eq!(server.seen("/f").last().unwrap().from(), Some(90_000));
}

#[test]
fn a_line_that_never_holds_fails_with_advice_and_keeps_what_came() {
    let server = Server::start();
    let body = noise(15, BYTES);
    server.file("/f", &body, [Fault::Drop(120_000)].into_iter().chain((0..5).map(|_| Fault::Silence)));
    let home = Home::new(|options| options.retry_policy = RetryPolicy { tries: 5, ..options.retry_policy.clone() });
    let failure = home.run(job("a", vec![known(server.at("/f"), "f", &body)])).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable);
    assert!(failure.advice.hint.contains("kept"), "{failure:?}");
    home.queue().retry("a").unwrap();
    home.end("a").unwrap();
    assert_eq!((home.read("a/f"), server.sent()), (body, BYTES as u64));
}

#[test]
fn nobody_at_the_other_end_is_a_calm_failure() {
    let home = Home::plain();
    let failure = home.run(job("a", vec![wanted("http://127.0.0.1:9/f".into(), "f")])).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable);
    assert!(failure.advice.sentence.contains("no connection"), "{failure:?}");
}
