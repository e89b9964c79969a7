//! State of the Models view: the library's last snapshot, the cards that are shown, the download
//! queue, open dialogs.
//!
//! Plain data. The snapshot comes from the library service as a whole ([`LibrarySnapshot`]); the
//! list of shown cards is recomputed only after a change ([`State::refresh`]). Not here: files,
//! network, threads, drawing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use atelier_core::time::MachineRates;
use atelier_downloads::{HubFile, JobSnapshot, Repository};
use atelier_engine::Residency;
use atelier_language::tr;
use atelier_library::{Availability, CardVariant, Licence, Machine, ModelCard};

use crate::gui::models::filter::{CardStatus, Filter, Sort, visible_cards};
use crate::gui::models::fit::{FitLevel, FitPrediction, MachineMemory, PictureTime};
use crate::gui::models::fit_queries::FitQueries;
use atelier_core::recipe::TensorType;
use atelier_studio::library_service::{DownloadsState, FileCheck, LibrarySnapshot, RemovalPreview};
use atelier_studio::model_copy::CopySizes;

/// State of the Models view.
#[derive(Default)]
pub struct State {
    pub library: Arc<LibrarySnapshot>,
    /// The folders were listed once, or there is no library.
    pub is_known: bool,
    /// Text of the search field.
    pub search: String,
    /// Filter of the cards.
    pub filter: Filter,
    /// Order of the cards.
    pub sort: Sort,
    /// Indices into the library's cards of those that are shown, in their order.
    pub shown: Vec<usize>,
    /// Ids of the cards that are shown, in their order.
    shown_ids: Vec<String>,
    /// Number of recommended first models at the start of `shown`; zero once the person has a
    /// model.
    pub starter_count: usize,
    /// Status of each card of the library.
    pub statuses: Vec<CardStatus>,
    /// Id of the card with the cursor.
    pub selected: Option<String>,
    /// The details of the selected card are shown.
    pub is_open: bool,
    /// Names of chosen variants, by model.
    pub chosen_variants: BTreeMap<String, String>,
    /// The download queue, in its order.
    pub queue: Vec<JobSnapshot>,
    pub downloads: DownloadsState,
    /// The Hugging Face page.
    pub hub: HubPage,
    /// Text of the Add field.
    pub add_text: String,
    /// Text of the token field.
    pub token_text: String,
    /// The open licence prompt.
    pub licence_prompt: Option<LicencePrompt>,
    /// The open question before a large download.
    pub size_prompt: Option<SizePrompt>,
    /// Name in the catalogue and name on the screen of the model whose download, once it was
    /// agreed to, is followed by a picture.
    pub(crate) generates_with: Option<(String, String)>,
    /// Ids of models whose licence was accepted since the last snapshot that says so.
    pub accepted: BTreeSet<String>,
    /// The open confirmation of a deletion.
    pub removal: Option<RemovalPreview>,
    /// The open dialog for a smaller copy.
    pub copy_dialog: Option<CopyDialog>,
    /// The smaller copy that is being made.
    pub running_copy: Option<RunningCopy>,
    /// Checks that run or ended, by model.
    pub checks: BTreeMap<String, FileCheck>,
    /// Memory of this machine; `None` until its devices are known.
    pub memory: Option<MachineMemory>,
    /// The machine as the library service knows it.
    pub(crate) machine: Option<Machine>,
    /// Rates of the devices that were measured.
    pub(crate) rates: MachineRates,
    /// Answers of the engine about memory, by model.
    pub predictions: BTreeMap<String, FitPrediction>,
    /// The engine's estimates behind the predictions, and the pending one.
    pub(crate) fit_queries: FitQueries,
    /// Range of `shown` that is on the screen: first index, and the one after the last.
    pub visible: (usize, usize),
    /// The search field takes the keyboard in the next frame.
    pub focus_search: bool,
    /// The selected card takes the keyboard and scrolls into view in the next frame.
    pub focus_card: bool,
    /// The token field takes the keyboard and scrolls into view in the next frame.
    pub focus_token: bool,
    /// The view was on the screen in the last frame.
    pub was_on_screen: bool,
    /// First files of the models in memory.
    resident_files: Vec<PathBuf>,
    queued_ids: Vec<String>,
    is_dirty: bool,
    /// What the order on the screen was made from; while it stays, cards keep their places.
    order: Option<Order>,
    /// The library was read to its end once.
    was_complete: bool,
}

/// What the order of the cards is made from, beside the cards themselves.
#[derive(Clone, Debug, PartialEq)]
struct Order {
    search: String,
    filter: Filter,
    sort: Sort,
    memory: Option<MachineMemory>,
    starter_ids: Vec<String>,
    /// It is known how long pictures take here.
    is_timed: bool,
    /// The folders were listed, and read to their end.
    is_known: bool,
    was_complete: bool,
}

/// The Hugging Face page: search results, or the files of one repository.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HubPage {
    /// Text of the search, empty where a link led here; `None`: the page is closed.
    pub query: Option<String>,
    /// Repositories, or a sentence; `None` until the answer is there.
    pub results: Option<Result<Vec<Repository>, String>>,
    pub repository: Option<String>,
    /// Its model files, or a sentence; `None` until the answer is there.
    pub files: Option<Result<Vec<HubFile>, String>>,
}

/// Dialog that shows a licence before its model is downloaded or used.
#[derive(Clone, Debug, PartialEq)]
pub struct LicencePrompt {
    /// Id of the model.
    pub id: String,
    /// Display name of the model.
    pub name: String,
    pub licence: Licence,
    /// Action that follows acceptance.
    pub next: LicensedAction,
}

/// Question before a download that takes long and much space.
#[derive(Clone, Debug, PartialEq)]
pub struct SizePrompt {
    /// Display name of what is downloaded.
    pub name: String,
    pub bytes: u64,
    /// Bytes that are free in the folder of downloaded models; `None` until the disk has answered.
    pub free_bytes: Option<u64>,
    /// Time of a picture with it on this machine.
    pub time: Option<PictureTime>,
    pub(crate) download: Download,
}

/// What is downloaded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Download {
    /// The catalogue's model of this name: `id` or `id:variant`.
    Model(String),
    /// What this loose model lacks.
    Missing(String),
    /// A file of this repository.
    HubFile(String, HubFile),
}

/// Action that needs an accepted licence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LicensedAction {
    /// Download the model by this name: `id` or `id:variant`.
    Download(String),
    /// Download the missing files of this loose model.
    DownloadMissing(String),
    Use,
}

/// Dialog for a smaller copy of a model's main file, or of a part that is a model's alone.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyDialog {
    /// The file.
    pub original: PathBuf,
    /// Display name of its model.
    pub name: String,
    /// Terms of the model, where they are known.
    pub licence: Option<String>,
    /// Bytes of its copies, or a sentence; `None` until they are counted.
    pub sizes: Option<Result<CopySizes, String>>,
    /// Type of the copy that is made.
    pub chosen: TensorType,
}

/// A smaller copy that is being made.
#[derive(Clone, Debug)]
pub struct RunningCopy {
    /// Display name of the model.
    pub name: String,
    pub progress: Arc<CopyProgress>,
}

/// Progress of a copy, which another thread writes.
#[derive(Debug, Default)]
pub struct CopyProgress {
    pub done_bytes: AtomicU64,
    pub all_bytes: AtomicU64,
    /// Stop at the next chance.
    pub is_stopped: AtomicBool,
}

impl State {
    /// State before the first snapshot: only the built-in model is known. `has_library` is false
    /// where no home folder exists.
    #[must_use]
    pub fn new(builtin: Option<ModelCard>, has_library: bool) -> Self {
        let no_home = tr!("models-no-folder-for-models");
        let downloads = if has_library { DownloadsState::Starting } else { DownloadsState::Refused(no_home.into()) };
        let library = Arc::new(LibrarySnapshot { cards: builtin.into_iter().collect(), ..LibrarySnapshot::default() });
        Self { library, downloads, is_known: !has_library, is_dirty: true, ..Self::default() }
    }

    pub fn set_library(&mut self, library: Arc<LibrarySnapshot>) {
        self.is_known |= library.listed;
        self.library = library;
        self.is_dirty = true;
    }

    /// Replaces the download queue.
    pub fn set_queue(&mut self, queue: Vec<JobSnapshot>) {
        let ids: Vec<String> = queue.iter().map(|it| it.id.clone()).collect();
        self.is_dirty |= ids != self.queued_ids;
        (self.queue, self.queued_ids) = (queue, ids);
    }

    /// Sets or removes the prediction of a model. Cards keep their places until the next refresh.
    pub fn set_prediction(&mut self, id: &str, prediction: Option<FitPrediction>) {
        let index = self.library.cards.iter().position(|it| it.id == id);
        let by_size = || index.and_then(|at| Some(self.memory?.fits(self.library.cards.get(at)?.bytes))).unwrap_or_default();
        let fit = prediction.as_ref().map_or_else(by_size, |it| it.level);
        if let Some(status) = index.and_then(|at| self.statuses.get_mut(at)) {
            status.fit = fit;
        }
        match prediction {
            Some(prediction) => self.predictions.insert(id.to_owned(), prediction),
            None => self.predictions.remove(id),
        };
    }

    /// Sentence behind a card's fit level.
    #[must_use]
    pub fn fit_sentence(&self, card: &ModelCard, status: CardStatus) -> &str {
        self.predictions.get(&card.id).map_or_else(|| status.fit.by_size(), |it| &it.sentence)
    }

    /// Predicted time of a picture with a model: the engine's where its files are here, else about
    /// what models of its family take.
    #[must_use]
    pub fn picture_time(&self, card: &ModelCard) -> Option<PictureTime> {
        if let Some(prediction) = self.predictions.get(&card.id) {
            return prediction.time;
        }
        let secs = self.library.about_secs.get(&card.id)?;
        Some(PictureTime { millis: (secs * 1000.0) as u64, size_px: card.defaults.width.zip(card.defaults.height)? })
    }

    /// The name of a card; where others have it too, with the folder or file that tells them apart.
    #[must_use]
    pub fn telling_name(&self, card: &ModelCard) -> String {
        // A file that nobody knows a use for has its path alone, which is its id.
        let alone = |card: &ModelCard| card.is_loose_file.then(|| PathBuf::from(&card.id));
        let path = |card: &ModelCard| card.files.iter().find_map(|file| file.path.clone()).or_else(|| alone(card));
        let Some(own) = path(card) else { return card.name.clone() };
        let others = self.library.cards.iter().filter(|it| it.id != card.id && it.name == card.name);
        if others.clone().next().is_none() {
            return card.name.clone();
        }
        let others: Vec<PathBuf> = others.filter_map(path).collect();
        let tells =
            |part: &dyn Fn(&Path) -> Option<String>| part(&own).filter(|it| others.iter().all(|other| part(other).as_ref() != Some(it)));
        let folder = |path: &Path| path.parent().and_then(Path::file_name).map(|it| it.to_string_lossy().into_owned());
        let end = |count: usize| {
            move |path: &Path| {
                let parts: Vec<_> = path.components().collect();
                let end = parts.get(parts.len().checked_sub(count)?..)?;
                Some(end.iter().collect::<PathBuf>().to_string_lossy().into_owned())
            }
        };
        let part = tells(&folder).or_else(|| (1..own.components().count()).find_map(|count| tells(&end(count))));
        part.map_or_else(|| card.name.clone(), |part| format!("{} ({part})", card.name))
    }

    /// Has the next [`Self::refresh`] recompute the shown cards.
    pub fn mark_dirty(&mut self) {
        self.is_dirty = true;
    }

    /// Recomputes statuses and shown cards after a change; false where nothing changed.
    pub fn refresh(&mut self, memory: Option<MachineMemory>, residency: &Residency) -> bool {
        let resident = || residency.models.iter().filter_map(|it| it.files.iter().next().map(|(_, path)| path));
        let same = resident().eq(self.resident_files.iter().map(PathBuf::as_path));
        if !self.is_dirty && same && memory == self.memory {
            return false;
        }
        (self.is_dirty, self.memory) = (false, memory);
        self.resident_files = resident().map(ToOwned::to_owned).collect();
        let statuses = self.library.cards.iter().map(|card| CardStatus {
            fit: match (self.predictions.get(&card.id), memory) {
                (Some(prediction), _) => prediction.level,
                (None, Some(memory)) => memory.fits(card.bytes),
                (None, None) => FitLevel::Unknown,
            },
            in_memory: residency.models.iter().any(|it| card.is_of(&it.files)),
            is_queued: card.job_ids.iter().any(|id| self.queued_ids.contains(id)),
        });
        self.statuses = statuses.collect();
        let before = std::mem::take(&mut self.shown_ids);
        self.shown = visible_cards(&self.library.cards, &self.statuses, &self.search, &self.filter, self.sort);
        self.was_complete |= self.library.complete;
        let order = Order {
            search: self.search.clone(),
            filter: self.filter.clone(),
            sort: self.sort,
            memory,
            starter_ids: self.library.starter_ids.clone(),
            is_timed: !self.library.about_secs.is_empty(),
            is_known: self.is_known,
            was_complete: self.was_complete,
        };
        if self.order.as_ref() == Some(&order) {
            self.keep_places(&before);
        } else {
            self.order = Some(order);
            self.starter_count = 0;
            if self.has_no_models() && self.shows_all() && self.sort == Sort::FitsFirst {
                self.put_starters_first();
            }
        }
        self.shown_ids = self.shown.iter().filter_map(|at| Some(self.library.cards.get(*at)?.id.clone())).collect();
        if self.selected.as_deref().is_some_and(|id| self.card(id).is_none()) {
            (self.selected, self.is_open) = (None, false);
        }
        true
    }

    /// Has the next [`Self::refresh`] order the cards anew: the person asks for an order, or was
    /// elsewhere.
    pub fn forget_places(&mut self) {
        (self.order, self.is_dirty) = (None, true);
    }

    /// Puts the cards that were shown before back where they were; new ones stand behind those that
    /// the order puts before them.
    fn keep_places(&mut self, before: &[String]) {
        let cards = &self.library.cards;
        let index: BTreeMap<&str, usize> = self.shown.iter().filter_map(|at| Some((cards.get(*at)?.id.as_str(), *at))).collect();
        let starters = before.iter().take(self.starter_count).filter(|id| index.contains_key(id.as_str())).count();
        let mut places: Vec<usize> = before.iter().filter_map(|id| index.get(id.as_str()).copied()).collect();
        let known: BTreeSet<usize> = places.iter().copied().collect();
        for (nth, at) in self.shown.iter().enumerate().filter(|(_, at)| !known.contains(at)) {
            let previous = nth.checked_sub(1).and_then(|it| self.shown.get(it));
            let place = previous.and_then(|it| places.iter().position(|other| other == it)).map_or(0, |it| it + 1);
            places.insert(place.max(starters), *at);
        }
        (self.shown, self.starter_count) = (places, starters);
    }

    /// The built-in model, then the recommended ones, the quickest first.
    fn put_starters_first(&mut self) {
        let library = Arc::clone(&self.library);
        let mut by_time: Vec<&String> = library.starter_ids.iter().collect();
        let secs = |id: &String| library.about_secs.get(id).copied().unwrap_or(f64::INFINITY);
        by_time.sort_by(|one, other| secs(one).total_cmp(&secs(other)));
        let rank = |at: &usize| {
            let card = library.cards.get(*at)?;
            let recommended = || by_time.iter().position(|it| **it == card.id).map(|it| it + 1);
            if card.availability == Availability::BuiltIn { Some(0) } else { recommended() }
        };
        self.shown.sort_by_key(|at| rank(at).unwrap_or(usize::MAX));
        self.starter_count = self.shown.iter().filter(|at| rank(at).is_some()).count();
    }

    /// The card of this id.
    #[must_use]
    pub fn card(&self, id: &str) -> Option<&ModelCard> {
        self.library.cards.iter().find(|it| it.id == id)
    }

    /// The card whose details are shown.
    #[must_use]
    pub fn open_card(&self) -> Option<&ModelCard> {
        self.selected.as_deref().filter(|_| self.is_open).and_then(|id| self.card(id))
    }

    /// The shown cards that are on the screen.
    pub(crate) fn visible_cards(&self) -> impl Iterator<Item = &ModelCard> {
        let (from, to) = self.visible;
        let visible = self.shown.get(from..to.min(self.shown.len())).unwrap_or_default();
        visible.iter().filter_map(|at| self.library.cards.get(*at))
    }

    /// Status of the card of this id.
    #[must_use]
    pub fn status(&self, id: &str) -> CardStatus {
        let at = self.library.cards.iter().position(|it| it.id == id);
        at.and_then(|at| self.statuses.get(at)).copied().unwrap_or_default()
    }

    /// The first download of a card in the queue's order.
    #[must_use]
    pub fn download_of(&self, card: &ModelCard) -> Option<&JobSnapshot> {
        self.queue.iter().find(|entry| card.job_ids.contains(&entry.id))
    }

    /// True without search text and filter.
    #[must_use]
    pub fn shows_all(&self) -> bool {
        self.search.trim().is_empty() && self.filter.is_empty()
    }

    /// True where this machine has no model but the built-in one.
    #[must_use]
    pub fn has_no_models(&self) -> bool {
        self.is_known && !self.library.cards.iter().any(|it| it.availability.is_here() && it.availability != Availability::BuiltIn)
    }

    /// Name by which a card is downloaded: `id`, or `id:variant` where one was chosen.
    #[must_use]
    pub fn download_name(&self, card: &ModelCard) -> String {
        match self.chosen_variants.get(&card.id) {
            Some(variant) if card.variants.iter().any(|it| it.name == *variant) => format!("{}:{variant}", card.id),
            _ => card.id.clone(),
        }
    }

    /// The variant that a download would bring; `None` for models of one size.
    #[must_use]
    pub fn variant<'a>(&self, card: &'a ModelCard) -> Option<&'a CardVariant> {
        let chosen = self.chosen_variants.get(&card.id).map_or("", String::as_str);
        card.variants.iter().find(|it| it.name == chosen).or(card.variants.first())
    }

    /// Moves the cursor by this many cards, not past the ends; the first move selects the first
    /// card.
    pub fn move_cursor(&mut self, by: isize) {
        let id_at = |at: usize| self.shown.get(at).and_then(|at| self.library.cards.get(*at)).map(|it| it.id.clone());
        let is_at = |id: &str| self.shown.iter().position(|at| self.library.cards.get(*at).is_some_and(|it| it.id == id));
        let last = self.shown.len().saturating_sub(1);
        let next = match self.selected.as_deref().and_then(is_at) {
            Some(now) => {
                let next = now.saturating_add_signed(by);
                if next > last || (by < 0 && now < by.unsigned_abs()) { now } else { next }
            }
            None => 0,
        };
        self.selected = id_at(next).or_else(|| self.selected.clone());
        self.focus_card = true;
    }

    /// True for models whose licence is to be shown before they are downloaded or used.
    #[must_use]
    pub fn needs_licence_prompt(&self, card: &ModelCard) -> bool {
        let is_pending = card.licence.as_ref().is_some_and(Licence::is_pending);
        let is_accepted = |id: &String| self.accepted.contains(id) || self.library.settings.accepted.contains(id);
        is_pending && !card.job_ids.iter().chain([&card.id]).any(is_accepted)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use atelier_library::ModelKind;

    /// A card of the catalogue, for tests.
    pub(in crate::gui::models) fn card(id: &str, name: &str, bytes: Option<u64>) -> ModelCard {
        let card = ModelCard { id: id.into(), name: name.into(), kind: ModelKind::Model, bytes, ..ModelCard::default() };
        ModelCard { job_ids: vec![id.into()], ..card }.with_search_text()
    }

    fn state() -> State {
        let mut state = State::new(None, true);
        let cards = (0..5).map(|n| card(&format!("m{n}"), &format!("Model {n}"), Some(n))).collect();
        state.set_library(Arc::new(LibrarySnapshot { cards, listed: true, ..LibrarySnapshot::default() }));
        assert!(state.refresh(None, &Residency::default()));
        state
    }

    #[test]
    fn shown_cards_are_recomputed_only_after_a_change() {
        let mut state = state();
        assert!(!state.refresh(None, &Residency::default()));
        state.search = "model 3".into();
        state.mark_dirty();
        assert!(state.refresh(None, &Residency::default()));
        assert_eq!(state.shown, [3]);
        let memory = Some(MachineMemory { gpu_bytes: None, ram_bytes: 1 << 40 });
        assert!(state.refresh(memory, &Residency::default()));
        assert_eq!(state.status("m3").fit, FitLevel::Fits);
    }

    #[test]
    fn cards_keep_their_places_until_an_order_is_asked_for() {
        let mut state = state();
        let ids = |state: &State| -> Vec<String> { state.shown.iter().map(|at| state.library.cards[*at].id.clone()).collect() };
        let before = ids(&state);
        // One is being downloaded, another is here now, a third is new and a fourth is gone.
        let mut cards = state.library.cards.clone();
        cards[4].availability = Availability::OnDisk;
        cards.remove(1);
        cards.push(card("m9", "Model 2b", Some(1)));
        state.set_queue(vec![JobSnapshot {
            id: "m3".into(),
            name: "Model 3".into(),
            status: atelier_downloads::Status::Running,
            progress: atelier_downloads::Progress::default(),
        }]);
        state.set_library(Arc::new(LibrarySnapshot { cards, listed: true, ..LibrarySnapshot::default() }));
        assert!(state.refresh(None, &Residency::default()));
        assert_eq!((before.join(" ").as_str(), ids(&state).join(" ").as_str()), ("m0 m1 m2 m3 m4", "m0 m2 m9 m3 m4"));
        state.forget_places();
        assert!(state.refresh(None, &Residency::default()));
        assert_eq!(ids(&state).join(" "), "m3 m4 m0 m2 m9", "what is here or comes in goes first");
    }

    #[test]
    fn the_quickest_first_models_come_first() {
        let mut state = State::new(None, true);
        let cards = ["slow", "quick", "other"].map(|id| card(id, id, Some(1))).into();
        let about_secs = [("slow".to_owned(), 90.0), ("quick".to_owned(), 9.0)].into();
        let starter_ids = vec!["slow".into(), "quick".into()];
        state.set_library(Arc::new(LibrarySnapshot { cards, listed: true, about_secs, starter_ids, ..LibrarySnapshot::default() }));
        assert!(state.refresh(None, &Residency::default()));
        assert_eq!((state.shown.as_slice(), state.starter_count), ([1, 0, 2].as_slice(), 2));
    }

    #[test]
    fn the_cursor_stays_among_the_cards() {
        let mut state = state();
        let mut selected = |by: isize| {
            state.move_cursor(by);
            state.selected.clone().unwrap()
        };
        assert_eq!([selected(1), selected(1), selected(3), selected(3), selected(-3), selected(-3)], ["m0", "m1", "m4", "m4", "m1", "m1"]);
    }

    #[test]
    fn a_variant_is_downloaded_by_the_name_that_was_chosen() {
        let mut state = state();
        let mut card = card("m9", "M", None);
        let variant =
            |name: &str| CardVariant { name: name.into(), id: String::new(), description: String::new(), bytes: None, on_disk: false };
        card.variants = vec![variant(""), variant("Q4")];
        assert_eq!(state.download_name(&card), "m9");
        state.chosen_variants.insert("m9".into(), "Q4".into());
        assert_eq!((state.download_name(&card).as_str(), state.variant(&card).unwrap().name.as_str()), ("m9:Q4", "Q4"));
    }
}
