//! The server: this machine's models for other programs and other people, over HTTP.
//!
//! A face like the window and the command line: it turns requests into jobs of the queue
//! ([`atelier_studio::queue`]) and what becomes of them into answers. Invariants: a request is judged
//! by its head ([`guard`]) before its body is read; no client names a path, has a file opened or an
//! address fetched; bodies and tokens are in no log and no answer; everything is bounded: bodies,
//! pixels, connections, jobs of an owner; a job whose client has gone is cancelled. Not here:
//! pictures are made and kept by the queue.
//!
//! One thread, `http`, runs the server; what waits for a disk or decodes runs on threads beside it.

#![allow(clippy::unused_async, reason = "the router calls functions that are async, whether they wait or not")]

mod approvals;
mod asking;
mod clock;
mod connections;
mod error;
mod events;
mod fields;
mod gate;
pub mod guard;
mod head;
mod held;
mod hub;
mod identity;
mod images;
mod jobs;
mod json;
mod kept_file;
mod links;
mod mcp;
mod models;
mod names;
mod old_pictures;
mod openai;
mod openapi;
mod opening;
mod options;
mod page;
mod pairing;
mod payload;
mod pictures;
mod places;
mod program;
mod quota;
mod recipe;
mod register;
mod retention;
mod sdapi;
mod state;
mod stay;
mod tokens;
mod uploads;
mod uses;
mod visitors;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use atelier_engine::Handle;
use atelier_gallery::Trash;
use atelier_peers::StudioId;
use atelier_studio::queue::QueueClient;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use tokio::sync::oneshot;

use asking::{device_of, peer_of, sole, verdict_on};
use error::{Failure, Family};
use gate::Gate;
use guard::Verdict;
use json::Json;
use options::assemble;
use program::program_name;
use register::Register;
use state::SharedApp;
use stay::Stay;

pub use approvals::APPROVAL_DAYS;
pub use atelier_gallery::queue::Owner;
pub use atelier_peers::DEFAULT_PORT;
pub use mcp::speak as speak_mcp;
pub use opening::{Access, CannotServe, Prepared, lan_address};
pub use options::ServerOptions;
pub use quota::{DiskQuota, used_bytes};
pub use register::{Admission, DeviceAnswer};
pub use retention::Retention;
pub use tokens::{TokenName, Tokens};
pub use visitors::{Caller, Guests};

/// The name of the token that people share who have none of their own.
pub const SHARED_TOKEN: &str = tokens::SHARED;
/// Time between two looks at what other processes have changed, while answers last.
const FOLLOW_PAUSE: Duration = Duration::from_secs(1);

/// A running server. Dropping it ends it; jobs whose clients wait are cancelled.
pub struct Server {
    address: SocketAddr,
    app: SharedApp,
    gate: Gate,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves the queue of `client` at these listeners, on a thread of its own. The address of the
    /// first is the server's.
    ///
    /// # Errors
    /// If the system gives no thread, or a listener cannot be used.
    pub fn start(listeners: Vec<TcpListener>, options: ServerOptions, client: QueueClient, engine: Arc<Handle>) -> io::Result<Self> {
        let first = listeners.first().ok_or_else(|| io::Error::other("there is nothing to listen at"))?;
        let address = first.local_addr()?;
        for listener in &listeners {
            listener.set_nonblocking(true)?;
        }
        let register = Register::open(&options.paths.data);
        let (app, policy) = assemble(options, client, engine)?;
        let gate = Gate::new(policy, register);
        gate.refresh_now();
        let router = router(Arc::clone(&app), gate.clone());
        let (of_thread, followed) = (Arc::clone(&app), gate.clone());
        let (end, ended) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().thread_name("http work").build()?;
        let thread = thread::Builder::new().name("http".into()).spawn(move || {
            // They end with the runtime.
            drop(runtime.spawn(old_pictures::remove_hourly(of_thread)));
            drop(runtime.spawn(followed.follow(FOLLOW_PAUSE)));
            runtime.block_on(connections::serve(listeners, router, ended));
            // A picture that is being decoded is not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Self { address, app, gate, end: Some(end), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// By which others find it again at another address.
    #[must_use]
    pub fn id(&self) -> &StudioId {
        &self.app.id
    }

    /// From now on `wake` is called when somebody new comes, on any thread.
    pub fn wake_with(&self, wake: impl Fn() + Send + Sync + 'static) {
        self.gate.visitors.set_wake(Arc::new(wake));
    }

    /// Who is there.
    #[must_use]
    pub fn guests(&self) -> Guests {
        self.gate.guests()
    }

    /// Lets a device in that asks without a token, or turns it away for as long as the server runs. What
    /// comes back keeps the answer for later starts.
    pub fn answer(&self, address: IpAddr, is_welcome: bool) -> DeviceAnswer {
        self.gate.answer(address, is_welcome)
    }

    /// The disk space of each owner's pictures from now on.
    pub fn set_quota(&self, quota: DiskQuota) {
        self.app.set_quota(quota);
    }

    /// How long pictures of others are kept from now on.
    pub fn set_retention(&self, retention: Retention) {
        self.app.set_retention(retention);
    }

    /// Moves pictures of others that are kept no longer to the trash, as the server does by itself each
    /// hour; returns how many. `now_ms`: since 1970. Blocks.
    pub fn remove_old_pictures(&self, now_ms: i64, trash: &mut dyn Trash) -> usize {
        self.app.remove_old_pictures(now_ms, trash)
    }

    /// What learns who may come in by now, also where nobody asks: another process may have changed it.
    /// Calling it blocks.
    pub fn refresher(&self) -> impl FnOnce() + Send + use<> {
        let gate = self.gate.clone();
        move || gate.refresh_now()
    }

    /// Those who have a token, with it.
    #[must_use]
    pub fn people(&self) -> Vec<(String, String)> {
        self.gate.policy.read().tokens.people()
    }

    /// Who may ask from now on by a token; answers that others wait for end.
    pub fn set_tokens(&self, tokens: Tokens) {
        self.gate.set_tokens(tokens);
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The thread may have ended by itself.
        let _ = self.end.take().map(|end| end.send(()));
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the server's thread ended by a fault of its own");
        }
        self.gate.write_uses();
        self.app.hub.end();
    }
}

/// Every route, behind the guard.
fn router(app: SharedApp, gate: Gate) -> Router {
    Router::new()
        .route("/healthz", get(|| async { Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")})) }))
        .route("/openapi.json", get(|| async { Json(openapi::document()) }))
        .merge(page::routes())
        .merge(sdapi::routes())
        .merge(openai::routes())
        .merge(jobs::routes())
        .merge(pictures::routes())
        .merge(mcp::routes())
        .merge(identity::routes(gate.clone()))
        .merge(pairing::routes(gate.clone()))
        .fallback(|| async { Failure::NoRoute })
        .method_not_allowed_fallback(|| async { (StatusCode::METHOD_NOT_ALLOWED, Json(json!({"detail": "Method Not Allowed"}))) })
        // Bodies are read within limits of our own.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(gate, admit))
        .with_state(app)
}

/// Judges a request by its head, and answers the failures of routes in the words of their clients.
async fn admit(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let family = Family::of(request.uri().path());
    let (asked, body) = request.into_parts();
    let mut verdict = verdict_on(&asked, &gate);
    if is_by_register(&verdict, &asked.headers) {
        gate.refresh().await;
        verdict = verdict_on(&asked, &gate);
    }
    let (owner, entry, origin) = match verdict {
        Verdict::Pass { owner, entry, origin } => (owner, entry, origin),
        Verdict::Options => return with_safety((StatusCode::NO_CONTENT, [(header::ALLOW, "GET, HEAD, POST, OPTIONS")]).into_response()),
        Verdict::Preflight(origin) => return with_origin(with_safety(preflight()), &origin),
        Verdict::Refuse(refusal) => {
            if let (guard::Refusal::Token, Some((address, here))) = (refusal, device_of(&asked)) {
                let program = sole(&asked.headers, "user-agent").and_then(program_name);
                gate.visitors.note_asking(Caller { address, program }, here);
            }
            let failure = match refusal {
                guard::Refusal::Token => Failure::Unauthorized(refusal.sentence()),
                guard::Refusal::NoHost => Failure::Unreadable(refusal.sentence().to_owned()),
                guard::Refusal::Host | guard::Refusal::Origin => Failure::Forbidden(refusal.sentence().to_owned()),
            };
            return with_safety(failure.answer(family));
        }
    };
    // What needs no token tells nothing of who asks.
    if !owner.is_this_computer() || peer_of(&asked).is_some_and(|peer| peer.to_canonical().is_loopback()) {
        gate.visitors.note_seen(&owner);
    }
    gate.note_use(&entry);
    let stay = (entry != guard::Entry::Free).then(|| Stay::new(gate, asked.clone(), owner.clone()));
    let mut request = Request::from_parts(asked, body);
    request.extensions_mut().insert(owner);
    let answer = next.run(request);
    let response = match stay {
        Some(stay) => stay.answer(answer).await,
        None => answer.await,
    };
    let response = match response.extensions().get::<Failure>() {
        Some(failure) => failure.answer(family),
        None => response,
    };
    let response = with_safety(response);
    match origin {
        Some(origin) => with_origin(response, &origin),
        None => response,
    }
}

/// True where the register decides, or another one would have.
fn is_by_register(verdict: &Verdict, headers: &HeaderMap) -> bool {
    match verdict {
        Verdict::Pass { entry: guard::Entry::Free, .. } => {
            headers.contains_key(header::AUTHORIZATION) || headers.contains_key(header::COOKIE)
        }
        Verdict::Pass { .. } | Verdict::Refuse(guard::Refusal::Token) => true,
        Verdict::Preflight(_) | Verdict::Options | Verdict::Refuse(_) => false,
    }
}

fn preflight() -> Response {
    let headers = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Lets a page of this origin read an answer.
fn with_origin(mut response: Response, origin: &str) -> Response {
    if let Ok(value) = HeaderValue::from_str(origin) {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, value);
        response.headers_mut().append(header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// What every answer says to a browser.
fn with_safety(mut response: Response) -> Response {
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

impl IntoResponse for Failure {
    /// The guard, which knows the clients, puts it into their words.
    fn into_response(self) -> Response {
        let mut response = StatusCode::INTERNAL_SERVER_ERROR.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
