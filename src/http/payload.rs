//! Bodies of requests, read within their limits.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use tokio::sync::Semaphore;

use super::error::Failure;
use super::fields::Fields;

/// Largest body in bytes.
const MAX_BODY: usize = 64 << 20;
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

fn too_large() -> Failure {
    Failure::TooLarge(format!("The body is larger than {} MiB.", MAX_BODY >> 20))
}

/// Reads a body; one that announces itself as too large is not begun.
pub(crate) async fn read_body(body: Body) -> Result<Bytes, Failure> {
    read_within(body, BODY_TIMEOUT).await
}

/// The same. `patience`: longest time without a byte.
pub(super) async fn read_within(mut body: Body, patience: Duration) -> Result<Bytes, Failure> {
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(too_large());
    }
    let is_small = body.size_hint().upper().is_some_and(|bytes| bytes <= LARGE_BODY);
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
            if bytes.len() + data.len() > MAX_BODY {
                return Err(too_large());
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
