//! Requests: redirects, the token, what a server's answer says of a file.
//!
//! Invariants: the token goes to the endpoint's own scheme, host and port and to nobody else,
//! whatever a server redirects to; a redirect never leads from `https` to `http`. Nothing a server
//! says is trusted beyond being compared.

use std::error::Error;
use std::io;
use std::time::{Duration, SystemTime};

use atelier_language::tr;
use bytes::Bytes;
use parking_lot::Mutex;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use tokio::time::timeout;

use super::failure::{Cause, Failure};
use super::job::Source;
use super::options::{ProxyChoice, RetryPolicy};
use super::token::Token;
use crate::names::Sha256;

/// Redirects that are followed for one request.
const HOPS: usize = 10;
/// Largest answer that is not a file, in bytes.
const MAX_WORDS: usize = 64 << 10;

/// The client, the endpoint and the token.
pub(super) struct Web {
    client: Client,
    endpoint: Url,
    token: Mutex<Option<Token>>,
    stall: Duration,
}

/// An answer whose body has not been read, and what its redirects said of the file.
pub(super) struct Answer {
    /// The last response.
    pub(super) response: Response,
    /// The file's SHA-256, as Hugging Face names it in its redirect.
    pub(super) linked: Option<Sha256>,
    /// The file's size in bytes, from there.
    pub(super) linked_size: Option<u64>,
    /// True if the token was sent at the last hop.
    pub(super) with_token: bool,
}

/// Reason for which there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    /// Nobody answered, or the line broke; another try may help.
    #[error("{0}")]
    QueuedJob(String),
    /// The server does what no other try will mend.
    #[error("{0}")]
    Nonsense(String),
    /// The server's certificate is none that this machine trusts, which no other try will mend.
    #[error("{}", tr!("downloads-the-servers-certificate-is"))]
    Untrusted,
}

impl From<reqwest::Error> for NoAnswer {
    fn from(error: reqwest::Error) -> Self {
        if is_of_certificate(&error) { Self::Untrusted } else { Self::QueuedJob(words(&error)) }
    }
}

/// Range of a file to request.
pub(super) struct Rest<'a> {
    /// The first byte.
    pub(super) from: u64,
    /// The file must still be the one that this names.
    pub(super) if_range: Option<&'a str>,
}

impl Web {
    /// # Errors
    /// If the endpoint is no address, or the system's certificates cannot be had.
    pub(super) fn new(endpoint: &str, token: Option<Token>, proxy: &ProxyChoice, retry_policy: &RetryPolicy) -> Result<Self, String> {
        // Another part of the program may have chosen the same one before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client = Client::builder()
            .user_agent(concat!("atelier/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .connect_timeout(retry_policy.connect)
            .tcp_keepalive(Duration::from_secs(30));
        match proxy {
            ProxyChoice::System => {}
            ProxyChoice::None => client = client.no_proxy(),
            ProxyChoice::Address(address) => {
                let proxy = reqwest::Proxy::all(address).map_err(|error| tr!("downloads-the-proxy-cannot-be", address, error))?;
                client = client.proxy(proxy);
            }
        }
        let client = client.build().map_err(|error| tr!("downloads-downloads-cannot-start", error = words(&error)))?;
        let endpoint = Url::parse(endpoint).ok().filter(|url| matches!(url.scheme(), "https" | "http") && url.has_host());
        let endpoint = endpoint.ok_or(tr!("downloads-hf-endpoint-is-not"))?;
        Ok(Self { client, endpoint, token: Mutex::new(token), stall: retry_policy.stall })
    }

    /// From now on this token is sent.
    pub(super) fn set_token(&self, token: Option<Token>) {
        *self.token.lock() = token;
    }

    /// The server of the models, without a slash at its end.
    pub(super) fn endpoint(&self) -> &str {
        self.endpoint.as_str().trim_end_matches('/')
    }

    /// An address at the endpoint; each word becomes one part of the path.
    pub(super) fn at_endpoint<'a>(&self, parts: impl IntoIterator<Item = &'a str>) -> Result<Url, String> {
        let mut url = self.endpoint.clone();
        {
            let mut path = url.path_segments_mut().map_err(|()| tr!("downloads-hf-endpoint-is-not").to_owned())?;
            path.pop_if_empty();
            for part in parts {
                if matches!(part, "" | "." | "..") || part.contains(char::is_control) {
                    return Err(tr!("downloads-is-not-part-of", part = format!("{part:?}")));
                }
                path.push(part);
            }
        }
        Ok(url)
    }

    /// The address of a file.
    pub(super) fn address(&self, source: &Source) -> Result<Url, String> {
        match source {
            Source::Url(text) => {
                let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "https" | "http") && url.has_host());
                url.ok_or_else(|| tr!("downloads-is-not-a-url", text = format!("{text:?}")))
            }
            Source::HuggingFace { repo, path, revision } => {
                let repo = repository(repo)?;
                let revision = revision.as_deref().unwrap_or("main");
                self.at_endpoint(repo.into_iter().chain(["resolve", revision]).chain(path.split('/')))
            }
        }
    }

    /// Asks for a file or a part of one, following redirects.
    pub(super) async fn get(&self, url: &Url, rest: Option<&Rest<'_>>) -> Result<Answer, NoAnswer> {
        let (mut url, mut linked, mut linked_size) = (url.clone(), None, None);
        for _ in 0..=HOPS {
            let mut request = self.client.get(url.clone()).header(header::ACCEPT_ENCODING, "identity");
            if let Some(rest) = rest {
                request = request.header(header::RANGE, format!("bytes={}-", rest.from));
                if let Some(value) = rest.if_range {
                    request = request.header(header::IF_RANGE, value);
                }
            }
            let token = self.token.lock().clone().filter(|_| same_origin(&url, &self.endpoint));
            let with_token = token.is_some();
            if let Some(mut value) = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {}", token.secret())).ok()) {
                value.set_sensitive(true);
                request = request.header(header::AUTHORIZATION, value);
            }
            let response = timeout(self.stall, request.send()).await;
            let response = response.map_err(|_| NoAnswer::QueuedJob(tr!("downloads-the-server-does-not").into()))?;
            let response = response.map_err(NoAnswer::from)?;
            linked = linked.or_else(|| etag(response.headers(), "x-linked-etag").and_then(|it| Sha256::try_from(it).ok()));
            linked_size = linked_size.or_else(|| number(response.headers(), &HeaderName::from_static("x-linked-size")));
            if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
                return Ok(Answer { response, linked, linked_size, with_token });
            }
            let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
            let next = location.and_then(|it| url.join(it).ok()).filter(|it| matches!(it.scheme(), "https" | "http") && it.has_host());
            let next = next.ok_or_else(|| NoAnswer::Nonsense(tr!("downloads-the-server-redirects-to").into()))?;
            if url.scheme() == "https" && next.scheme() == "http" {
                return Err(NoAnswer::Nonsense(tr!("downloads-the-server-redirects-from").into()));
            }
            url = next;
        }
        Err(NoAnswer::Nonsense(tr!("downloads-the-server-redirects-too").into()))
    }

    /// Asks for a short text, at most `most` bytes of it.
    pub(super) async fn text(&self, url: &Url, most: usize) -> Result<(Answer, Vec<u8>), NoAnswer> {
        let mut answer = self.get(url, None).await?;
        let most = if answer.response.status().is_success() { most } else { MAX_WORDS };
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk(&mut answer.response).await? {
            if body.len() + chunk.len() > most {
                return Err(NoAnswer::Nonsense(tr!("downloads-the-servers-answer-is").into()));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((answer, body))
    }

    /// The next bytes of a body; `None` at its end.
    pub(super) async fn chunk(&self, response: &mut Response) -> Result<Option<Bytes>, NoAnswer> {
        let next = timeout(self.stall, response.chunk()).await;
        let next = next.map_err(|_| NoAnswer::QueuedJob(tr!("downloads-the-server-stopped-sending").into()))?;
        next.map_err(NoAnswer::from)
    }

    /// The failure for a status that is no success. `was_there`: somebody looked at it there before,
    /// as those who made the catalogue did; a typed link may never have led to anything. The second
    /// value is true if another try may help.
    pub(super) fn refusal(
        &self,
        answer: &Answer,
        what: &str,
        repo: Option<&str>,
        licence_url: Option<&str>,
        was_there: bool,
    ) -> (Failure, bool) {
        let (status, headers) = (answer.response.status(), answer.response.headers());
        let code = headers.get("x-error-code").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let missing = code.ends_with("NotFound");
        let page = licence_url.map(str::to_owned).or_else(|| repo.map(|repo| format!("{}/{repo}", self.endpoint())));
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if page.is_none() && !same_origin(answer.response.url(), &self.endpoint) => {
                let host = answer.response.url().host_str().unwrap_or(tr!("downloads-the-server"));
                let sentence = tr!("downloads-requires-a-login-for", host, what);
                let hint = tr!("downloads-many-sites-offer-a");
                (Failure::new(Cause::Server, sentence, hint), false)
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if !missing => (gated(self.endpoint(), what, page, answer.with_token), false),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND | StatusCode::GONE => {
                let at = page.unwrap_or_else(|| tr!("downloads-the-page-it-came").to_owned());
                let (sentence, hint) = if was_there {
                    let sentence = tr!("downloads-no-longer-exists-at", what);
                    (sentence, tr!("downloads-look-at-for-the", at))
                } else {
                    let sentence = tr!("downloads-was-not-found-the", what);
                    (sentence, tr!("downloads-compare-the-link-with", at))
                };
                (Failure::new(Cause::NotFound, sentence, hint), false)
            }
            StatusCode::TOO_MANY_REQUESTS => {
                (Failure::new(Cause::TooMany, tr!("downloads-the-server-limits-requests", what), tr!("downloads-wait-a-few-minutes")), true)
            }
            _ => (
                Failure::new(
                    Cause::Server,
                    tr!("downloads-the-server-could-not", what, code = status.as_u16()),
                    tr!("downloads-try-again-later-downloaded"),
                ),
                status.is_server_error() || matches!(status.as_u16(), 408 | 425),
            ),
        }
    }
}

fn gated(endpoint: &str, what: &str, page: Option<String>, with_token: bool) -> Failure {
    let licence = page.as_ref().map_or_else(String::new, |page| tr!("downloads-accept-its-licence-at", page));
    let hint = if with_token {
        tr!("downloads-then-check-that-the", licence, endpoint)
    } else {
        tr!("downloads-then-make-a-token", licence, endpoint)
    };
    let sentence = if with_token {
        tr!("downloads-requires-accepting-its-licence-and-the", what)
    } else {
        tr!("downloads-requires-accepting-its-licence", what)
    };
    Failure::new(Cause::Gated { licence_url: page }, sentence, hint)
}

/// Owner and name of a repository, or the name of one without an owner.
pub(super) fn repository(repo: &str) -> Result<Vec<&str>, String> {
    let good =
        |it: &&str| !it.is_empty() && !matches!(*it, "." | "..") && it.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let parts: Vec<&str> = repo.split('/').collect();
    if parts.len() <= 2 && parts.iter().all(good) {
        Ok(parts)
    } else {
        Err(tr!("downloads-is-not-a-repository", repo = format!("{repo:?}")))
    }
}

fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme() && one.host() == other.host() && one.port_or_known_default() == other.port_or_known_default()
}

/// True where a certificate was refused. Errors of the system hide what they carry from `source`.
fn is_of_certificate(error: &(dyn Error + 'static)) -> bool {
    if let Some(rustls::Error::InvalidCertificate(_)) = error.downcast_ref() {
        return true;
    }
    let carried = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    carried.is_some_and(|error| is_of_certificate(error)) || error.source().is_some_and(is_of_certificate)
}

/// An error with the reasons beneath it, the last of which is the one that helps.
fn words(error: &reqwest::Error) -> String {
    let mut text =
        if error.is_connect() { tr!("downloads-no-connection").to_owned() } else { tr!("downloads-the-connection-was-lost").to_owned() };
    let mut inner = error.source();
    while let Some(error) = inner {
        if error.source().is_none() {
            text = format!("{text}: {error}");
        }
        inner = error.source();
    }
    text
}

/// The value of a header that names a version of a file, without marks.
fn etag(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(value.trim_start_matches("W/").trim_matches('"').to_owned())
}

fn number(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// The header that names the version of a file, as it is, where it is not too long to keep.
pub(super) fn text_header(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().filter(|it| it.len() <= 512).map(str::to_owned)
}

/// Bytes that a whole answer has.
pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    number(headers, &header::CONTENT_LENGTH)
}

/// `Content-Range` (RFC 9110, 14.4): the first byte of a part, where there is one, and the size of
/// the whole, where it is told.
pub(super) fn content_range(headers: &HeaderMap) -> Option<(Option<u64>, Option<u64>)> {
    let (range, total) = headers.get(header::CONTENT_RANGE)?.to_str().ok()?.trim().strip_prefix("bytes ")?.split_once('/')?;
    let from = if range == "*" { None } else { Some(range.split_once('-')?.0.trim().parse().ok()?) };
    let total = if total == "*" { None } else { Some(total.trim().parse().ok()?) };
    Some((from, total))
}

/// `Retry-After` (RFC 9110, 10.2.3): seconds, or a date.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(secs) = text.parse() {
        return Some(Duration::from_secs(secs));
    }
    httpdate::parse_http_date(text).ok().map(|date| date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web(endpoint: &str) -> Web {
        Web::new(endpoint, None, &ProxyChoice::None, &RetryPolicy::default()).unwrap()
    }

    #[test]
    fn addresses_are_made_with_care() {
        let web = web("https://hub.example/mirror/");
        let file = |repo: &str, path: &str, revision: Option<&str>| {
            let source = Source::HuggingFace { repo: repo.into(), path: path.into(), revision: revision.map(str::to_owned) };
            web.address(&source).map(|url| url.to_string())
        };
        assert_eq!(file("o/n", "a b/c#?.gguf", None).unwrap(), "https://hub.example/mirror/o/n/resolve/main/a%20b/c%23%3F.gguf");
        assert_eq!(file("o/n", "x", Some("refs/pr/1")).unwrap(), "https://hub.example/mirror/o/n/resolve/refs%2Fpr%2F1/x");
        for (repo, path, revision) in [
            ("o/n/m", "x", None),
            ("../n", "x", None),
            ("o/n", "../x", None),
            ("o/n", "a//x", None),
            ("o/n", "x", Some("..")),
            ("o n", "x", None),
        ] {
            assert!(file(repo, path, revision).is_err(), "{repo} {path}");
        }
        for bad in ["file:///etc/passwd", "ftp://x/y", "nothing", "data:text/plain,x"] {
            assert!(web.address(&Source::Url(bad.into())).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_refused_certificate_is_found_beneath_errors_of_the_system() {
        let refused = |cause| io::Error::new(io::ErrorKind::InvalidData, rustls::Error::InvalidCertificate(cause));
        for cause in [rustls::CertificateError::UnknownIssuer, rustls::CertificateError::Expired] {
            assert!(is_of_certificate(&refused(cause.clone())));
            assert!(is_of_certificate(&io::Error::other(refused(cause))));
        }
        assert!(!is_of_certificate(&io::Error::other(rustls::Error::HandshakeNotComplete)));
        assert!(!is_of_certificate(&io::Error::from(io::ErrorKind::ConnectionReset)));
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let same = |one: &str, other: &str| same_origin(&Url::parse(one).unwrap(), &Url::parse(other).unwrap());
        assert!(same("https://a.example/x", "https://a.example:443/y"));
        for other in
            ["http://a.example", "https://b.example", "https://a.example:444", "https://x.a.example", "https://a.example.b.example"]
        {
            assert!(!same("https://a.example", other), "{other}");
        }
    }

    #[test]
    fn headers_are_read_as_they_are_meant_and_nonsense_is_nothing() {
        let with = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            headers
        };
        assert_eq!(content_range(&with("content-range", "bytes 5-9/10")), Some((Some(5), Some(10))));
        assert_eq!(content_range(&with("content-range", "bytes */10")), Some((None, Some(10))));
        assert_eq!(content_range(&with("content-range", "bytes 5-9/*")), Some((Some(5), None)));
        for bad in ["", "bytes", "lines 1-2/3", "bytes x-9/10", "bytes 5-9/-1"] {
            assert_eq!(content_range(&with("content-range", bad)), None, "{bad}");
        }
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let after = |value: &str| retry_after(&with("retry-after", value), now);
        assert_eq!(after("120"), Some(Duration::from_mins(2)));
        assert_eq!(after("Sun, 06 Nov 1994 08:50:07 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(after("Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(after("soon"), None);
    }
}
