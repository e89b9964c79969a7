//! Whether there is a newer version: one small signed file of the publisher, asked for once a week
//! where the person agreed.
//!
//! Nothing about the person or the machine is sent. The answer is worth nothing without the
//! publisher's signature, and a signed answer that is older than one that was seen before is a
//! replay. Nothing is downloaded or installed: a page is offered.

mod version;

use std::time::Duration;

use minisign_verify::{PublicKey, Signature};
use serde::Deserialize;

use atelier_downloads::{ProxyChoice, fetch};
use atelier_language::tr;
pub use version::Version;

/// Seconds between two checks: a week.
const INTERVAL_SECS: u64 = 7 * 24 * 60 * 60;
/// Longest time that the server may take for each of the two files.
const LIMIT: Duration = Duration::from_secs(20);
/// Largest answer, in bytes.
const MAX_BYTES: usize = 16 << 10;
/// Longest address of a page, in bytes.
const MAX_PAGE_BYTES: usize = 512;
/// The word by which a file for another product, signed with the same key, is told.
const PRODUCT: &str = "atelier";

/// Where versions are published, and by whose key they are signed.
#[derive(Clone, Debug)]
pub struct Feed {
    url: String,
    key: PublicKey,
    limit: Duration,
    /// The proxy between this machine and the address.
    pub proxy: ProxyChoice,
}

/// The newest version that is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub version: Version,
    /// The page from which it can be had.
    pub page: String,
}

/// A check that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// The file could not be fetched.
    #[error("{0}")]
    Fetch(String),
    /// The signature is not the publisher's, or the file is not what it should be.
    #[error("{}", tr!("studio-the-answer-is-not"))]
    NotGenuine,
    /// It was signed, and is older than what was seen before.
    #[error("{}", tr!("studio-the-answer-is-older"))]
    Replayed,
}

#[derive(Deserialize)]
struct Published {
    product: String,
    version: String,
    page: String,
}

impl Feed {
    /// The feed that this program was built with: `ATELIER_UPDATE_URL` names the file, whose
    /// signature has the same name with `.minisig` behind, and `ATELIER_UPDATE_KEY` is the
    /// publisher's public key, the second line of a minisign `.pub` file. Without both nothing is
    /// ever asked.
    #[must_use]
    pub fn of_build() -> Option<Self> {
        // A hosted build passes empty ones where none are configured.
        let [url, key] = [option_env!("ATELIER_UPDATE_URL"), option_env!("ATELIER_UPDATE_KEY")].map(|it| it.filter(|it| !it.is_empty()));
        let (url, key) = (url?, key?);
        Self::new(url, key).inspect_err(|error| tracing::error!("this program was built with a wrong ATELIER_UPDATE_KEY: {error}")).ok()
    }

    /// A feed at this address, signed by this key.
    ///
    /// # Errors
    /// If the key is none.
    pub fn new(url: &str, key: &str) -> Result<Self, minisign_verify::Error> {
        Ok(Self { url: url.to_owned(), key: PublicKey::from_base64(key)?, limit: LIMIT, proxy: ProxyChoice::System })
    }

    /// Asks for the newest version. `seen` is the newest one that was ever told. Blocks.
    ///
    /// # Errors
    /// If there is no answer, or none that can be believed.
    pub fn check(&self, seen: Option<Version>) -> Result<Release, UpdateError> {
        let get =
            |url: &str| fetch(url, MAX_BYTES, self.limit, &self.proxy).map_err(|failure| UpdateError::Fetch(failure.advice.to_string()));
        let text = get(&self.url)?;
        let signature = get(&format!("{}.minisig", self.url))?;
        let release = self.read(&text, &signature).ok_or(UpdateError::NotGenuine)?;
        if seen.is_some_and(|seen| release.version < seen) { Err(UpdateError::Replayed) } else { Ok(release) }
    }

    /// The version in a signed file; `None` where signature or file are not what they should be.
    fn read(&self, text: &[u8], signature: &[u8]) -> Option<Release> {
        let signature = Signature::decode(std::str::from_utf8(signature).ok()?).ok()?;
        self.key.verify(text, &signature, false).ok()?;
        let published: Published = serde_json::from_slice(text).ok()?;
        let is_page = published.page.starts_with("https://")
            && published.page.len() <= MAX_PAGE_BYTES
            && !published.page.contains(|c: char| c.is_control() || c.is_whitespace());
        let version = published.version.parse().ok()?;
        (published.product == PRODUCT && is_page).then_some(Release { version, page: published.page })
    }
}

/// The person's answer to the question whether Atelier may look for new versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UpdateChoice {
    /// Not asked yet.
    #[default]
    Unasked,
    /// Never by itself.
    Off,
    /// Once a week.
    Weekly,
}

/// What is kept of updates from one start to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateSettings {
    pub choice: UpdateChoice,
    /// The last check that was answered, in seconds since 1970.
    pub checked_secs: u64,
    /// The newest version that was ever told.
    pub seen: Option<Version>,
}

impl UpdateSettings {
    /// True if it is time to check. A clock that was set back does not stop checks for ever.
    #[must_use]
    pub fn is_due(&self, now_secs: u64) -> bool {
        let since = now_secs.checked_sub(self.checked_secs);
        self.choice == UpdateChoice::Weekly && since.is_none_or(|since| since >= INTERVAL_SECS)
    }
}

#[cfg(test)]
mod tests;
