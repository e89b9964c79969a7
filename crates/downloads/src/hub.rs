//! Search on Hugging Face, and the files of a repository, by its public API.
//!
//! Answers are bounded in bytes and in number, and hold only what is well-formed.

use atelier_language::tr;
use serde::Deserialize;

use super::failure::{Cause, Failure};
use super::web::{NoAnswer, Web, repository};
use crate::names::Sha256;

/// Bytes of an answer that are read.
const MAX_BYTES: usize = 8 << 20;
/// Repositories that are asked for.
const REPOSITORIES: usize = 50;
/// Files of a repository that are listed.
const MAX_FILES: usize = 2000;
/// Characters of a search that are sent.
const MAX_TEXT: usize = 200;

/// A repository of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Owner and name.
    pub id: String,
    /// Number of recent downloads.
    pub downloads: u64,
    /// Number of likes.
    pub likes: u64,
    /// True if its licence must be accepted first.
    pub gated: bool,
    /// Its task (`text-to-image`), where that is said.
    pub task: Option<String>,
    /// Its licence, as its tags name it (`apache-2.0`).
    pub licence: Option<String>,
}

/// A file of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubFile {
    /// Its path in the repository.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-256, where the server names it.
    pub sha256: Option<Sha256>,
}

#[derive(Deserialize)]
struct FoundModel {
    id: String,
    #[serde(default)]
    downloads: u64,
    #[serde(default)]
    likes: u64,
    /// `false`, or how the licence is accepted.
    #[serde(default)]
    gated: serde_json::Value,
    #[serde(default)]
    pipeline_tag: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Deserialize)]
struct FoundFile {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    lfs: Option<Lfs>,
}

#[derive(Deserialize)]
struct Lfs {
    oid: String,
    size: u64,
}

/// Searches for models, the most downloaded first.
pub(super) async fn search(web: &Web, text: &str) -> Result<Vec<Repository>, Failure> {
    let mut url = web.at_endpoint(["api", "models"]).map_err(nonsense)?;
    let text: String = text.trim().chars().take(MAX_TEXT).collect();
    url.query_pairs_mut()
        .append_pair("search", &text)
        .append_pair("limit", &REPOSITORIES.to_string())
        .append_pair("sort", "downloads")
        .append_pair("direction", "-1")
        .append_pair("full", "true");
    let found: Vec<FoundModel> = ask(web, &url, tr!("downloads-the-search"), None).await?;
    let good = found.into_iter().filter(|it| repository(&it.id).is_ok()).take(REPOSITORIES);
    Ok(good
        .map(|it| Repository {
            gated: !matches!(it.gated, serde_json::Value::Null | serde_json::Value::Bool(false)),
            licence: it.tags.iter().find_map(|tag| tag.strip_prefix("license:")).map(str::to_owned),
            id: it.id,
            downloads: it.downloads,
            likes: it.likes,
            task: it.pipeline_tag,
        })
        .collect())
}

/// The files of a repository's main branch, in its folders too.
pub(super) async fn files(web: &Web, repo: &str) -> Result<Vec<HubFile>, Failure> {
    let parts = repository(repo).map_err(nonsense)?;
    let mut url = web.at_endpoint(["api", "models"].into_iter().chain(parts).chain(["tree", "main"])).map_err(nonsense)?;
    url.query_pairs_mut().append_pair("recursive", "true");
    let found: Vec<FoundFile> = ask(web, &url, repo, Some(repo)).await?;
    let good = found.into_iter().filter(|it| it.kind == "file" && !it.path.chars().any(char::is_control)).take(MAX_FILES);
    Ok(good
        .map(|it| HubFile {
            size: it.lfs.as_ref().map_or(it.size, |lfs| lfs.size),
            sha256: it.lfs.and_then(|lfs| Sha256::try_from(lfs.oid).ok()),
            path: it.path,
        })
        .collect())
}

async fn ask<T: for<'de> Deserialize<'de>>(web: &Web, url: &reqwest::Url, what: &str, repo: Option<&str>) -> Result<T, Failure> {
    let unreachable = |hint: &str| {
        let host = url.host_str().unwrap_or(tr!("downloads-the-server"));
        Failure::new(Cause::Unreachable, tr!("downloads-cannot-be-reached", host), hint)
    };
    let (answer, body) = web.text(url, MAX_BYTES).await.map_err(|error| match error {
        NoAnswer::QueuedJob(_) => unreachable(tr!("downloads-models-on-this-machine")),
        NoAnswer::Untrusted => unreachable(tr!("downloads-check-the-date-of")),
        NoAnswer::Nonsense(words) => unclear(&words),
    })?;
    if !answer.response.status().is_success() {
        return Err(web.refusal(&answer, what, repo, None, false).0);
    }
    serde_json::from_slice(&body).map_err(|error| unclear(&error.to_string()))
}

fn unclear(words: &str) -> Failure {
    Failure::new(Cause::Server, tr!("downloads-the-servers-answer-could", words), tr!("downloads-try-again-later"))
}

fn nonsense(sentence: String) -> Failure {
    Failure::new(Cause::Job, sentence, tr!("downloads-write-the-repository-as"))
}
