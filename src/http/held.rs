//! Requests that last as long as a picture takes: an owner has so many at a time.

use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;

use super::error::Failure;
use super::guard::Refusal;
use super::places::Place;
use super::state::SharedApp;
use atelier_gallery::queue::Owner;

/// The place of such a request among its owner's, for as long as its answer takes.
pub(crate) type Held = Place<Owner>;

impl FromRequestParts<SharedApp> for Held {
    type Rejection = Failure;

    /// Comes before the body: one that has no place is not read.
    async fn from_request_parts(parts: &mut Parts, app: &SharedApp) -> Result<Self, Failure> {
        app.hold(owner_in(&parts.extensions)?)
    }
}

/// The owner of a request.
pub(super) fn owner_in(extensions: &Extensions) -> Result<&Owner, Failure> {
    // The guard has put it there.
    extensions.get::<Owner>().ok_or_else(|| Failure::Unauthorized(Refusal::Token.sentence()))
}
