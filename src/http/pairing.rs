//! Pairing: the page at `/` brings a person's token once, and the browser keeps it in a cookie that
//! no script reads, so that pictures and events come with it too.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use serde_json::json;

use super::clock::now_secs;
use super::error::Failure;
use super::fields::{Description, Fields};
use super::gate::Gate;
use super::guard::{PAIRING, Refusal, cookie};
use super::head::Host;
use super::json::Json;
use super::payload::StrangersPayload;
use super::state::SharedApp;

/// The route, which needs no token but the one that it is given.
pub(super) fn routes(gate: Gate) -> Router<SharedApp> {
    Router::new().route(PAIRING, post(pair)).layer(Extension(gate))
}

/// The fields of a route's body, where it has any.
pub(crate) fn describe(path: &str) -> Option<Description> {
    (path == PAIRING).then(|| Fields::describe(read))
}

/// The token, and the note on what nobody read.
fn read(mut fields: Fields) -> Result<(String, Option<String>), Failure> {
    let token = fields.word("token");
    if token.is_none() {
        fields.missing("token");
    }
    Ok((token.unwrap_or_default(), fields.finish()?))
}

async fn pair(Extension(gate): Extension<Gate>, Host(host): Host, StrangersPayload(body): StrangersPayload) -> Result<Response, Failure> {
    let (token, note) = read(Fields::read(&body)?)?;
    gate.refresh().await;
    let name = gate.policy.read().tokens.name_of(&token, now_secs()).map(|it| it.name.clone());
    // A host without a name is none that the guard lets through.
    let (Some(name), Some(cookie)) = (name, cookie(&host, &token)) else {
        return Err(Failure::Unauthorized(Refusal::Token.sentence()));
    };
    let notes: Vec<String> = note.into_iter().collect();
    Ok(([(header::SET_COOKIE, cookie)], Json(json!({"name": name, "notes": notes}))).into_response())
}
