//! One file, from wherever it is to its place.
//!
//! A file that is there already, or that another model has, is not fetched. What is fetched is
//! written and hashed by a thread of its own while the next bytes come in. A broken line is gone on
//! with where it broke; bytes of another version are never put together.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use atelier_language::tr;
use reqwest::{Response, StatusCode, header};
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;

use super::event::Stage;
use super::failure::{Cause, Failure};
use super::index::DownloadedFile;
use super::job::Source;
use super::part::{Part, PartMetadata};
use super::probe::is_page;
use super::reuse::{find_reusable, make_room};
use super::task::{Context, FileTask};
use super::transfer_error::{TransferError, file_error, lost, mismatch};
use super::unpack;
use super::web::{self, Answer, NoAnswer, Rest};
use super::writer::{Start, write};

/// Chunks that wait for the disk.
const WAITING_CHUNKS: usize = 64;
/// Fewer bytes than this in the time of a stall are a stall too.
const MIN_BYTES: u64 = 1024;
/// Number of nonsensical answers before one is believed.
const ODD_TRIES: u32 = 3;

/// A file that is in its place.
pub(super) struct Transferred {
    pub(super) kept: DownloadedFile,
    /// True if it was brought, and not there already.
    pub(super) now: bool,
    /// Unpacked files, of an archive.
    pub(super) unpacked: Vec<DownloadedFile>,
}

/// Brings a file to its place.
pub(super) async fn transfer_file(context: Arc<Context>, task: FileTask) -> Result<Transferred, TransferError> {
    let (kept, now) = Transfer { context: Arc::clone(&context), task: task.clone() }.run().await?;
    task.counter.set_total(Some(kept.size));
    task.counter.set_bytes(kept.size);
    let mut unpacked = Vec::new();
    if let Some(list) = task.wanted.unpack.clone() {
        task.counter.set_stage(Stage::Finishing);
        let (archive, folder) = (kept.clone(), task.folder.clone());
        let all = blocking(move || {
            let free = (context.free_space)(&folder).unwrap_or(u64::MAX);
            let around = unpack::Around { free, stopped: &|| task.stopped(), make_room: &|path| make_room(&context, path) };
            let files = unpack::unpack(&archive.path, &folder, &list, &around)?;
            let all = files.into_iter().map(|(path, sum)| DownloadedFile::unpacked(&path, &archive, sum));
            all.collect::<io::Result<_>>().map_err(unpack::UnpackError::Disk)
        });
        unpacked = all.await?.map_err(|error| error.file_error(&kept.path))?;
    }
    Ok(Transferred { kept, now, unpacked })
}

/// Failed attempt.
enum AttemptError {
    /// For good.
    Failed(TransferError),
    /// Another try may help.
    Retry {
        failure: Failure,
        after: Option<Duration>,
        /// It makes no sense, and is not tried as often as a line that breaks.
        odd: bool,
    },
    /// The server has another version: begin anew, now.
    Changed,
}

impl From<TransferError> for AttemptError {
    fn from(error: TransferError) -> Self {
        Self::Failed(error)
    }
}

enum Attempt {
    /// All bytes are there, and are to be checked.
    Whole(Box<Part>),
    /// It was at hand; and whether it was brought.
    AtHand(DownloadedFile, bool),
}

struct Transfer {
    context: Arc<Context>,
    task: FileTask,
}

impl Transfer {
    async fn run(mut self) -> Result<(DownloadedFile, bool), TransferError> {
        self.task.counter.set_stage(Stage::Checking);
        if let Some(find_reusable) = self.find_reusable(None).await? {
            return Ok(find_reusable);
        }
        let mut part = self.open().await?;
        let (mut tries, mut odd_tries, mut best) = (0, 0, part.bytes());
        let mut connections = u32::from(part.bytes() > 0);
        let mut begun_anew = false;
        loop {
            connections += 1;
            let (went, back) = self.attempt(part).await;
            let (failure, after) = match went {
                Ok(Attempt::AtHand(kept, brought)) => return Ok((kept, brought)),
                Ok(Attempt::Whole(whole)) => {
                    let kept = self.settle(*whole).await?;
                    match kept {
                        Ok(kept) => return Ok((kept, true)),
                        // A part that was put together may be damaged where the file is not: that
                        // is found out once.
                        Err(_) if connections > 1 && !begun_anew => {
                            (begun_anew, connections, best) = (true, 0, 0);
                            part = self.open().await?;
                            continue;
                        }
                        Err(failure) => return Err(TransferError::Failed(failure)),
                    }
                }
                Err(AttemptError::Failed(halt)) => return Err(halt),
                Err(AttemptError::Changed) => {
                    odd_tries += 1;
                    (best, connections) = (0, 0);
                    let sentence = tr!("downloads-the-servers-copy-of", name = self.task.name());
                    (Failure::new(Cause::Server, sentence, tr!("downloads-try-again-later")), Some(Duration::ZERO))
                }
                Err(AttemptError::Retry { failure, after, odd }) => {
                    odd_tries += u32::from(odd);
                    (failure, after)
                }
            };
            part = match back {
                Some(part) => part,
                None => self.open().await?,
            };
            if part.bytes() > best {
                // It goes on, however slowly: what failed before does not count.
                (best, tries) = (part.bytes(), 0);
            }
            tries += 1;
            let retry_policy = &self.context.retry_policy;
            if tries >= retry_policy.tries || odd_tries > ODD_TRIES || after.is_some_and(|it| it > retry_policy.longest_asked) {
                return Err(TransferError::Failed(failure));
            }
            tracing::debug!(file = self.task.name(), tries, "tried again: {}", failure.advice.sentence);
            self.task.counter.set_stage(Stage::Retrying);
            let wait = retry_policy.wait(tries, after, rand::random());
            tokio::select! {
                () = wait_for_stop(&mut self.task.stop) => return Err(TransferError::Stopped),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// A file that need not be fetched: it is in its place already, or another model has it.
    /// `server` is what its server says of it.
    async fn find_reusable(&self, server: Option<PartMetadata>) -> Result<Option<(DownloadedFile, bool)>, TransferError> {
        let (context, task) = (Arc::clone(&self.context), self.task.clone());
        blocking(move || find_reusable(&context, &task, server.as_ref())).await?
    }

    async fn open(&self) -> Result<Part, TransferError> {
        let task = self.task.clone();
        let opened = blocking(move || {
            let mut part = Part::open(&task.target(), &task.counter, || task.stopped())?;
            let goes_on = |metadata: &PartMetadata| {
                metadata.can_resume() && metadata.wanted == task.wanted.sha256 && metadata.source.as_ref() == Some(&task.wanted.source)
            };
            if !part.metadata().is_some_and(goes_on) {
                part.clear()?;
                task.counter.set_bytes(0);
            }
            Ok(part)
        });
        opened.await?.map_err(|error| file_error(error, &self.task))
    }

    /// One connection. The part comes back, unless it was lost with its thread.
    async fn attempt(&mut self, mut part: Part) -> (Result<Attempt, AttemptError>, Option<Part>) {
        let metadata = part.metadata().cloned().unwrap_or_default();
        if part.bytes() > 0 && metadata.total == Some(part.bytes()) {
            return (Ok(Attempt::Whole(Box::new(part))), None);
        }
        if !metadata.can_resume()
            && let Err(error) = part.clear()
        {
            return (Err(file_error(error.into(), &self.task).into()), None);
        }
        let there = part.bytes();
        let if_range = if metadata.linked.is_some() { None } else { metadata.strong_etag().or(metadata.modified.as_deref()) };
        let rest = (there > 0).then_some(Rest { from: there, if_range });
        let answer = match self.ask(rest.as_ref()).await {
            Ok(answer) => answer,
            Err(bad) => return (Err(bad), Some(part)),
        };
        let now = self.metadata(&answer);
        let start = match self.judge(&answer, &metadata, &now, there) {
            Ok(Some(start)) => start,
            Ok(None) => return (Ok(Attempt::Whole(Box::new(part))), None),
            Err(bad) => {
                // Whatever is there is of no use where the server has another version, or says that
                // it has less.
                let stale = matches!(bad, AttemptError::Changed) || answer.response.status() == StatusCode::RANGE_NOT_SATISFIABLE;
                if stale && let Err(error) = part.clear() {
                    return (Err(file_error(error.into(), &self.task).into()), None);
                }
                return (Err(bad), Some(part));
            }
        };
        let anew = matches!(start, Start::Anew(_));
        if anew {
            // Now that the server has named the file, it may turn out to be at hand; a copy needs
            // the part's place.
            if let Err(error) = part.discard() {
                return (Err(file_error(error.into(), &self.task).into()), None);
            }
            match self.find_reusable(Some(now.clone())).await {
                Ok(Some((kept, brought))) => return (Ok(Attempt::AtHand(kept, brought)), None),
                Ok(None) => {}
                Err(halt) => return (Err(halt.into()), None),
            }
            part = match self.open().await {
                Ok(part) => part,
                Err(halt) => return (Err(halt.into()), None),
            };
        }
        let left = now.total.map(|total| total.saturating_sub(if anew { 0 } else { there }));
        if let (Some(needed), Ok(free)) = (left, (self.context.free_space)(part.folder()))
            && free < needed
        {
            return (Err(TransferError::Full { needed, free }.into()), Some(part));
        }
        self.task.counter.set_total(now.total);
        self.task.counter.set_stage(Stage::Loading);
        self.receive(part, start, answer.response, now.total).await
    }

    async fn ask(&mut self, rest: Option<&Rest<'_>>) -> Result<Answer, AttemptError> {
        let url = self.context.web.address(&self.task.wanted.source).map_err(|sentence| {
            let hint = tr!("downloads-correct-the-url-or");
            TransferError::Failed(Failure::new(Cause::Job, sentence, hint))
        })?;
        let context = Arc::clone(&self.context);
        let answer = tokio::select! {
            biased;
            () = wait_for_stop(&mut self.task.stop) => return Err(TransferError::Stopped.into()),
            answer = context.web.get(&url, rest) => answer,
        };
        answer.map_err(|error| self.line(error))
    }

    /// Metadata of the file, from the server's answer.
    fn metadata(&self, answer: &Answer) -> PartMetadata {
        let (headers, wanted) = (answer.response.headers(), &self.task.wanted);
        let said = match answer.response.status() {
            StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE => web::content_range(headers).and_then(|it| it.1),
            _ => web::content_length(headers),
        };
        PartMetadata {
            source: Some(wanted.source.clone()),
            wanted: wanted.sha256,
            linked: answer.linked,
            etag: web::text_header(headers, &header::ETAG),
            modified: web::text_header(headers, &header::LAST_MODIFIED),
            total: said.or(wanted.size).or(answer.linked_size),
        }
    }

    /// The start of the writer for this answer, where `there` bytes of the version `old` are on
    /// disk; `None` if they are the whole file.
    fn judge(&self, answer: &Answer, old: &PartMetadata, now: &PartMetadata, there: u64) -> Result<Option<Start>, AttemptError> {
        let (status, name) = (answer.response.status(), self.task.name());
        if !matches!(status, StatusCode::OK | StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE) {
            let repo = match &self.task.wanted.source {
                Source::HuggingFace { repo, .. } => Some(repo.as_str()),
                Source::Url(_) => None,
            };
            // Who knows its size or sum has seen it there.
            let was_there = self.task.wanted.size.is_some() || self.task.wanted.sha256.is_some();
            let licence_url = self.task.licence_url.as_deref();
            let (failure, again) = self.context.web.refusal(answer, name, repo, licence_url, was_there);
            let after = web::retry_after(answer.response.headers(), SystemTime::now());
            return Err(if again { AttemptError::Retry { failure, after, odd: false } } else { TransferError::Failed(failure).into() });
        }
        if is_page(answer.response.headers()) {
            let failure = Failure::new(Cause::Server, tr!("downloads-the-server-sent-a", name), tr!("downloads-the-server-may-require"));
            return Err(TransferError::Failed(failure).into());
        }
        if let (Some(wanted), Some(linked)) = (self.task.wanted.sha256, answer.linked)
            && wanted != linked
        {
            return Err(TransferError::Failed(mismatch(name)).into());
        }
        let expected = self.task.wanted.size.or(answer.linked_size);
        if let (Some(expected), Some(total)) = (expected, now.total)
            && expected != total
        {
            let sentence = tr!("downloads-the-servers-has-bytes", name, total, expected);
            return Err(odd(sentence, Cause::Mismatch));
        }
        match status {
            StatusCode::RANGE_NOT_SATISFIABLE if there > 0 && now.total == Some(there) && old.is_same(now) => Ok(None),
            StatusCode::RANGE_NOT_SATISFIABLE => Err(odd(tr!("downloads-the-server-cannot-resume", name), Cause::Server)),
            StatusCode::PARTIAL_CONTENT => {
                let from = web::content_range(answer.response.headers()).and_then(|it| it.0);
                if from != Some(there) {
                    return Err(odd(tr!("downloads-the-server-sent-the", name), Cause::Server));
                }
                if there == 0 {
                    Ok(Some(Start::Anew(now.clone())))
                } else if old.is_same(now) {
                    Ok(Some(Start::GoOn { skip: 0 }))
                } else {
                    Err(AttemptError::Changed)
                }
            }
            // The whole file, whether or not a part was asked for.
            _ if there > 0 && old.is_surely(now) => Ok(Some(Start::GoOn { skip: there })),
            _ => Ok(Some(Start::Anew(now.clone()))),
        }
    }

    /// Takes the body in. `total` is the size of the whole file.
    async fn receive(
        &mut self,
        part: Part,
        start: Start,
        mut response: Response,
        total: Option<u64>,
    ) -> (Result<Attempt, AttemptError>, Option<Part>) {
        let (sender, receiver) = mpsc::channel(WAITING_CHUNKS);
        let mut to_come = match (&start, total) {
            (_, None) => None,
            (Start::Anew(_), Some(total)) => Some(total),
            (Start::GoOn { skip }, Some(total)) => Some((total + skip).saturating_sub(part.bytes())),
        };
        let (context, counter) = (Arc::clone(&self.context), Arc::clone(&self.task.counter));
        let writer = spawn_blocking(move || write(part, start, receiver, total, &context.free_space, &counter));
        let mut window = (Instant::now(), 0);
        let broken = loop {
            let chunk = tokio::select! {
                biased;
                () = wait_for_stop(&mut self.task.stop) => break Some(TransferError::Stopped.into()),
                chunk = self.context.web.chunk(&mut response) => chunk,
            };
            let chunk = match chunk {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break None,
                Err(error) => break Some(self.line(error)),
            };
            let bytes = chunk.len() as u64;
            self.task.counter.fetch(bytes);
            to_come = match to_come.map(|it| it.checked_sub(bytes)) {
                None => None,
                Some(Some(left)) => Some(left),
                Some(None) => break Some(odd(tr!("downloads-the-server-sends-more", name = self.task.name()), Cause::Server)),
            };
            if sender.send(chunk).await.is_err() {
                // The writer says why.
                break None;
            }
            window.1 += bytes;
            if window.0.elapsed() > self.context.retry_policy.stall {
                if window.1 < MIN_BYTES && to_come != Some(0) {
                    break Some(self.line(NoAnswer::QueuedJob(tr!("downloads-the-server-is-too").into())));
                }
                window = (Instant::now(), 0);
            }
        };
        drop((sender, response));
        let Ok((part, written)) = writer.await else {
            return (Err(lost().into()), None);
        };
        match (written, broken) {
            (Err(error), _) => (Err(error.file_error(&self.task).into()), Some(part)),
            (Ok(()), Some(bad)) => (Err(bad), Some(part)),
            (Ok(()), None) if total.is_some_and(|total| part.bytes() != total) => {
                (Err(self.line(NoAnswer::QueuedJob(tr!("downloads-the-connection-ended-too").into()))), Some(part))
            }
            (Ok(()), None) => (Ok(Attempt::Whole(Box::new(part))), None),
        }
    }

    /// Checks a file whose bytes are all there, and gives it its name; a file that is not the right
    /// one is gone afterwards.
    async fn settle(&self, part: Part) -> Result<Result<DownloadedFile, Failure>, TransferError> {
        self.task.counter.set_stage(Stage::Finishing);
        let (context, task) = (Arc::clone(&self.context), self.task.clone());
        let settled = blocking(move || {
            let metadata = part.metadata().cloned().unwrap_or_default();
            let sum = part.sum();
            let right = task.wanted.sha256.or(metadata.linked).is_none_or(|wanted| wanted == sum)
                && task.wanted.size.is_none_or(|bytes| bytes == part.bytes());
            if !right {
                part.discard()?;
                return Ok(Err(mismatch(task.name())));
            }
            if task.is_unknown()
                && let Err(advice) = (context.inspect)(part.file(), task.name())
            {
                part.discard()?;
                return Ok(Err(Failure { advice, cause: Cause::Mismatch }));
            }
            make_room(&context, &task.target())?;
            part.settle()?;
            let etag = metadata.strong_etag().map(str::to_owned);
            Ok(Ok(DownloadedFile::of(&task.target(), &task.wanted.source, sum, etag)?))
        });
        settled.await?.map_err(|error: io::Error| file_error(error.into(), &self.task))
    }

    fn line(&self, error: NoAnswer) -> AttemptError {
        match error {
            NoAnswer::QueuedJob(words) => AttemptError::Retry {
                failure: Failure::new(
                    Cause::Unreachable,
                    tr!("downloads-could-not-be-downloaded", name = self.task.name(), words),
                    tr!("downloads-check-the-connection-and-try-again-downloaded-data"),
                ),
                after: None,
                odd: false,
            },
            NoAnswer::Nonsense(words) => odd(tr!("downloads-could-not-be-downloaded", name = self.task.name(), words), Cause::Server),
            NoAnswer::Untrusted => {
                let sentence = tr!("downloads-could-not-be-downloaded", name = self.task.name(), words = NoAnswer::Untrusted);
                TransferError::Failed(Failure::new(Cause::Unreachable, sentence, tr!("downloads-check-the-date-of"))).into()
            }
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, TransferError> {
    spawn_blocking(work).await.map_err(|_| lost())
}

/// Returns once the job does not want its file any longer.
async fn wait_for_stop(stop: &mut watch::Receiver<bool>) {
    // Without a queue the file is not wanted either.
    let _ = stop.wait_for(|stop| *stop).await;
}

fn odd(sentence: String, cause: Cause) -> AttemptError {
    let hint = tr!("downloads-try-again-later-or");
    AttemptError::Retry { failure: Failure::new(cause, sentence, hint), after: None, odd: true }
}
