//! Studios that misbehave: whatever they answer is an error and no panic.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use atelier_core::recipe::{Rgb8, Seed};
use atelier_media::{ExportFormat, export_pixels};

use super::*;
use crate::{JobBegin, JobStatus};

/// Answers each request by its line until the test ends, and remembers the heads.
struct Server {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, heads) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
        let kept = Arc::clone(&heads);
        // It ends with the process.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let head = head(&stream);
                let line = head.lines().next().unwrap_or_default().to_owned();
                kept.lock().unwrap().push(head);
                // Who asked may have hung up.
                let _ = (&stream).write_all(&answer(&line));
            }
        });
        Self { address, heads }
    }

    fn studio(&self) -> Studio {
        Studio::new("Anna", StudioAddress::of(self.address).unwrap(), AccessToken::new("0123456789abcdef")).unwrap()
    }
}

fn head(stream: &TcpStream) -> String {
    let mut lines = String::new();
    let mut reader = BufReader::new(stream);
    while reader.read_line(&mut lines).is_ok_and(|bytes| bytes > 2) {}
    // A body that nobody read would reset the connection, and the answer be lost.
    let length = lines.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let _ = reader.take(length.unwrap_or_default()).read_to_end(&mut Vec::new());
    lines
}

fn answer(status: &str, of_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {of_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// An answer that ends with the connection.
fn stream(events: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{events}").into_bytes()
}

fn json(text: &str) -> Vec<u8> {
    answer("200 OK", "application/json", text.as_bytes())
}

fn job() -> RemoteJob {
    RemoteJob("7".to_owned())
}

fn never() -> bool {
    false
}

#[test]
fn models_are_listed_and_the_token_goes_along() {
    let server = Server::start(|_| json(r#"{"models": ["Dream", "", 7, "Dre\u001b[2Jam", "Z-Image"]}"#));
    let names: Vec<String> = server.studio().offer().unwrap().models.into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["Dream", "Z-Image"], "what steers a terminal is no name");
    let head = server.heads.lock().unwrap().remove(0);
    assert!(head.starts_with("GET /sdcpp/v1/capabilities HTTP/1.1\r\n"), "{head}");
    assert!(head.to_lowercase().contains("authorization: bearer 0123456789abcdef"), "{head}");
}

#[test]
fn answers_that_are_none_are_errors() {
    let too_large = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n[", 1_u64 << 40);
    let endless =
        [&b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"[..], &vec![b'['; MAX_JSON + 1]].concat();
    let redirect = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec();
    for (bytes, is_it) in [
        (too_large.into_bytes(), (|it| matches!(it, StudioError::Nonsense { .. })) as fn(&StudioError) -> bool),
        (endless, |it| matches!(it, StudioError::Nonsense { .. })),
        (redirect, |it| matches!(it, StudioError::Nonsense { reason, .. } if reason.contains("302"))),
        (answer("200 OK", "text/html", b"{\"models\": []}"), |it| matches!(it, StudioError::Nonsense { .. })),
        (json("{\"models\": 7}"), |it| matches!(it, StudioError::Nonsense { .. })),
        (json("{\"models\""), |it| matches!(it, StudioError::Nonsense { .. })),
        (answer("401 Unauthorized", "application/json", b"{}"), |it| matches!(it, StudioError::NoAccess { had_token: true, .. })),
        (
            answer("403 Forbidden", "application/json", b"{\"error\": \"Not\\nyou.\"}"),
            |it| matches!(it, StudioError::Refused { sentence, .. } if sentence == "Not you."),
        ),
        (answer("500 Oh", "text/plain", &[0xff; 9]), |it| matches!(it, StudioError::Nonsense { reason, .. } if reason.contains("500"))),
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{".to_vec(), |it| {
            matches!(it, StudioError::Lost { .. })
        }),
        (b"220 a mail server\r\n".to_vec(), |it| matches!(it, StudioError::Unreachable { .. })),
        (Vec::new(), |it| matches!(it, StudioError::Unreachable { .. })),
    ] {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        let error = Server::start(move |_| bytes.clone()).studio().offer().unwrap_err();
        assert!(is_it(&error), "{shown}: {error:?}");
        assert!(!error.to_string().contains("0123456789abcdef"), "{error}");
    }
    // A port that no listener of another test is ever given.
    let nobody = Studio::new("", StudioAddress::of(SocketAddr::from(([127, 0, 0, 1], 9))).unwrap(), None).unwrap();
    assert!(matches!(nobody.offer(), Err(StudioError::Unreachable { studio, .. }) if studio == "Studio at 127.0.0.1"));
}

#[test]
fn the_number_of_a_job_is_a_number() {
    for (id, is_taken) in
        [("\"12\"", true), ("\"../../admin\"", false), ("\"\"", false), ("12", false), ("\"123456789012345678901\"", false)]
    {
        let body = format!("{{\"id\": {id}, \"poll_url\": \"http://evil.example/\"}}");
        let server = Server::start(move |_| answer("202 Accepted", "application/json", body.as_bytes()));
        assert_eq!(server.studio().start(&JobRequest::default()).is_ok(), is_taken, "{id}");
    }
}

#[test]
fn a_job_is_followed_to_its_end_and_each_picture_is_told_once() {
    let events = "event: state\ndata: {\"status\": \"generating\", \"begin\": {\"width\": 64, \"height\": 64, \"steps\": 4, \"seeds\": [5]}}\n\n\
        event: picture\ndata: {\"index\": 0, \"seed\": 5}\n\nevent: picture\ndata: {\"index\": 0, \"seed\": 5}\n\n\
        event: end\ndata: {\"status\": \"completed\"}\n\n";
    let server = Server::start(move |_| stream(events));
    let studio = server.studio();
    let mut followed = studio.follow(&job()).unwrap();
    let begin = Some(JobBegin { width: 64, height: 64, steps: 4, seeds: vec![Seed(5)] });
    let expected = [
        JobEvent::State { status: JobStatus::Generating, position: 0, begin, notes: Vec::new() },
        JobEvent::Picture { index: 0, seed: Some(Seed(5)) },
        JobEvent::End { status: JobStatus::Completed, sentence: None, notes: Vec::new() },
    ];
    let told: Vec<JobEvent> = std::iter::from_fn(|| followed.next(&never).unwrap()).collect();
    assert_eq!(told, expected);
    assert_eq!(followed.next(&never), Ok(None));
}

#[test]
fn a_stream_that_breaks_off_or_makes_no_sense_is_an_error() {
    let cut = Server::start(|_| stream("event: step\ndata: {\"picture\": 0, \"step\": 1, \"steps\": 4}\n\n"));
    let studio = cut.studio();
    let mut followed = studio.follow(&job()).unwrap();
    assert_eq!(followed.next(&never), Ok(Some(JobEvent::Step { picture: 0, done: 1, total: 4 })));
    assert!(matches!(followed.next(&never), Err(StudioError::Lost { .. })));
    let wild = Server::start(|_| stream("event: picture\ndata: {\"index\": \"../../etc/passwd\"}\n\n"));
    let studio = wild.studio();
    assert!(matches!(studio.follow(&job()).unwrap().next(&never), Err(StudioError::Nonsense { .. })));
    let page = Server::start(|_| answer("200 OK", "text/html", b"hello"));
    assert!(matches!(page.studio().follow(&job()), Err(StudioError::Nonsense { .. })));
}

#[test]
fn a_cancelled_job_is_cancelled_there() {
    let server = Server::start(|line| if line.starts_with("POST /sdcpp/v1/jobs/7/cancel ") { json("{}") } else { stream("") });
    let studio = server.studio();
    let mut followed = studio.follow(&job()).unwrap();
    assert_eq!(followed.next(&|| true), Err(StudioError::Cancelled));
    assert!(server.heads.lock().unwrap().iter().any(|head| head.starts_with("POST /sdcpp/v1/jobs/7/cancel ")));
}

#[test]
fn a_picture_is_one_of_bounded_size() {
    let image = Rgb8::new(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap();
    let png = export_pixels(&image, ExportFormat::Png).unwrap();
    let sent = |bytes: Vec<u8>| Server::start(move |_| bytes.clone()).studio().picture(&job(), 0);
    assert_eq!(sent(answer("200 OK", "image/png", &png)).unwrap().image().unwrap(), image);
    // 9000 x 9000 in the header, whatever follows.
    let mut bomb = png.clone();
    bomb[16..24].copy_from_slice(&[0, 0, 0x23, 0x28, 0, 0, 0x23, 0x28]);
    let huge = format!("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: {}\r\n\r\n", 1_u64 << 40);
    assert!(matches!(sent(answer("200 OK", "image/png", &bomb)), Err(StudioError::BadPicture { .. })));
    assert!(matches!(sent(answer("200 OK", "image/png", &png[..30])), Err(StudioError::BadPicture { .. })));
    assert!(matches!(sent(answer("200 OK", "image/png", b"<svg/>")), Err(StudioError::BadPicture { .. })));
    assert!(matches!(sent(answer("200 OK", "text/html", &png)), Err(StudioError::Nonsense { .. })));
    assert!(matches!(sent(huge.into_bytes()), Err(StudioError::Nonsense { .. })));
}
