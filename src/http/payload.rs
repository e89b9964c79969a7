//! Bodies of requests, read within their limits.

use std::time::Duration;

use atelier_core::format::file_size;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use tokio::sync::Semaphore;

use super::error::Failure;
use super::fields::Fields;

/// Largest body in bytes.
const MAX_BODY: u64 = 64 << 20;
/// That of a stranger, whose bodies must not keep those of others waiting: less than a large one.
const MAX_OF_STRANGER: u64 = 8 << 10;
/// Bodies larger than this are read a few at a time.
const LARGE_BODY: u64 = 1 << 20;
static LARGE_BODIES: Semaphore = Semaphore::const_new(4);
/// Longest time without a byte of a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The body of a request, within its limits.
pub(crate) struct Payload(pub(crate) Bytes);

impl<S: Sync> FromRequest<S> for Payload {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        read_body(request.into_body()).await.map(Self)
    }
}

/// The body of a request of whoever comes, who is a stranger yet: a token, and no more.
pub(crate) struct StrangersPayload(pub(crate) Bytes);

impl<S: Sync> FromRequest<S> for StrangersPayload {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        read_within(request.into_body(), MAX_OF_STRANGER, BODY_TIMEOUT).await.map(Self)
    }
}

fn too_large(limit: u64) -> Failure {
    Failure::TooLarge(format!("The body is larger than {}.", file_size(limit)))
}

/// Reads a body; one that announces itself as too large is not begun.
pub(crate) async fn read_body(body: Body) -> Result<Bytes, Failure> {
    read_within(body, MAX_BODY, BODY_TIMEOUT).await
}

/// The same. `limit`: most bytes; `patience`: longest time without one.
pub(super) async fn read_within(mut body: Body, limit: u64, patience: Duration) -> Result<Bytes, Failure> {
    if body.size_hint().lower() > limit {
        return Err(too_large(limit));
    }
    // Without a length it may be as long as the limit.
    let is_small = body.size_hint().upper().unwrap_or(limit).min(limit) <= LARGE_BODY;
    // Never closed.
    let _turn = if is_small { None } else { LARGE_BODIES.acquire().await.ok() };
    let mut bytes = Vec::new();
    loop {
        let frame = match tokio::time::timeout(patience, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) => return Err(Failure::Unreadable("The body ended early.".to_owned())),
            Ok(None) => return Ok(bytes.into()),
            Err(_) => return Err(Failure::Unreadable("The body stopped coming.".to_owned())),
        };
        if let Ok(data) = frame.into_data() {
            if (bytes.len() + data.len()) as u64 > limit {
                return Err(too_large(limit));
            }
            bytes.extend_from_slice(&data);
        }
    }
}

/// The note on a body that comes with what has no settings, where it says anything. That is done
/// before, whatever the body says: somebody who stops a picture is not refused for a comma.
pub(crate) async fn note_on(body: Body) -> Option<String> {
    let read = read_body(body).await.and_then(|bytes| Fields::read(&bytes)?.finish());
    read.unwrap_or_else(|failure| Some(failure.sentence()))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use hyper::body::Frame;

    use super::*;

    /// A body in one piece that does not say how long it is.
    struct Unsized(Option<Bytes>);

    impl hyper::body::Body for Unsized {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
        }
    }

    #[tokio::test]
    async fn a_strangers_body_takes_no_turn_of_a_large_one_and_ends_at_its_limit() {
        let _all = LARGE_BODIES.acquire_many(4).await.unwrap();
        for (bytes, is_read) in [(MAX_OF_STRANGER, true), (MAX_OF_STRANGER + 1, false)] {
            let body = Body::new(Unsized(Some(vec![b' '; bytes as usize].into())));
            let read = tokio::select! {
                biased;
                read = read_within(body, MAX_OF_STRANGER, BODY_TIMEOUT) => read,
                () = std::future::ready(()) => panic!("it waits for its turn"),
            };
            assert_eq!(read.is_ok(), is_read, "{bytes} bytes: {read:?}");
        }
    }
}
