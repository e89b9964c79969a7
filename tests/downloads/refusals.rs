//! Servers that say no, that send elsewhere, and that send something else; and the token, which
//! goes to one of them.

use std::sync::Arc;
use std::time::Duration;

use atelier_downloads::{Cause, DownloadJob, Event, FileRequest, ProxyChoice, Source, Token};
use atelier_library::{Sha256, check_arrived};

use super::server::{Fault, Served, Server};
use super::{Home, job, known, name, noise, sum, wanted};

fn status(status: u16, headers: &[(&str, &str)]) -> Fault {
    Fault::Status(status, headers.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect())
}

fn always(server: &Server, path: &str, fault: Fault) {
    server.put(path, Served { always: Some(fault), ..Served::default() });
}

fn from_hub(repo: &str, path: &str, filename: &str) -> FileRequest {
    let source = Source::HuggingFace { repo: repo.into(), path: path.into(), revision: None };
    FileRequest { source, filename: name(filename), size: None, sha256: None, unpack: None }
}

/// A home whose endpoint is this server.
fn at(server: &Server, token: Option<&str>) -> Home {
    Home::new(|options| {
        options.endpoint.clone_from(&server.url);
        options.token = token.and_then(Token::new);
    })
}

#[test]
fn a_gated_model_is_explained_with_its_licence_and_where_the_token_goes() {
    let server = Server::start();
    always(&server, "/o/n/resolve/main/f", status(401, &[("X-Error-Code", "GatedRepo")]));
    let home = at(&server, None);
    let failure = home.run(job("a", vec![from_hub("o/n", "f", "f")])).unwrap_err();
    let page = format!("{}/o/n", server.url);
    assert_eq!(failure.cause, Cause::Gated { licence_url: Some(page.clone()) });
    for words in [page.as_str(), "in the Models view", &format!("{}/settings/tokens", server.url)] {
        assert!(failure.advice.hint.contains(words), "{failure:?}");
    }
    assert_eq!(server.seen("/o/n").len(), 1, "asking again does not help");
    // With a token that is not enough, and with a licence that the catalogue names.
    always(&server, "/o/n/resolve/main/f", status(403, &[]));
    home.queue().set_token(Token::new("hf_weak")).unwrap();
    let mut job = job("b", vec![from_hub("o/n", "f", "f")]);
    job.licence_url = Some("https://licence.example".into());
    let failure = home.run(job).unwrap_err();
    assert!(failure.advice.sentence.contains("refused") && failure.advice.hint.contains("https://licence.example"), "{failure:?}");
    assert_eq!(server.seen("/o/n").last().unwrap().header("authorization"), Some("Bearer hf_weak"));
}

#[test]
fn a_file_elsewhere_that_wants_a_login_is_not_explained_by_hugging_faces_tokens() {
    let (hub, other) = (Server::start(), Server::start());
    always(&other, "/f.gguf", status(401, &[]));
    let failure = at(&hub, Some("hf_mine")).run(job("a", vec![wanted(other.at("/f.gguf"), "f.gguf")])).unwrap_err();
    assert_eq!(failure.cause, Cause::Server);
    assert!(failure.advice.sentence.contains("requires a login") && !failure.advice.hint.contains("settings/tokens"), "{failure:?}");
    assert_eq!(other.seen("/f.gguf").iter().filter_map(|it| it.header("authorization")).count(), 0);
}

#[test]
fn a_file_that_moved_is_said_to_have_moved() {
    let server = Server::start();
    always(&server, "/gone", status(410, &[]));
    always(&server, "/o/n/resolve/main/f", status(401, &[("X-Error-Code", "RepoNotFound")]));
    let home = at(&server, None);
    for wanted in [wanted(server.at("/nowhere"), "f"), wanted(server.at("/gone"), "f"), from_hub("o/n", "f", "f")] {
        let failure = home.run(job("a", vec![wanted])).unwrap_err();
        assert_eq!(failure.cause, Cause::NotFound);
        assert!(failure.advice.sentence.contains("moved"), "{failure:?}");
    }
}

#[test]
fn what_a_link_brings_is_looked_at_before_it_has_its_name() {
    let server = Server::start();
    let home = Home::new(|options| options.inspect = Arc::new(check_arrived));
    let said = br#"{"detail":"Log in first"}"#;
    server.file("/a.gguf", said, []);
    let failure = home.run(job("a", vec![wanted(server.at("/a.gguf"), "a.gguf")])).unwrap_err();
    assert!(failure.cause == Cause::Mismatch && failure.advice.sentence.contains("not a model"), "{failure:?}");
    assert_eq!(home.files(), Vec::<String>::new());
    // Who wrote a sum or a manifest knows what comes.
    home.run(job("b", vec![known(server.at("/a.gguf"), "a.gguf", said)])).unwrap();
    home.run(DownloadJob { manifest: Some("{}".into()), ..job("c", vec![wanted(server.at("/a.gguf"), "a.gguf")]) }).unwrap();
}

#[test]
fn a_server_that_wants_to_be_asked_later_is_asked_later() {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(1, 1000);
    server.file("/f", &body, [status(429, &[("Retry-After", "1")]), status(503, &[("Retry-After", "0")])]);
    home.run(job("a", vec![wanted(server.at("/f"), "f")])).unwrap();
    let seen = server.seen("/f");
    assert!(seen[1].at - seen[0].at >= Duration::from_secs(1));
    assert_eq!((seen.len(), home.read("a/f")), (3, body));
    always(&server, "/never", status(429, &[]));
    assert_eq!(home.run(job("b", vec![wanted(server.at("/never"), "f")])).unwrap_err().cause, Cause::TooMany);
    assert_eq!(server.seen("/never").len(), 8);
    // Longer than a person waits: the job ends, and says so.
    always(&server, "/tomorrow", status(429, &[("Retry-After", "86400")]));
    assert_eq!(home.run(job("c", vec![wanted(server.at("/tomorrow"), "f")])).unwrap_err().cause, Cause::TooMany);
    assert_eq!(server.seen("/tomorrow").len(), 1);
}

#[test]
fn a_server_in_trouble_is_asked_again_and_one_that_refuses_is_not() {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(2, 1000);
    server.file("/f", &body, [status(500, &[]), status(502, &[]), status(408, &[])]);
    home.run(job("a", vec![wanted(server.at("/f"), "f")])).unwrap();
    always(&server, "/broken", status(500, &[]));
    assert_eq!(home.run(job("b", vec![wanted(server.at("/broken"), "f")])).unwrap_err().cause, Cause::Server);
    always(&server, "/teapot", status(418, &[]));
    assert_eq!(home.run(job("c", vec![wanted(server.at("/teapot"), "f")])).unwrap_err().cause, Cause::Server);
    assert_eq!((server.seen("/broken").len(), server.seen("/teapot").len()), (8, 1));
}

#[test]
fn the_token_stays_with_the_endpoint_whatever_it_redirects_to() {
    let (hub, cdn) = (Server::start(), Server::start());
    let body = noise(3, 100_000);
    // The same machine by another name is another host, and so is another port.
    let elsewhere = cdn.at("/blob").replace("127.0.0.1", "localhost");
    let linked = vec![("X-Linked-Etag".into(), format!("\"{}\"", sum(&body))), ("X-Linked-Size".into(), body.len().to_string())];
    let redirect = Fault::Redirect(elsewhere, linked);
    hub.put("/o/n/resolve/main/a%20b.gguf", Served { always: Some(redirect), ..Served::default() });
    cdn.file("/blob", &body, [Fault::Drop(40_000), Fault::Redirect(hub.at("/back"), Vec::new())]);
    hub.put("/back", Served { always: Some(Fault::Redirect(cdn.at("/blob"), Vec::new())), ..Served::default() });
    let home = at(&hub, Some("hf_secret"));
    home.run(job("a", vec![from_hub("o/n", "a b.gguf", "f")])).unwrap();
    assert_eq!(home.read("a/f"), body);
    assert_eq!(cdn.sent(), body.len() as u64);
    let token = |server: &Server| server.seen("/").iter().map(|it| it.header("authorization").map(str::to_owned)).collect::<Vec<_>>();
    assert_eq!(token(&hub), vec![Some("Bearer hf_secret".to_owned()); 3]);
    assert_eq!(token(&cdn), [None, None, None]);
    // A model from anywhere else gets no token either.
    home.run(job("b", vec![wanted(cdn.at("/blob"), "f")])).unwrap();
    assert!(token(&cdn).iter().all(Option::is_none));
}

#[test]
fn redirects_without_end_or_to_nowhere_fail() {
    let (server, home) = (Server::start(), Home::plain());
    for to in [server.at("/loop"), "file:///etc/passwd".into(), "https://".into(), String::new()] {
        always(&server, "/loop", Fault::Redirect(to.clone(), Vec::new()));
        let failure = home.run(job("a", vec![wanted(server.at("/loop"), "f")])).unwrap_err();
        assert_eq!(failure.cause, Cause::Server, "{to}: {failure:?}");
        assert!(home.files().iter().all(|it| it != "a/f"));
    }
}

#[test]
fn a_file_that_is_not_the_right_one_leaves_nothing_and_says_so() {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(4, 150_000);
    server.file("/f", &body, [Fault::Corrupt(77_777)]);
    let failure = home.run(job("a", vec![known(server.at("/f"), "f", &body)])).unwrap_err();
    assert_eq!(failure.cause, Cause::Mismatch);
    assert!(failure.advice.sentence.contains("Nothing was kept"), "{failure:?}");
    assert!(home.files().is_empty(), "{:?}", home.files());
    home.queue().retry("a").unwrap();
    home.end("a").unwrap();
    assert_eq!(home.read("a/f"), body);
}

#[test]
fn a_part_that_was_damaged_is_found_out_and_fetched_once_more() {
    let (server, home) = (Server::start(), Home::plain());
    let body = noise(5, 150_000);
    server.file("/f", &body, [Fault::Corrupt(5), Fault::Drop(1)]);
    // The first connection is cut by hand: its beginning is damaged, its end is fetched.
    server.file("/f", &body, [Fault::Drop(100_000), Fault::Corrupt(5)]);
    home.run(job("a", vec![known(server.at("/f"), "f", &body)])).unwrap();
    assert_eq!(home.read("a/f"), body);
    assert_eq!(server.sent(), 300_000);
}

#[test]
fn the_hash_that_the_server_names_is_held_to() {
    let server = Server::start();
    let body = noise(6, 50_000);
    let named = |sum: Sha256| vec![("X-Linked-Etag".to_owned(), format!("\"{sum}\""))];
    server.file("/blob", &body, []);
    let home = at(&server, None);
    always(&server, "/o/n/resolve/main/f", Fault::Redirect(server.at("/blob"), named(sum(b"another"))));
    assert_eq!(home.run(job("a", vec![from_hub("o/n", "f", "f")])).unwrap_err().cause, Cause::Mismatch);
    assert!(home.files().is_empty());
    // With another size in the catalogue, not a byte of it is downloaded.
    let sent = server.sent();
    let wanted = FileRequest { sha256: Some(sum(&body)), ..from_hub("o/n", "f", "f") };
    assert_eq!(home.run(job("b", vec![wanted])).unwrap_err().cause, Cause::Mismatch);
    assert!(server.sent() - sent <= body.len() as u64);
    always(&server, "/o/n/resolve/main/f", Fault::Redirect(server.at("/blob"), named(sum(&body))));
    home.queue().retry("a").unwrap();
    home.end("a").unwrap();
    assert_eq!(home.read("a/f"), body);
}

#[test]
fn a_proxy_is_asked_for_the_whole_address() {
    let proxy = Server::start();
    let body = noise(7, 10_000);
    proxy.file("/f", &body, []);
    let home = Home::new(|options| options.proxy = ProxyChoice::Address(proxy.url.clone()));
    home.run(job("a", vec![wanted("http://models.invalid/f".into(), "f")])).unwrap();
    assert_eq!(home.read("a/f"), body);
    assert_eq!(proxy.seen("http://models.invalid/f").len(), 1);
}

#[test]
fn models_are_searched_and_repositories_listed() {
    let server = Server::start();
    let text = |path: &str, text: &str| {
        server.put(path, Served { body: text.as_bytes().to_vec().into(), ..Served::default() });
    };
    text(
        "/api/models",
        r#"[{"id":"o/z-image","downloads":7,"likes":2,"gated":"auto","pipeline_tag":"text-to-image","tags":["x","license:apache-2.0"],"new":1},
            {"id":"../../evil"}, {"id":"plain","gated":false}]"#,
    );
    let sum = sum(b"x");
    text(
        "/api/models/o/z-image/tree/main",
        &format!(
            r#"[{{"type":"directory","path":"vae"}},{{"type":"file","path":"vae/a.gguf","size":130,"lfs":{{"oid":"{sum}","size":9000}}}},
            {{"type":"file","path":"README.md","size":12}}]"#
        ),
    );
    let home = at(&server, Some("hf_me"));
    home.queue().search("z image & more").unwrap();
    let found = home.wait(|event| if let Event::Found { answer, .. } = event { Some(answer.clone()) } else { None }).unwrap();
    assert_eq!(found.iter().map(|it| (it.id.as_str(), it.gated)).collect::<Vec<_>>(), [("o/z-image", true), ("plain", false)]);
    assert_eq!((found[0].downloads, found[0].licence.as_deref(), found[0].task.as_deref()), (7, Some("apache-2.0"), Some("text-to-image")));
    assert!(server.seen("/api/models?")[0].path.contains("search=z+image+%26+more"));
    let list = |repo: &str| {
        home.queue().list_repository(repo).unwrap();
        home.wait(|event| if let Event::RepositoryFiles { answer, .. } = event { Some(answer.clone()) } else { None })
    };
    let files = list("o/z-image").unwrap();
    assert_eq!(
        files.iter().map(|it| (it.path.as_str(), it.size, it.sha256)).collect::<Vec<_>>(),
        [("vae/a.gguf", 9000, Some(sum)), ("README.md", 12, None)]
    );
    assert_eq!(list("o/nothing").unwrap_err().cause, Cause::NotFound);
    assert_eq!(list("../api").unwrap_err().cause, Cause::Job);
    text("/api/models/o/broken/tree/main", "<html>");
    assert_eq!(list("o/broken").unwrap_err().cause, Cause::Server);
}

#[test]
fn offline_a_search_is_answered_calmly() {
    let home = Home::plain();
    home.queue().search("lake").unwrap();
    let failure = home.wait(|event| if let Event::Found { answer, .. } = event { Some(answer.clone()) } else { None }).unwrap_err();
    assert_eq!(failure.cause, Cause::Unreachable);
    assert!(failure.advice.hint.contains("work without it"), "{failure:?}");
}

#[test]
fn a_link_is_looked_into_for_the_name_of_its_file() {
    let (server, home) = (Server::start(), Home::plain());
    let head = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let serve = |path: &str, headers| server.put(path, Served { headers, body: noise(1, 5000).into(), ..Served::default() });
    serve("/api/download/7", head("Content-Disposition", "attachment; filename=\"dream 8.safetensors\""));
    serve("/store/ink.gguf", Vec::new());
    server.put("/go", Served { always: Some(Fault::Redirect(server.at("/store/ink.gguf"), Vec::new())), ..Served::default() });
    serve("/models/4384", head("Content-Type", "text/html; charset=utf-8"));
    serve("/notes", Vec::new());
    serve("/notes/", Vec::new());
    let look = |path: &str| {
        home.queue().probe(&server.at(path)).unwrap();
        home.wait(|event| match event {
            Event::Probed { url, answer } if *url == server.at(path) => Some(answer.clone()),
            _ => None,
        })
    };
    assert_eq!(look("/api/download/7").unwrap(), "dream 8.safetensors");
    assert_eq!(look("/go").unwrap(), "ink.gguf");
    assert!(look("/models/4384").unwrap_err().advice.sentence.contains("to a web page, not to a file"));
    assert_eq!(look("/notes").unwrap(), "notes");
    assert!(look("/notes/").unwrap_err().advice.sentence.contains("a file without a name"));
    assert_eq!(look("/gone").unwrap_err().cause, Cause::NotFound);
    assert!(home.files().is_empty());
}

#[test]
fn a_page_is_not_taken_for_a_file() {
    let (server, home) = (Server::start(), Home::plain());
    let headers = vec![("Content-Type".into(), "text/html".into())];
    server.put("/f.gguf", Served { headers, body: b"<html>Sign in</html>".to_vec().into(), ..Served::default() });
    let failure = home.run(job("a", vec![wanted(server.at("/f.gguf"), "f.gguf")])).unwrap_err();
    assert!(failure.advice.sentence.contains("a web page instead of f.gguf"), "{failure:?}");
    assert!(!home.path("a/f.gguf").exists());
}
