//! Who this server is: its identity, by which another Atelier finds it again where its address has
//! changed, and proofs that it knows the tokens of its people, so that theirs are sent to no other.

use std::net::SocketAddr;
use std::path::Path as FilePath;

use atelier_peers::StudioId;
use axum::extract::{Path, State};
use axum::routing::get;
use axum::{Extension, Router};
use serde_json::json;

use super::clock::now_secs;
use super::gate::Gate;
use super::json::Json;
use super::state::SharedApp;

/// The file of the identity, in the folder of data.
const ID_FILE: &str = "studio-id";

/// The address of this computer at which a connection came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local(pub(super) SocketAddr);

/// The route, which needs no token: it tells nothing that is not announced, and proves what only who
/// has a token can check.
pub(super) fn routes(gate: Gate) -> Router<SharedApp> {
    Router::new().route("/atelier/v1/identity/{challenge}", get(answer)).layer(Extension(gate))
}

/// The identity of this person's studio, which stays. Where it cannot be kept, it is one of this start.
/// Blocks.
pub(super) fn identity(data: &FilePath) -> StudioId {
    StudioId::in_file(&data.join(ID_FILE)).unwrap_or_else(|error| {
        tracing::warn!("the identity of this studio is not kept: {error}");
        StudioId::draw()
    })
}

async fn answer(
    State(app): State<SharedApp>,
    Extension(gate): Extension<Gate>,
    local: Option<Extension<Local>>,
    Path(challenge): Path<String>,
) -> Json {
    gate.refresh().await;
    let proofs = local.map(|Extension(Local(address))| gate.policy.read().tokens.proofs(&challenge, address, now_secs()));
    Json(json!({"studio_id": app.id.as_str(), "proofs": proofs.unwrap_or_default()}))
}
