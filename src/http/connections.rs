//! Connections: so many in all and of one address, with a time within which a head must come.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::Uri;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tower::ServiceExt as _;

use super::identity::Local;
use super::places::{Place, Places};

/// Connections in all, and of one address.
const MAX_CONNECTIONS: usize = 64;
const MAX_OF_ADDRESS: usize = 16;
/// Longest time for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Most headers of a request.
const MAX_HEADERS: usize = 64;
/// Time to wait after the system could give no connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The address of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Open connections by address.
type Open = Places<IpAddr>;

/// A place for a connection of this address, where there is one. This computer's own programs may
/// have all.
fn place_of(open: &Arc<Open>, address: IpAddr) -> Option<Place<IpAddr>> {
    open.take(&address, |own, all| all < MAX_CONNECTIONS && (own < MAX_OF_ADDRESS || address.is_loopback()))
}

/// Serves until `ended`; connections that are open then are closed.
pub(super) async fn serve(listeners: Vec<std::net::TcpListener>, router: Router, ended: oneshot::Receiver<()>) {
    let open = Arc::new(Open::default());
    let mut accepting = JoinSet::new();
    for listener in listeners {
        match TcpListener::from_std(listener) {
            Ok(listener) => drop(accepting.spawn(accept(listener, router.clone(), Arc::clone(&open), HEAD_TIMEOUT))),
            Err(error) => tracing::error!("the server cannot listen: {error}"),
        }
    }
    // An end that nobody announced is one too.
    let _ = ended.await;
    accepting.shutdown().await;
}

/// Accepts connections, which end with it. `patience`: longest time for a head.
async fn accept(listener: TcpListener, router: Router, open: Arc<Open>, patience: Duration) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Closed at once where there is no place for it.
                if let Some(place) = place_of(&open, peer.ip()) {
                    connections.spawn(serve_connection(stream, peer, router.clone(), patience, place));
                }
            }
            Err(error) => {
                tracing::warn!("a connection was not accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, peer: SocketAddr, router: Router, patience: Duration, _place: Place<IpAddr>) {
    // Steps are small and many; without it they wait for each other.
    let _ = stream.set_nodelay(true);
    let local = stream.local_addr().ok();
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        if let Some(local) = local {
            request.extensions_mut().insert(Local(local));
        }
        trim(request.uri_mut());
        let router = router.clone();
        async move { Ok::<Response, Infallible>(answer(router, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!("a connection ended: {error}");
    }
}

async fn answer(router: Router, request: hyper::Request<Incoming>) -> Response {
    let request: Request = request.map(axum::body::Body::new);
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Takes slashes off the end of a path: some clients write them.
fn trim(uri: &mut Uri) {
    let path = uri.path();
    let trimmed = path.trim_end_matches('/');
    if trimmed.len() == path.len() || trimmed.is_empty() {
        return;
    }
    let text = match uri.query() {
        Some(query) => format!("{trimmed}?{query}"),
        None => trimmed.to_owned(),
    };
    if let Ok(shorter) = text.parse() {
        *uri = shorter;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read as _, Write as _};

    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::routing::post;

    use super::*;
    use crate::http::payload::read_within;

    /// So long a test lets the server wait.
    const PATIENCE: Duration = Duration::from_millis(20);
    /// Longer than anything here takes on the slowest machine.
    const LIMIT: Duration = Duration::from_mins(5);

    async fn take(body: Body) -> StatusCode {
        if read_within(body, 1 << 10, PATIENCE, None).await.is_ok() { StatusCode::OK } else { StatusCode::BAD_REQUEST }
    }

    /// What a client that sends these bytes, and then nothing, is answered until its connection ends.
    async fn answered(head_patience: Duration, sent: String) -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", post(take));
        let server = tokio::spawn(accept(TcpListener::from_std(listener).unwrap(), router, Arc::default(), head_patience));
        let client = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            // On a slow machine the server has hung up by now.
            let written = stream.write_all(sent.as_bytes());
            let mut answer = String::new();
            match written.and_then(|()| stream.read_to_string(&mut answer)) {
                Ok(_) => answer,
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => answer,
                Err(error) => panic!("the connection does not end: {error}"),
            }
        });
        let answer = client.await.unwrap();
        server.abort();
        answer
    }

    #[tokio::test]
    async fn a_head_that_does_not_end_ends_the_connection() {
        for sent in ["", "POST / HT", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"] {
            let answer = answered(PATIENCE, sent.to_owned()).await;
            assert!(!answer.starts_with("HTTP/1.1 200"), "{sent:?}: {answer}");
        }
    }

    #[tokio::test]
    async fn a_body_that_does_not_end_is_refused_and_ends_the_connection() {
        for (length, sent) in [("Content-Length: 3", "{"), ("Transfer-Encoding: chunked", "1\r\n{\r\n")] {
            let answer = answered(LIMIT, format!("POST / HTTP/1.1\r\nHost: localhost\r\n{length}\r\n\r\n{sent}")).await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{length}: {answer}");
        }
    }

    #[test]
    fn slashes_at_the_end_of_a_path_do_not_count() {
        for (from, to) in [("/a/b/", "/a/b"), ("/a//?x=1/", "/a?x=1/"), ("/", "/"), ("/a", "/a")] {
            let mut uri: Uri = from.parse().unwrap();
            trim(&mut uri);
            assert_eq!(uri.to_string(), to);
        }
    }

    #[test]
    fn an_address_has_some_places_and_all_have_so_many() {
        let open = Arc::new(Open::default());
        let address = |last| IpAddr::from([10, 0, 0, last]);
        let mut places: Vec<Place<IpAddr>> = (0..MAX_OF_ADDRESS).map(|_| place_of(&open, address(1)).unwrap()).collect();
        assert!(place_of(&open, address(1)).is_none());
        for last in 2..=4 {
            places.extend((0..MAX_OF_ADDRESS).map(|_| place_of(&open, address(last)).unwrap()));
        }
        let local = IpAddr::from([127, 0, 0, 1]);
        assert!(place_of(&open, address(5)).is_none() && place_of(&open, local).is_none(), "all are taken");
        places.clear();
        assert!(open.is_empty());
        let local: Vec<_> = (0..MAX_CONNECTIONS).map(|_| place_of(&open, local)).collect();
        assert!(local.iter().all(Option::is_some));
    }
}
