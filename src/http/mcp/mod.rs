//! MCP, by which agents and chat programs use tools: JSON-RPC as lines of `atelier mcp`, or as bodies
//! of `/mcp`.
//!
//! Written here rather than taken from a crate: of the protocol only its start, `ping` and tools are
//! needed, and each message is one JSON object. What a message asks for that is not there is answered
//! as the protocol says, so newer clients find out.

mod picture;
mod rpc;
mod tools;

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use atelier_engine::Handle;
use atelier_gallery::queue::Owner;
use atelier_studio::queue::QueueClient;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::events::{EVENT_STREAM, Events, stream};
use super::json::Json;
use super::options::{ServerOptions, assemble};
use super::payload::Payload;
use super::state::SharedApp;
use rpc::{Message, NO_METHOD, NO_REQUEST, RpcError, read, reply};
use tools::Progress;

/// Versions of the protocol that are spoken, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// What a client tells its model of this server.
const INSTRUCTIONS: &str = "Generates, edits and upscales pictures with the models on this computer. Ask list_models for their names. \
    A slow picture is answered with a job: ask job_status for it later.";
/// Longest line of a client: a start picture and a mask.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Lines that wait for their turn.
const MAX_UNREAD: usize = 16;
/// Time between two looks whether it is to end.
const TICK: Duration = Duration::from_millis(50);

/// The result of a request.
async fn answer(app: &SharedApp, owner: &Owner, method: &str, params: Value, progress: Option<Progress>) -> Result<Value, RpcError> {
    match method {
        "initialize" => {
            let wanted = params["protocolVersion"].as_str();
            let version = VERSIONS.into_iter().find(|it| Some(*it) == wanted).unwrap_or(VERSIONS[0]);
            Ok(json!({
                "protocolVersion": version,
                "capabilities": {"tools": {"listChanged": false}},
                "serverInfo": {"name": "atelier", "title": "Atelier", "version": env!("CARGO_PKG_VERSION")},
                "instructions": INSTRUCTIONS,
            }))
        }
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools::list()})),
        "tools/call" => tools::call(app, owner, params, progress).await,
        _ => Err(RpcError::new(NO_METHOD, format!("There is no method {method} here."))),
    }
}

pub(crate) fn routes() -> Router<SharedApp> {
    Router::new().route("/mcp", post(over_http))
}

/// One message as a body. Each is answered by itself: there are no sessions, and nothing is sent that
/// was not asked for. Who wants to know how far a picture is gets events, the last of which is the
/// answer.
async fn over_http(
    State(app): State<SharedApp>,
    Extension(owner): Extension<Owner>,
    headers: HeaderMap,
    Payload(body, _upload): Payload,
) -> Response {
    let version = headers.get("mcp-protocol-version").map(|it| it.to_str().unwrap_or_default());
    if version.is_some_and(|it| !VERSIONS.contains(&it)) {
        let error = RpcError::new(NO_REQUEST, format!("The version of the protocol is not known; {} is.", VERSIONS[0]));
        return (StatusCode::BAD_REQUEST, Json(reply(&Value::Null, Err(error)))).into_response();
    }
    let message = read(&body);
    drop(body);
    match message {
        Message::Request { id, method, params } => match progress_token(&params).filter(|_| takes_events(&headers)) {
            Some(token) => stream(None, |events| send_events(app, owner, id, method, params, token, events)),
            None => Json(reply(&id, answer(&app, &owner, &method, params, None).await)).into_response(),
        },
        Message::Notification { .. } | Message::Answer => StatusCode::ACCEPTED.into_response(),
        Message::Faulty(error) => (StatusCode::BAD_REQUEST, Json(reply(&Value::Null, Err(error)))).into_response(),
    }
}

/// By what a client tells messages about a request's progress from others, where it wants any.
fn progress_token(params: &Value) -> Option<Value> {
    params["_meta"].get("progressToken").cloned()
}

fn takes_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT);
    accepted.iter().any(|it| it.to_str().is_ok_and(|it| it.to_ascii_lowercase().contains(EVENT_STREAM)))
}

/// Sends how far a request is, and then its answer.
async fn send_events(app: SharedApp, owner: Owner, id: Value, method: String, params: Value, token: Value, events: Events) {
    let (messages, mut unsent) = mpsc::unbounded_channel();
    let answered = answer(&app, &owner, &method, params, Some(Progress::new(token, messages)));
    tokio::pin!(answered);
    let result = loop {
        tokio::select! {
            biased;
            Some(message) = unsent.recv() => events.send(None, &message).await,
            result = &mut answered => break result,
        }
    };
    while let Ok(message) = unsent.try_recv() {
        events.send(None, &message).await;
    }
    events.send(None, &reply(&id, result)).await;
}

/// Speaks with one client, a message a line, until `input` ends or `goes_on` says no. Jobs that it
/// waits for then are cancelled. Blocks.
///
/// # Errors
/// If the system gives no thread, or the client does not read any more.
pub fn speak(
    options: ServerOptions,
    client: QueueClient,
    engine: Arc<Handle>,
    input: impl Read + Send + 'static,
    out: &mut (dyn Write + Send),
    goes_on: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    let (app, _) = assemble(options, client, engine)?;
    let (lines, unread) = mpsc::channel(MAX_UNREAD);
    // Nothing ends a thread that waits for standard input but the end of the process.
    thread::Builder::new().name("mcp input".into()).spawn(move || read_lines(input, &lines))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().thread_name("http work").build()?;
    let result = runtime.block_on(converse(&app, unread, out, goes_on));
    runtime.shutdown_background();
    app.hub.end();
    result
}

fn read_lines(input: impl Read, lines: &mpsc::Sender<Vec<u8>>) {
    let mut input = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        match input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(read) if read > 0 && (line.ends_with(b"\n") || (read as u64) < MAX_LINE_BYTES) => {}
            // The end, or a line of which nobody knows where it ends.
            _ => return,
        }
        if !line.trim_ascii().is_empty() && lines.blocking_send(line).is_err() {
            return;
        }
    }
}

async fn converse(
    app: &SharedApp,
    mut lines: mpsc::Receiver<Vec<u8>>,
    out: &mut (dyn Write + Send),
    goes_on: &mut dyn FnMut() -> bool,
) -> io::Result<()> {
    let (replies, mut unsent) = mpsc::unbounded_channel::<Value>();
    let mut running: HashMap<String, AbortHandle> = HashMap::new();
    let mut ticks = tokio::time::interval(TICK);
    loop {
        tokio::select! {
            Some(value) = unsent.recv() => writeln!(out, "{value}").and_then(|()| out.flush())?,
            line = lines.recv() => match line {
                Some(line) => receive(app, &line, &replies, &mut running),
                None => break,
            },
            _ = ticks.tick() => if !goes_on() {
                break;
            },
        }
    }
    for task in running.into_values() {
        task.abort();
    }
    while let Ok(value) = unsent.try_recv() {
        writeln!(out, "{value}").and_then(|()| out.flush())?;
    }
    Ok(())
}

fn receive(app: &SharedApp, line: &[u8], replies: &mpsc::UnboundedSender<Value>, running: &mut HashMap<String, AbortHandle>) {
    let send = |value: Value| {
        // Nobody reads any more where the conversation is over.
        let _ = replies.send(value);
    };
    match read(line) {
        Message::Request { id, method, params } => {
            running.retain(|_, task| !task.is_finished());
            let (app, replies, key) = (Arc::clone(app), replies.clone(), id.to_string());
            let progress = progress_token(&params).map(|token| Progress::new(token, replies.clone()));
            let task = tokio::spawn(async move {
                let result = answer(&app, &Owner::this_computer(), &method, params, progress).await;
                let _ = replies.send(reply(&id, result));
            });
            running.insert(key, task.abort_handle());
        }
        // What waits for a job cancels it.
        Message::Notification { method, params } if method == "notifications/cancelled" => {
            if let Some(task) = running.remove(&params["requestId"].to_string()) {
                task.abort();
            }
        }
        Message::Notification { .. } | Message::Answer => {}
        Message::Faulty(error) => send(reply(&Value::Null, Err(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_the_input_and_empty_ones_are_none() {
        let (lines, mut unread) = mpsc::channel(MAX_UNREAD);
        read_lines(&b"one\n\n  \ntwo"[..], &lines);
        drop(lines);
        let read: Vec<Vec<u8>> = std::iter::from_fn(|| unread.try_recv().ok()).collect();
        assert_eq!(read, [b"one\n".to_vec(), b"two".to_vec()]);
    }
}
