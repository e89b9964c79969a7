//! Which studio a word means: an address, one that is kept, or one of the network.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;

use atelier_peers::{AccessToken, Browser, KeptStudio, KeptStudios, Network, Studio, StudioAddress, StudioLink, locate_studio};

/// Longest search for a studio by its name.
const SEARCH_WITHIN: Duration = Duration::from_secs(5);

/// A studio that a word means. Its token is the one of the link or the one that was kept for this
/// very address, or for a studio that has proved to know it: a name in the network can be anybody's.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) name: String,
    pub(super) address: StudioAddress,
    pub(super) token: Option<AccessToken>,
    /// What the person should know: that it has another address.
    pub(super) note: Option<String>,
}

impl Located {
    pub(super) fn studio(&self) -> anyhow::Result<Studio> {
        Ok(Studio::new(&self.name, self.address.clone(), self.token.clone())?)
    }
}

/// Reads the studios that are kept.
pub(super) fn read_kept(file: &Path) -> anyhow::Result<KeptStudios> {
    KeptStudios::read(file).with_context(|| format!("the studios in {} cannot be used", file.display()))
}

/// Finds the studio of a name, an address or a link.
pub(super) fn locate(word: &str, file: &Path) -> anyhow::Result<Located> {
    let kept = read_kept(file)?;
    if let Some(studio) = kept.named(word) {
        let located = locate_studio(studio, file, Network::Local)?;
        let note = located.note();
        let KeptStudio { name, address, token, .. } = located.studio;
        return Ok(Located { name, address, token, note });
    }
    let (name, StudioLink { address, token }) = if StudioLink::is_address(word) {
        (String::new(), word.parse::<StudioLink>()?)
    } else {
        let found = Browser::start(Network::Local)?.find(word, SEARCH_WITHIN);
        let found = found.with_context(|| {
            format!("there is no studio named {word} in the network; list those that are there with: atelier studios, or give its address")
        })?;
        (found.name, StudioLink { address: found.address, token: None })
    };
    let known = kept.at(&address);
    let name = known.map_or(name, |it| it.name.clone());
    let token = token.or_else(|| known.and_then(|it| it.token.clone()));
    Ok(Located { name, address, token, note: None })
}
