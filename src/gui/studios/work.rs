//! Searching, asking and keeping studios. Everything here blocks.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use atelier_core::advice::Advice;
use atelier_core::mailbox::Mailbox;
use atelier_core::stored_file::Unreadable;
use atelier_language::tr;
use atelier_peers::{Browser, KeptStudio, KeptStudios, Network, Offer, OfferedModel, Studio, StudioAddress, StudioLink, locate_studio};

use crate::gui::studios::state::Found;

/// Longest time until a search that is over ends.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Tells of studios as they come and go, until it is over.
pub(super) fn browse(network: Network, is_over: &AtomicBool, news: &Mailbox<Found>) {
    let mut browser = match Browser::start(network) {
        Ok(browser) => browser,
        Err(error) => return news.send(Err(error)),
    };
    while !is_over.load(Ordering::Acquire) {
        if browser.wait(POLL_INTERVAL) {
            news.send_replacing(Ok(browser.studios()), |_| true);
        }
    }
}

/// The studios that are kept.
pub(super) fn read(file: &Path) -> Result<KeptStudios, Advice> {
    KeptStudios::read(file).map_err(|error| unread(&error))
}

/// A studio that was connected to and is kept now.
#[derive(Debug)]
pub(super) struct Connected {
    pub(super) kept: KeptStudios,
    pub(super) studio: KeptStudio,
    pub(super) models: Vec<OfferedModel>,
}

/// Keeps a studio, once it has let this computer in. A token that is kept for this very address is
/// used where the link has none.
pub(super) fn connect(file: &Path, name: &str, link: StudioLink) -> Result<Connected, Advice> {
    let kept = read(file)?;
    let StudioLink { address, token } = link;
    let known = kept.at(&address);
    let name = known.map_or(name, |it| it.name.as_str()).to_owned();
    let token = token.or_else(|| known.and_then(|it| it.token.clone()));
    let asked = Studio::new(&name, address.clone(), token.clone()).map_err(|error| error.advice())?;
    let name = asked.name().to_owned();
    // A name in the network can be anybody's: nobody takes the place of one that is kept.
    let is_free = |kept: &KeptStudios| match kept.named(&name).filter(|it| it.address != address) {
        Some(other) => {
            Err(Advice::new(tr!("studios-a-studio-named-is", name = name, address = other.address), tr!("studios-forget-that-one-first")))
        }
        None => Ok(()),
    };
    is_free(&kept)?;
    let Offer { id, models } = asked.offer().map_err(|error| error.advice())?;
    // That took a while, in which others may have been kept or forgotten.
    let mut kept = read(file)?;
    is_free(&kept)?;
    let studio = KeptStudio { name, address, token, id };
    if !kept.keep(studio.clone()) {
        return Err(Advice::new(tr!("studios-too-many-studios-are"), tr!("studios-forget-one-first")));
    }
    write(&kept, file)?;
    Ok(Connected { kept, studio, models })
}

/// A kept studio that was asked for its models.
#[derive(Debug)]
pub(super) struct StudioAnswer {
    /// The list of kept studios and a sentence, where it has another address now.
    pub(super) moved: Option<(KeptStudios, StudioAddress, String)>,
    pub(super) models: Result<Vec<OfferedModel>, Advice>,
}

/// Asks a kept studio for its models; one that is not where it was is looked for.
pub(super) fn ask(file: &Path, studio: &KeptStudio, network: Network) -> StudioAnswer {
    let located = match locate_studio(studio, file, network) {
        Ok(located) => located,
        Err(error) => return StudioAnswer { moved: None, models: Err(error.advice()) },
    };
    let note = located.note();
    let KeptStudio { name, address, token, .. } = located.studio;
    let moved = note.and_then(|note| Some((read(file).ok()?, address.clone(), note)));
    let asked = Studio::new(&name, address, token).and_then(|it| it.offer());
    StudioAnswer { moved, models: asked.map(|offer| offer.models).map_err(|error| error.advice()) }
}

/// Forgets the studio of this name; the list as it is then.
pub(super) fn forget(file: &Path, name: &str) -> Result<KeptStudios, Advice> {
    let mut kept = read(file)?;
    // Another program of this person may have forgotten it already.
    if kept.forget(name) {
        write(&kept, file)?;
    }
    Ok(kept)
}

fn write(kept: &KeptStudios, file: &Path) -> Result<(), Advice> {
    let unwritten =
        |error: io::Error| Advice::new(tr!("studios-the-list-of-studios-cannot-be-saved", error), tr!("studios-check-the-folder-of"));
    kept.write(file).map_err(unwritten)
}

fn unread(error: &Unreadable) -> Advice {
    Advice::new(tr!("studios-the-list-of-studios", reason = error), tr!("studios-check-the-folder-of"))
}
