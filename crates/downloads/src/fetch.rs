//! One small file, fetched at once: no queue, no token, nothing on the disk.

use std::time::Duration;

use atelier_language::tr;
use tokio::time::timeout;

use super::failure::{Cause, Failure};
use super::options::{ProxyChoice, RetryPolicy};
use super::web::{NoAnswer, Web};

/// Fetches a file of at most `max_bytes` bytes within `limit`. Blocks.
///
/// # Errors
/// If the address is none, nobody answers in time, or the answer is a refusal or too long.
pub fn fetch(url: &str, max_bytes: usize, limit: Duration, proxy: &ProxyChoice) -> Result<Vec<u8>, Failure> {
    let web = Web::new(url, None, proxy, &RetryPolicy::default()).map_err(|words| server(&words))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| server(&error.to_string()))?;
    let url = reqwest::Url::parse(url).map_err(|error| server(&error.to_string()))?;
    let answer = runtime.block_on(async { timeout(limit, web.text(&url, max_bytes)).await });
    match answer {
        Err(_) | Ok(Err(NoAnswer::QueuedJob(_))) => Err(unreachable(&url, tr!("downloads-check-the-connection-and"))),
        Ok(Err(NoAnswer::Untrusted)) => Err(unreachable(&url, tr!("downloads-check-the-date-of"))),
        Ok(Err(NoAnswer::Nonsense(words))) => Err(server(&words)),
        Ok(Ok((answer, body))) if answer.response.status().is_success() => Ok(body),
        Ok(Ok((answer, _))) => Err(server(&tr!("downloads-status", code = answer.response.status().as_u16()))),
    }
}

fn unreachable(url: &reqwest::Url, hint: &str) -> Failure {
    let host = url.host_str().unwrap_or(tr!("downloads-the-server"));
    Failure::new(Cause::Unreachable, tr!("downloads-cannot-be-reached", host), hint)
}

fn server(words: &str) -> Failure {
    Failure::new(Cause::Server, tr!("downloads-the-servers-answer-could", words), tr!("downloads-try-again-later"))
}
