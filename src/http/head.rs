//! What routes read of a request's head beside its path.

use axum::extract::{FromRequestParts, Query};
use axum::http::header;
use axum::http::request::Parts;
use serde_json::Value;

use super::error::Failure;
use super::fields::Fields;

/// The name by which the client reached this server, which the guard has checked.
pub(crate) struct Host(pub(crate) String);

impl<S: Sync> FromRequestParts<S> for Host {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        Ok(Self(host.to_owned()))
    }
}

/// The fields of a query, read as those of a body are: nothing else reads a query.
pub(crate) struct QueryFields(pub(crate) Fields);

impl<S: Sync> FromRequestParts<S> for QueryFields {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let Query(pairs) = pairs.map_err(|_| Failure::Unreadable("The query cannot be read.".to_owned()))?;
        Ok(Self(Fields::of_query(pairs.into_iter().map(|(key, value)| (key, Value::String(value))).collect())))
    }
}
