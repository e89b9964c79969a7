//! Settings of the queue, and the errors of its interface.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use atelier_core::advice::Advice;
use atelier_core::stored_file::Unreadable;
use atelier_language::tr;

use super::space;
use super::token::{Token, TokenStore};

/// The server of models, where the environment names no other.
const ENDPOINT: &str = "https://huggingface.co";
/// Bytes that are free where a path is.
pub type FreeSpace = Arc<dyn Fn(&Path) -> io::Result<u64> + Send + Sync>;
/// Refuses bytes that a file of this name cannot have; the file is open, and its name is yet to
/// come.
pub type Inspect = Arc<dyn Fn(&File, &str) -> Result<(), Advice> + Send + Sync>;

/// Settings of the queue.
#[derive(Clone)]
pub struct Options {
    /// The folder in which the queue is remembered.
    pub journal: PathBuf,
    /// The folder of models; nothing is written outside it.
    pub models_root: PathBuf,
    /// Files that come at the same time.
    pub at_once: usize,
    /// The token for the endpoint.
    pub token: Option<Token>,
    /// The server of models; the token goes there and nowhere else.
    pub endpoint: String,
    /// The proxy.
    pub proxy: ProxyChoice,
    /// Timeouts and retries.
    pub retry_policy: RetryPolicy,
    /// Tells how much is free on a disk.
    pub free_space: FreeSpace,
    /// Looks at what a link brought of which neither size nor sum was known: servers answer with
    /// an error's text in a file's place.
    pub inspect: Inspect,
}

impl Options {
    /// The usual ones: three files at once; `HF_ENDPOINT`, tokens and proxies as the environment
    /// has them. Reads files, and the keyring where a token was put there.
    #[must_use]
    pub fn new(journal: PathBuf, models_root: PathBuf) -> Self {
        let endpoint = std::env::var("HF_ENDPOINT").ok().filter(|it| !it.is_empty());
        Self {
            token: Token::find(&TokenStore::new(&journal)),
            journal,
            models_root,
            at_once: 3,
            endpoint: endpoint.unwrap_or_else(|| ENDPOINT.into()),
            proxy: ProxyChoice::System,
            retry_policy: RetryPolicy::default(),
            free_space: Arc::new(space::free_bytes),
            inspect: Arc::new(|_, _| Ok(())),
        }
    }
}

/// By which way requests go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyChoice {
    /// As the system and the environment (`HTTPS_PROXY`, `NO_PROXY` ...) say.
    #[default]
    System,
    /// Straight.
    None,
    /// Through the proxy at this address.
    Address(String),
}

/// Timeouts and retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// For a connection.
    pub connect: Duration,
    /// For the next bytes.
    pub stall: Duration,
    /// Before the second try; each further wait is twice as long.
    pub first_wait: Duration,
    /// No wait is longer than this, unless the server asks for it.
    pub longest_wait: Duration,
    /// The longest wait that a server may ask for; one that asks for more fails the job.
    pub longest_asked: Duration,
    /// Tries in a row that bring nothing, before the job fails.
    pub tries: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            stall: Duration::from_secs(30),
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_mins(1),
            longest_asked: Duration::from_mins(10),
            tries: 8,
        }
    }
}

impl RetryPolicy {
    /// The wait after so many failed tries. `chance` is from 0 to 1: many who failed together
    /// should not come back together.
    pub(super) fn wait(&self, tries: u32, asked: Option<Duration>, chance: f64) -> Duration {
        if let Some(asked) = asked {
            return asked;
        }
        let doubled = self.first_wait.saturating_mul(1u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(self.longest_wait).mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0))
    }
}

/// Downloads cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another process downloads already.
    #[error("{}", tr!("downloads-another-atelier-is-downloading"))]
    InUse,
    /// The folder of the journal cannot be used.
    #[error("{}", tr!("downloads-cannot-be-used-check", path = path.display(), source))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The list of downloads cannot be read now, or is of a newer version.
    #[error("{}", tr!("downloads-is-left-as-it", path = path.display(), source))]
    Journal {
        /// The list.
        path: PathBuf,
        /// The cause.
        source: Unreadable,
    },
    /// The endpoint, the proxy or the system's certificates cannot be used.
    #[error("{0}")]
    Network(String),
}

/// The queue cannot take a command now, or the job makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// Too many commands wait.
    #[error("{}", tr!("downloads-too-many-requests-at"))]
    Full,
    /// The queue's thread has ended.
    #[error("{}", tr!("downloads-the-downloads-have-stopped"))]
    Gone,
    /// The job cannot be done.
    #[error("{0}")]
    Job(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit_and_never_meet() {
        let retry_policy = RetryPolicy::default();
        let secs = |tries, chance| retry_policy.wait(tries, None, chance).as_secs_f64();
        assert_eq!((secs(1, 1.0), secs(2, 1.0), secs(5, 1.0), secs(7, 1.0), secs(400, 1.0)), (1.0, 2.0, 16.0, 60.0, 60.0));
        assert_eq!((secs(1, 0.0), secs(7, 0.0)), (0.5, 30.0));
        assert_eq!(retry_policy.wait(1, Some(Duration::from_secs(90)), 0.3), Duration::from_secs(90));
    }
}
