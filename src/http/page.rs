//! The page at `/`: what is here, for who opens the address in a browser. No scripts, nothing from
//! elsewhere.

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use super::state::SharedApp;

const PAGE: &str = include_str!("page/index.html");
/// Everything that the page may load is here.
const POLICY: &str = "default-src 'self'; img-src 'self' blob: data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

pub(super) fn routes() -> Router<SharedApp> {
    Router::new().route("/", get(index))
}

async fn index() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, POLICY)], PAGE)
}
