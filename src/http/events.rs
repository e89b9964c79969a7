//! Answers that come as events, while a picture forms (`text/event-stream`).

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::body::Frame;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::held::Held;

/// Time between two signs of life: clients and proxies give up on silence.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Events that wait for a slow client.
const MAX_UNREAD: usize = 16;

/// Sends events to a client.
#[derive(Clone)]
pub(crate) struct Events(mpsc::Sender<Bytes>);

impl Events {
    /// Sends an event; waits while the client is slow. One that has gone ends the sender's work.
    pub(crate) async fn send(&self, name: Option<&str>, data: &Value) {
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        // The work is ended together with the body that nobody reads.
        let _ = self.0.send(format!("{name}data: {data}\n\n").into()).await;
    }

    async fn keep_alive(&self) {
        let _ = self.0.send(Bytes::from_static(b": keep-alive\n\n")).await;
    }
}

/// The body; dropping it ends the work, which cancels a job that it waits for.
struct EventBody {
    unread: mpsc::Receiver<Bytes>,
    work: JoinHandle<()>,
    _held: Held,
}

impl hyper::body::Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.unread.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// An answer of the events that `work` sends until it ends. `held`: its place among its owner's.
pub(crate) fn stream<F>(held: Held, work: impl FnOnce(Events) -> F) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, unread) = mpsc::channel(MAX_UNREAD);
    let events = Events(sender);
    let work = work(events.clone());
    let work = tokio::spawn(async move {
        tokio::pin!(work);
        let mut ticks = tokio::time::interval(KEEP_ALIVE);
        // The first comes at once.
        ticks.tick().await;
        loop {
            tokio::select! {
                () = &mut work => break,
                _ = ticks.tick() => events.keep_alive().await,
            }
        }
    });
    let mut response = Response::new(Body::new(EventBody { unread, work, _held: held }));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}
