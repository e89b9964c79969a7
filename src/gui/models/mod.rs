//! The Models view's state: what there is, what of it is shown, what comes in, and what was asked.
//!
//! Plain data. What is known of the disk, the catalogue and the downloads comes from the keeper's thread ([`crate::studio::library_service`]) as a
//! whole [`LibrarySnapshot`]; which cards are shown is worked out anew only when something changed ([`ModelsView::refresh`]). Not here: files, network,
//! threads, drawing.

mod command;
mod filter;
mod fit;
pub(crate) mod fitting;
pub mod queue;
mod told;
pub(crate) mod update;
pub(crate) mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

pub use crate::studio::library_service::{DownloadsState, FileCheck, FolderSummary, LibrarySnapshot, RemovalPreview, TokenState};
pub use atelier_library::downloads::{Cause, Entry, HubFile, Repository, Stage, Status};
pub use atelier_library::{Availability, CardVariant, ModelCard, ModelKind};
pub use command::ModelsCommand;
pub use filter::{Around, Filter, Fitting, Shown, Sort};
pub use fit::{Fits, Machine, Predicted};
pub use told::{Hub, Question, Then};

use atelier_engine::Residency;
use atelier_library::Licence;

/// The state of the Models view.
pub type State = ModelsView;

/// The state of the Models view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelsView {
    /// What there is.
    pub library: Arc<LibrarySnapshot>,
    /// Whether anything is known yet.
    pub known: bool,
    /// What is searched for.
    pub search: String,
    /// Which are shown.
    pub filter: Filter,
    /// In which order.
    pub sort: Sort,
    /// Places in the shelf's cards of those that are shown, in their order.
    pub shown: Vec<usize>,
    /// How many of the first cards shown are good first models, for who has none yet.
    pub welcome: usize,
    /// What is known beside each card.
    pub around: Vec<Around>,
    /// The card with the cursor.
    pub selected: Option<String>,
    /// Whether its details are shown.
    pub open: bool,
    /// The variant that was chosen, by model.
    pub variants: BTreeMap<String, String>,
    /// The queue of downloads, in its order.
    pub queue: Vec<Entry>,
    /// Whether downloads can be had.
    pub downloads: DownloadsState,
    /// What Hugging Face was asked.
    pub hub: Hub,
    /// What is typed where a model can be added.
    pub typed: String,
    /// What is typed where a token can be pasted.
    pub typed_token: String,
    /// A question about terms that waits for an answer.
    pub question: Option<Question>,
    /// Models whose terms were accepted just now; the keeper has yet to say so.
    pub accepted: BTreeSet<String>,
    /// A model that would be taken away, once the person says so.
    pub removal: Option<RemovalPreview>,
    /// Checks that run or were done, by model.
    pub checks: BTreeMap<String, FileCheck>,
    /// This machine's memory.
    pub memory: Option<Machine>,
    /// Whether models fit, by their ids, where the engine was asked.
    pub predicted: BTreeMap<String, Predicted>,
    /// Which of the cards shown are on the screen: from this place to before that one.
    pub seen: (usize, usize),
    /// Asks the search field to take the keyboard in the next frame.
    pub focus_search: bool,
    /// Asks the selected card to take the keyboard, and to come into view, in the next frame.
    pub focus_card: bool,
    /// Asks the field for a token to come into view and take the keyboard.
    pub focus_token: bool,
    /// Whether the view is on the screen.
    pub on_screen: bool,
    pub(crate) fitting: fitting::Fitting,
    in_memory: Vec<PathBuf>,
    coming: Vec<String>,
    stale: bool,
}

impl ModelsView {
    /// The view before anything is known but the built-in model. `library`: whether there is one to be known.
    #[must_use]
    pub fn new(builtin: Option<ModelCard>, has_library: bool) -> Self {
        let no_home = "This system names no folder of yours in which models could be kept. Set ATELIER_HOME to one.";
        let downloads = if has_library { DownloadsState::Starting } else { DownloadsState::Refused(no_home.into()) };
        let library = Arc::new(LibrarySnapshot { cards: builtin.into_iter().collect(), ..LibrarySnapshot::default() });
        Self { library, downloads, known: !has_library, stale: true, ..Self::default() }
    }

    /// The keeper knows more.
    pub fn set_library(&mut self, library: Arc<LibrarySnapshot>) {
        self.known |= library.listed;
        self.library = library;
        self.stale = true;
    }

    /// The queue has changed.
    pub fn set_queue(&mut self, queue: Vec<Entry>) {
        let ids: Vec<String> = queue.iter().map(|it| it.id.clone()).collect();
        self.stale |= ids != self.coming;
        (self.queue, self.coming) = (queue, ids);
    }

    /// The engine was asked whether a model fits; `None`: that is no longer known. What is on the screen stays where it is: the order is
    /// worked out anew with the next change.
    pub fn set_predicted(&mut self, id: &str, predicted: Option<Predicted>) {
        let card = self.library.cards.iter().position(|it| it.id == id);
        let by_size = || card.and_then(|at| Some(self.memory?.fits(self.library.cards.get(at)?.bytes))).unwrap_or_default();
        let fits = predicted.as_ref().map_or_else(by_size, |it| it.fits);
        if let Some(around) = card.and_then(|at| self.around.get_mut(at)) {
            around.fits = fits;
        }
        match predicted {
            Some(predicted) => self.predicted.insert(id.to_owned(), predicted),
            None => self.predicted.remove(id),
        };
    }

    /// What is known of whether a card fits, as a sentence.
    #[must_use]
    pub fn why_fits(&self, card: &ModelCard, around: Around) -> &str {
        self.predicted.get(&card.id).map_or_else(|| around.fits.by_size(), |it| &it.sentence)
    }

    /// Something that decides what is shown has changed.
    pub fn touch(&mut self) {
        self.stale = true;
    }

    /// Works out what is shown, where something changed. True where it did.
    pub fn refresh(&mut self, memory: Option<Machine>, residency: &Residency) -> bool {
        let mains = residency.models.iter().filter_map(|it| it.files.iter().next().map(|(_, path)| path));
        let same = mains.eq(self.in_memory.iter().map(PathBuf::as_path));
        if !self.stale && same && memory == self.memory {
            return false;
        }
        (self.stale, self.memory) = (false, memory);
        self.in_memory = residency.models.iter().filter_map(|it| it.files.iter().next().map(|(_, path)| path.to_owned())).collect();
        let around = self.library.cards.iter().map(|card| Around {
            fits: match (self.predicted.get(&card.id), memory) {
                (Some(predicted), _) => predicted.fits,
                (None, Some(memory)) => memory.fits(card.bytes),
                (None, None) => Fits::Unknown,
            },
            in_memory: residency.models.iter().any(|it| card.is_of(&it.files)),
            coming: card.job_ids.iter().any(|job| self.coming.contains(job)),
        });
        self.around = around.collect();
        self.shown = filter::order(&self.library.cards, &self.around, &self.search, &self.filter, self.sort);
        self.welcome = 0;
        if self.is_empty() && self.shows_all() && self.sort == Sort::FitsFirst {
            self.put_first_choices_first();
        }
        if self.selected.as_deref().is_some_and(|id| self.card(id).is_none()) {
            (self.selected, self.open) = (None, false);
        }
        true
    }

    fn put_first_choices_first(&mut self) {
        let library = Arc::clone(&self.library);
        let rank = |at: &usize| {
            let card = library.cards.get(*at)?;
            let of_choices = || library.first_choices.iter().position(|it| *it == card.id).map(|it| it + 1);
            if card.availability == Availability::BuiltIn { Some(0) } else { of_choices() }
        };
        self.shown.sort_by_key(|at| rank(at).unwrap_or(usize::MAX));
        self.welcome = self.shown.iter().filter(|at| rank(at).is_some()).count();
    }

    /// The card of this id.
    #[must_use]
    pub fn card(&self, id: &str) -> Option<&ModelCard> {
        self.library.cards.iter().find(|it| it.id == id)
    }

    /// The card whose details are shown.
    #[must_use]
    pub fn opened(&self) -> Option<&ModelCard> {
        self.selected.as_deref().filter(|_| self.open).and_then(|id| self.card(id))
    }

    /// What is known beside a card.
    #[must_use]
    pub fn around(&self, id: &str) -> Around {
        let at = self.library.cards.iter().position(|it| it.id == id);
        at.and_then(|at| self.around.get(at)).copied().unwrap_or_default()
    }

    /// The download of a card, the first in the queue's order.
    #[must_use]
    pub fn job(&self, card: &ModelCard) -> Option<&Entry> {
        self.queue.iter().find(|entry| card.job_ids.contains(&entry.id))
    }

    /// Whether nothing was chosen to leave models out.
    #[must_use]
    pub fn shows_all(&self) -> bool {
        self.search.trim().is_empty() && self.filter.is_open()
    }

    /// Whether there is nothing on this machine but the built-in model.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known && !self.library.cards.iter().any(|it| it.availability.is_here() && it.availability != Availability::BuiltIn)
    }

    /// The name by which a card is downloaded: its id, and the variant that was chosen.
    #[must_use]
    pub fn name_to_get(&self, card: &ModelCard) -> String {
        match self.variants.get(&card.id) {
            Some(variant) if card.variants.iter().any(|it| it.name == *variant) => format!("{}:{variant}", card.id),
            _ => card.id.clone(),
        }
    }

    /// The variant that would be downloaded.
    #[must_use]
    pub fn variant<'a>(&self, card: &'a ModelCard) -> Option<&'a CardVariant> {
        let chosen = self.variants.get(&card.id).map_or("", String::as_str);
        card.variants.iter().find(|it| it.name == chosen).or(card.variants.first())
    }

    /// Moves the cursor by so many cards; the first step begins at the first card.
    pub fn step(&mut self, by: isize) {
        let ids = |at: usize| self.shown.get(at).and_then(|at| self.library.cards.get(*at)).map(|it| it.id.clone());
        let now = self
            .selected
            .as_deref()
            .and_then(|id| self.shown.iter().position(|at| self.library.cards.get(*at).is_some_and(|it| it.id == id)));
        let last = self.shown.len().saturating_sub(1);
        let next = match now {
            Some(now) => {
                let next = now.saturating_add_signed(by);
                if next > last || (by < 0 && now < by.unsigned_abs()) { now } else { next }
            }
            None => 0,
        };
        self.selected = ids(next).or_else(|| self.selected.clone());
        self.focus_card = true;
    }

    /// Whether this model's terms are to be shown before it is used.
    #[must_use]
    pub fn asks(&self, card: &ModelCard) -> bool {
        let asks = card.licence.as_ref().is_some_and(Licence::is_pending);
        let accepted = |id: &String| self.accepted.contains(id) || self.library.settings.accepted.contains(id);
        asks && !card.job_ids.iter().chain([&card.id]).any(accepted)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A card of the catalogue, for tests.
    pub(in crate::gui::models) fn card(id: &str, name: &str, bytes: Option<u64>) -> ModelCard {
        let card = ModelCard { id: id.into(), name: name.into(), kind: ModelKind::Model, bytes, ..ModelCard::default() };
        ModelCard { job_ids: vec![id.into()], ..card }.with_search_text()
    }

    fn view() -> ModelsView {
        let mut view = ModelsView::new(None, true);
        let cards = (0..5).map(|n| card(&format!("m{n}"), &format!("Model {n}"), Some(n))).collect();
        view.set_library(Arc::new(LibrarySnapshot { cards, listed: true, ..LibrarySnapshot::default() }));
        assert!(view.refresh(None, &Residency::default()));
        view
    }

    #[test]
    fn what_is_shown_is_worked_out_only_when_something_changed() {
        let mut view = view();
        assert!(!view.refresh(None, &Residency::default()));
        view.search = "model 3".into();
        view.touch();
        assert!(view.refresh(None, &Residency::default()));
        assert_eq!(view.shown, [3]);
        let memory = Some(Machine { graphics: None, ram: 1 << 40 });
        assert!(view.refresh(memory, &Residency::default()));
        assert_eq!(view.around("m3").fits, Fits::Fits);
    }

    #[test]
    fn the_cursor_stays_among_the_cards() {
        let mut view = view();
        let mut at = |by: isize| {
            view.step(by);
            view.selected.clone().unwrap()
        };
        assert_eq!([at(1), at(1), at(3), at(3), at(-3), at(-3)], ["m0", "m1", "m4", "m4", "m1", "m1"]);
    }

    #[test]
    fn a_variant_is_downloaded_by_the_name_that_was_chosen() {
        let mut view = view();
        let mut card = card("m9", "M", None);
        let variant =
            |name: &str| CardVariant { name: name.into(), id: String::new(), description: String::new(), bytes: None, on_disk: false };
        card.variants = vec![variant(""), variant("Q4")];
        assert_eq!(view.name_to_get(&card), "m9");
        view.variants.insert("m9".into(), "Q4".into());
        assert_eq!((view.name_to_get(&card).as_str(), view.variant(&card).unwrap().name.as_str()), ("m9:Q4", "Q4"));
    }
}
