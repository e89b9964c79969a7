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

/// The type of an answer that comes as events.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";
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
    _held: Option<Held>,
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

/// An answer of the events that `work` sends until it ends. `held`: its place among its owner's, where
/// it is not in the work itself.
pub(crate) fn stream<F>(held: Option<Held>, work: impl FnOnce(Events) -> F) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    stream_with(held, KEEP_ALIVE, work)
}

/// The same. `pause`: time between two signs of life.
fn stream_with<F>(held: Option<Held>, pause: Duration, work: impl FnOnce(Events) -> F) -> Response
where
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, unread) = mpsc::channel(MAX_UNREAD);
    let events = Events(sender);
    let work = work(events.clone());
    let work = tokio::spawn(async move {
        tokio::pin!(work);
        let mut ticks = tokio::time::interval(pause);
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
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    response
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use serde_json::json;
    use tokio::sync::oneshot;

    use super::*;

    /// The next bytes of a stream; `None` at its end.
    async fn next(body: &mut Body) -> Option<Bytes> {
        body.frame().await.map(|frame| frame.unwrap().into_data().unwrap())
    }

    #[tokio::test]
    async fn a_stream_shows_that_it_lives_until_there_is_something_to_tell() {
        let (tell, told) = oneshot::channel::<()>();
        let answer = stream_with(None, Duration::from_millis(1), |events| async move {
            told.await.unwrap();
            events.send(Some("end"), &json!({"a": 1})).await;
        });
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/event-stream");
        let mut body = answer.into_body();
        for _ in 0..2 {
            assert_eq!(next(&mut body).await.as_deref(), Some(&b": keep-alive\n\n"[..]));
        }
        tell.send(()).unwrap();
        let mut last = None;
        while let Some(bytes) = next(&mut body).await {
            last = Some(bytes);
        }
        assert_eq!(last.as_deref(), Some(&b"event: end\ndata: {\"a\":1}\n\n"[..]));
    }

    #[tokio::test]
    async fn the_work_of_a_stream_ends_with_who_reads_it() {
        let (kept, ended) = oneshot::channel::<()>();
        let answer = stream_with(None, KEEP_ALIVE, |_| async move {
            std::future::pending::<()>().await;
            drop(kept);
        });
        drop(answer);
        assert!(ended.await.is_err(), "it was dropped, and nothing sent");
    }
}
