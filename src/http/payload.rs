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
use super::held::owner_in;
use super::state::SharedApp;
use super::uploads::Upload;
use atelier_gallery::queue::Owner;

/// Largest body in bytes.
const MAX_BODY: u64 = 64 << 20;
/// That of a stranger, whose bodies must not keep those of others waiting: less than a large one.
const MAX_OF_STRANGER: u64 = 8 << 10;
/// Bodies larger than this are read a few at a time.
const LARGE_BODY: u64 = 1 << 20;
static LARGE_BODIES: Semaphore = Semaphore::const_new(4);
/// Longest time without a byte of a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The body of a request, within its limits, and its room among its owner's uploads, for as long as
/// it is decoded.
pub(crate) struct Payload(pub(crate) Bytes, pub(crate) Upload);

impl FromRequest<SharedApp> for Payload {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &SharedApp) -> Result<Self, Failure> {
        let upload = app.upload(owner_in(request.extensions())?);
        read_body(request.into_body(), upload).await
    }
}

/// The body of a request of whoever comes, who is a stranger yet: a token, and no more.
pub(crate) struct StrangersPayload(pub(crate) Bytes);

impl<S: Sync> FromRequest<S> for StrangersPayload {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        read_within(request.into_body(), MAX_OF_STRANGER, BODY_TIMEOUT, None).await.map(Self)
    }
}

fn too_large(limit: u64) -> Failure {
    Failure::TooLarge(format!("The body is larger than {}.", file_size(limit)))
}

/// Reads a body; one that announces itself as too large is not begun. `upload`: its room, of which
/// nothing is taken yet.
pub(crate) async fn read_body(body: Body, mut upload: Upload) -> Result<Payload, Failure> {
    let bytes = read_within(body, MAX_BODY, BODY_TIMEOUT, Some(&mut upload)).await?;
    Ok(Payload(bytes, upload))
}

/// The same. `limit`: most bytes; `patience`: longest time without one.
pub(super) async fn read_within(mut body: Body, limit: u64, patience: Duration, mut upload: Option<&mut Upload>) -> Result<Bytes, Failure> {
    let announced = body.size_hint().lower();
    if announced > limit {
        return Err(too_large(limit));
    }
    // At once, also where it waits for its turn.
    let mut room = announced as usize;
    if let Some(upload) = &mut upload {
        upload.grow(room)?;
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
            let length = bytes.len() + data.len();
            if length as u64 > limit {
                return Err(too_large(limit));
            }
            if length > room
                && let Some(upload) = &mut upload
            {
                upload.grow(length - room)?;
                room = length;
            }
            bytes.extend_from_slice(&data);
        }
    }
}

/// The note on a body that comes with what has no settings, where it says anything. That is done
/// before, whatever the body says: somebody who stops a picture is not refused for a comma.
pub(crate) async fn note_on(app: &SharedApp, owner: &Owner, body: Body) -> Option<String> {
    let read = read_body(body, app.upload(owner)).await.and_then(|Payload(bytes, _)| Fields::read(&bytes)?.finish());
    read.unwrap_or_else(|failure| Some(failure.sentence()))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll};

    use hyper::body::Frame;

    use super::*;
    use crate::http::places::Places;

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
                read = read_within(body, MAX_OF_STRANGER, BODY_TIMEOUT, None) => read,
                () = std::future::ready(()) => panic!("it waits for its turn"),
            };
            assert_eq!(read.is_ok(), is_read, "{bytes} bytes: {read:?}");
        }
    }

    /// A body that says how long it is and never comes.
    struct Announced(u64);

    impl hyper::body::Body for Announced {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            panic!("it is read")
        }

        fn size_hint(&self) -> hyper::body::SizeHint {
            hyper::body::SizeHint::with_exact(self.0)
        }
    }

    #[tokio::test]
    async fn a_body_has_its_room_before_it_is_read_and_for_as_long_as_it_is_decoded() {
        const BYTES: usize = 1000;
        let uploads = Arc::new(Places::default());
        let anna = Owner::named("Anna");
        let upload = || Upload::new(&uploads, &anna);
        let fill = |others: &mut Upload| {
            while others.grow(BYTES).is_ok() {}
            while others.grow(1).is_ok() {}
        };
        let mut others = upload();
        fill(&mut others);
        let is_busy = |read: Result<Payload, Failure>| matches!(read, Err(Failure::Busy { .. }));
        assert!(is_busy(read_body(Body::new(Announced(1)), upload()).await), "it is not begun");
        assert!(is_busy(read_body(Body::new(Unsized(Some(vec![b' '; BYTES].into()))), upload()).await), "a length is known as it comes");
        assert!(read_body(Body::empty(), upload()).await.is_ok());
        drop(others);
        let mut others = upload();
        let Payload(bytes, kept) = read_body(Body::from(vec![b' '; BYTES]), upload()).await.unwrap();
        assert_eq!(bytes.len(), BYTES);
        fill(&mut others);
        // What was read counts until it is decoded.
        drop(kept);
        others.grow(BYTES).unwrap();
        assert!(others.grow(1).is_err());
    }
}
