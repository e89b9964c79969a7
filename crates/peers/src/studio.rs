//! Another studio, asked over its HTTP interface.
//!
//! Invariants: answers are read within bounds of bytes and time and by their type; redirects are not
//! followed and no proxy is used; of what a studio says only numbers become part of an address.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use atelier_core::format::file_size;
use atelier_language::tr;
use atelier_media::ReceivedPicture;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, header, redirect};
use serde_json::Value;
use tokio::runtime::{self, Runtime};
use tokio::time::timeout;

use crate::identity::Identity;
use crate::job::{JobEvent, JobRequest, MAX_SENTENCE, Nonsense, read_json};
use crate::offered::offer_in;
use crate::record::{clean_line, shown_name};
use crate::{AccessToken, EventReader, Offer, StudioAddress, StudioError};

/// Longest waits: for a connection, for the first byte of an answer, between two bytes of one, and
/// for the end of a job that was cancelled.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
const ANSWER_WITHIN: Duration = Duration::from_mins(2);
const SILENCE: Duration = Duration::from_mins(1);
const CANCEL_WITHIN: Duration = Duration::from_secs(15);
/// Longest time until it is known who answers at an address.
const IDENTITY_WITHIN: Duration = Duration::from_secs(5);
/// Longest time that a whole answer takes.
const BODY_WITHIN: Duration = Duration::from_mins(10);
/// Time between two looks whether the job is to be cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Most bytes of an answer that is JSON, of one that says why not, and of a picture.
const MAX_JSON: usize = 4 << 20;
const MAX_REASON: usize = 64 << 10;
const MAX_PICTURE: usize = 256 << 20;

/// A studio that is asked. Its methods block.
pub struct Studio {
    name: String,
    address: StudioAddress,
    token: Option<AccessToken>,
    client: Client,
    runtime: Runtime,
}

/// The number of a job there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteJob(String);

impl Studio {
    /// A studio at this address; nothing is sent yet.
    ///
    /// # Errors
    /// If the system gives no means to ask.
    pub fn new(name: &str, address: StudioAddress, token: Option<AccessToken>) -> Result<Self, StudioError> {
        let name = shown_name(name, &address);
        let failed = |error: &dyn fmt::Display| StudioError::Unreachable { studio: name.clone(), reason: error.to_string() };
        // Another part of the program may have chosen the same one before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("atelier/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_WITHIN)
            .build()
            .map_err(|error| failed(&error))?;
        let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
        Ok(Self { name, address, token, client, runtime })
    }

    /// How it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it offers: its models, with the settings that suit each. Those whose names cannot be shown
    /// as they are, are left out.
    ///
    /// # Errors
    /// Where it cannot be reached or does not answer as a studio does.
    pub fn offer(&self) -> Result<Offer, StudioError> {
        let answer = self.runtime.block_on(self.ask_json(Method::GET, &["sdcpp", "v1", "capabilities"], None, StatusCode::OK))?;
        offer_in(&answer).ok_or_else(|| self.nonsense(tr!("peers-the-answer-makes-no")))
    }

    /// Who answers at its address, and proofs of the tokens that it knows.
    pub(crate) fn identity(&self, challenge: &str) -> Result<Identity, StudioError> {
        let answer = self.runtime.block_on(async {
            let route = ["atelier", "v1", "identity", challenge];
            let asked = self.ask_json(Method::GET, &route, None, StatusCode::OK);
            timeout(IDENTITY_WITHIN, asked).await.unwrap_or_else(|_| Err(self.unreachable(tr!("peers-no-answer-in-time"))))
        })?;
        Ok(Identity::read(&answer))
    }

    /// Adds a job.
    ///
    /// # Errors
    /// Where it cannot be reached, does not take the job, or does not answer as a studio does.
    pub fn start(&self, request: &JobRequest) -> Result<RemoteJob, StudioError> {
        let body = request.body().map_err(|error| StudioError::BadPicture { studio: self.name.clone(), reason: error.cause() })?;
        let asked = self.ask_json(Method::POST, &["sdcpp", "v1", "img_gen"], Some(body), StatusCode::ACCEPTED);
        let answer = self.runtime.block_on(asked)?;
        let id = answer.get("id").and_then(Value::as_str).filter(|id| is_number(id));
        id.map(|id| RemoteJob(id.to_owned())).ok_or_else(|| self.nonsense(tr!("peers-the-answer-makes-no")))
    }

    /// Follows a job to its end.
    ///
    /// # Errors
    /// Where it cannot be reached or does not answer as a studio does.
    pub fn follow(&self, job: &RemoteJob) -> Result<FollowedJob<'_>, StudioError> {
        let response = self.runtime.block_on(async {
            let response = self.ask(Method::GET, &["sdcpp", "v1", "jobs", &job.0, "events"], None).await?;
            self.checked(response, StatusCode::OK, "text/event-stream").await
        })?;
        Ok(FollowedJob {
            studio: self,
            job: job.clone(),
            response,
            reader: EventReader::default(),
            unread: VecDeque::new(),
            told: BTreeSet::new(),
            heard: Instant::now(),
            cancelled: None,
            is_over: false,
        })
    }

    /// Fetches a picture of a job.
    ///
    /// # Errors
    /// Where it cannot be reached, or what it sends is no picture or too large.
    pub fn picture(&self, job: &RemoteJob, index: u32) -> Result<ReceivedPicture, StudioError> {
        let index = index.to_string();
        let bytes = self.runtime.block_on(async {
            let response = self.ask(Method::GET, &["sdcpp", "v1", "jobs", &job.0, "images", &index], None).await?;
            let response = self.checked(response, StatusCode::OK, "image/png").await?;
            self.body(response, MAX_PICTURE).await
        })?;
        ReceivedPicture::new(&bytes).map_err(|error| self.bad_picture(&error))
    }

    /// The error about a picture of this studio that cannot be used.
    #[must_use]
    pub fn bad_picture(&self, reason: &dyn fmt::Display) -> StudioError {
        StudioError::BadPicture { studio: self.name.clone(), reason: reason.to_string() }
    }

    /// Cancels a job. Where it cannot be told so, it goes on there.
    pub fn cancel(&self, job: &RemoteJob) {
        let told = self.runtime.block_on(async {
            let route = ["sdcpp", "v1", "jobs", &job.0, "cancel"];
            let response = timeout(CANCEL_WITHIN, self.ask(Method::POST, &route, None)).await.unwrap_or_else(|_| Err(self.lost()))?;
            Ok::<_, StudioError>(response.status())
        });
        // One that has ended already is a conflict.
        if !told.is_ok_and(|status| status.is_success() || status == StatusCode::CONFLICT) {
            tracing::warn!("a job of another studio was not cancelled there");
        }
    }

    async fn ask(&self, method: Method, route: &[&str], body: Option<&Value>) -> Result<Response, StudioError> {
        let mut request: RequestBuilder = self.client.request(method, self.address.route(route));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.secret());
        }
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body.to_string());
        }
        match timeout(ANSWER_WITHIN, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.unreachable(&innermost(&error))),
            Err(_) => Err(self.unreachable(tr!("peers-no-answer-in-time"))),
        }
    }

    async fn ask_json(&self, method: Method, route: &[&str], body: Option<Value>, expected: StatusCode) -> Result<Value, StudioError> {
        let response = self.ask(method, route, body.as_ref()).await?;
        let response = self.checked(response, expected, "application/json").await?;
        let bytes = self.body(response, MAX_JSON).await?;
        read_json(&bytes).map_err(|Nonsense| self.nonsense(tr!("peers-the-answer-makes-no")))
    }

    /// The answer, where it is of this status and type.
    async fn checked(&self, response: Response, expected: StatusCode, of_type: &str) -> Result<Response, StudioError> {
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED {
            return Err(StudioError::NoAccess { studio: self.name.clone(), had_token: self.token.is_some() });
        }
        if status.is_client_error() || status.is_server_error() {
            let reason = self.body(response, MAX_REASON).await.ok().and_then(|bytes| reason_in(&bytes));
            return Err(match reason {
                Some(sentence) => StudioError::Refused { studio: self.name.clone(), sentence },
                None => self.nonsense(&tr!("peers-status-is", code = status.as_u16())),
            });
        }
        if status != expected {
            return Err(self.nonsense(&tr!("peers-status-is", code = status.as_u16())));
        }
        let has_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_right = has_type.is_some_and(|it| it.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(of_type));
        if is_right { Ok(response) } else { Err(self.nonsense(tr!("peers-the-answer-is-of"))) }
    }

    /// The bytes of an answer, unless there are more than these.
    async fn body(&self, mut response: Response, max_bytes: usize) -> Result<Vec<u8>, StudioError> {
        let too_large = || self.nonsense(&tr!("peers-the-answer-is-larger", size = file_size(max_bytes as u64)));
        if response.content_length().is_some_and(|bytes| bytes > max_bytes as u64) {
            return Err(too_large());
        }
        let (mut bytes, began) = (Vec::new(), Instant::now());
        loop {
            if began.elapsed() > BODY_WITHIN {
                return Err(self.lost());
            }
            match timeout(SILENCE, response.chunk()).await {
                Ok(Ok(Some(piece))) if bytes.len() + piece.len() > max_bytes => return Err(too_large()),
                Ok(Ok(Some(piece))) => bytes.extend_from_slice(&piece),
                Ok(Ok(None)) => return Ok(bytes),
                Ok(Err(_)) | Err(_) => return Err(self.lost()),
            }
        }
    }

    fn unreachable(&self, reason: &str) -> StudioError {
        StudioError::Unreachable { studio: self.name.clone(), reason: reason.to_owned() }
    }

    fn nonsense(&self, reason: &str) -> StudioError {
        StudioError::Nonsense { studio: self.name.clone(), reason: reason.to_owned() }
    }

    fn lost(&self) -> StudioError {
        StudioError::Lost { studio: self.name.clone() }
    }
}

impl fmt::Debug for Studio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Studio").field("name", &self.name).field("address", &self.address).finish_non_exhaustive()
    }
}

/// A job that is followed.
pub struct FollowedJob<'a> {
    studio: &'a Studio,
    job: RemoteJob,
    response: Response,
    reader: EventReader,
    unread: VecDeque<JobEvent>,
    /// Pictures that were told.
    told: BTreeSet<u32>,
    /// When something came last.
    heard: Instant,
    /// When it was cancelled.
    cancelled: Option<Instant>,
    is_over: bool,
}

impl FollowedJob<'_> {
    /// Waits for the next event; `None` after the last one. The job is cancelled there as soon as
    /// `is_cancelled` says so. Each picture is told once.
    ///
    /// # Errors
    /// Where the connection ends first, or what comes makes no sense.
    pub fn next(&mut self, is_cancelled: &dyn Fn() -> bool) -> Result<Option<JobEvent>, StudioError> {
        loop {
            while let Some(event) = self.unread.pop_front() {
                self.is_over |= matches!(event, JobEvent::End { .. });
                if let JobEvent::Picture { index, .. } = &event
                    && !self.told.insert(*index)
                {
                    continue;
                }
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            match self.cancelled {
                None if is_cancelled() => {
                    self.studio.cancel(&self.job);
                    self.cancelled = Some(Instant::now());
                }
                Some(at) if at.elapsed() > CANCEL_WITHIN => return Err(StudioError::Cancelled),
                _ => {}
            }
            let Self { studio, response, .. } = self;
            // Made within the runtime, whose clock it needs.
            let piece = studio.runtime.block_on(async { timeout(POLL_INTERVAL, response.chunk()).await });
            match piece {
                Ok(Ok(Some(piece))) => {
                    self.heard = Instant::now();
                    let events = self.reader.push(&piece).ok_or_else(|| self.studio.nonsense(tr!("peers-the-answer-makes-no")))?;
                    self.unread.extend(events);
                }
                Ok(Ok(None) | Err(_)) => return Err(self.end_without_word()),
                Err(_) if self.heard.elapsed() > SILENCE => return Err(self.end_without_word()),
                Err(_) => {}
            }
        }
    }

    fn end_without_word(&self) -> StudioError {
        if self.cancelled.is_some() { StudioError::Cancelled } else { self.studio.lost() }
    }
}

impl fmt::Debug for FollowedJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedJob").field("job", &self.job).finish_non_exhaustive()
    }
}

/// True for the number of a job: nothing else becomes part of an address.
fn is_number(text: &str) -> bool {
    (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The sentence of an answer that says why not.
fn reason_in(bytes: &[u8]) -> Option<String> {
    let value = read_json(bytes).ok()?;
    let sentence = value.get("error").or_else(|| value.get("detail"))?.as_str()?;
    Some(clean_line(sentence, MAX_SENTENCE)).filter(|it| !it.is_empty())
}

/// The reason beneath an error, which is the one that helps. Its own words hold the address.
fn innermost(error: &reqwest::Error) -> String {
    let mut text = None;
    let mut inner = std::error::Error::source(error);
    while let Some(error) = inner {
        text = Some(clean_line(&error.to_string(), MAX_SENTENCE));
        inner = error.source();
    }
    text.unwrap_or_else(|| io::Error::from(io::ErrorKind::NotConnected).to_string())
}

#[cfg(test)]
mod tests;
