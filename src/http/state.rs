//! What all routes share: the jobs, the models, and what each owner chose.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier_core::advice::Advice;
use atelier_core::format::file_size;
use atelier_core::paths::Paths;
use atelier_core::recipe::Seed;
use atelier_engine::{Handle, PreviewOptions};
use atelier_gallery::queue::{JobState, Lane, NewJob, Owner, QueuedJobId};
use atelier_gallery::{Database, GalleryError, Trash, TrashReport};
use atelier_library::disk::WildcardLists;
use atelier_library::{LibraryConfig, check_files};
use atelier_media::{ExportFormat, ExportedBytes};
use atelier_peers::StudioId;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::error::Failure;
use super::hub::{Hub, JobView, OpenWork, Waiter};
use super::images;
use super::links::Links;
use super::models::{ModelList, ModelPlaces, Models};
use super::places::{Place, Places};
use super::quota::{DiskQuota, folder_of, used_bytes};
use super::recipe::{ResolvedWish, Wish, make};
use super::retention::{Retention, remove_old, saved_folder};
use super::uploads::{Upload, is_limited};

/// Pictures of one owner that may wait at a time, and how many seconds they may be predicted to
/// take.
const MAX_OPEN_PICTURES: u32 = 32;
const MAX_OPEN_SECS: f64 = 30.0 * 60.0;
/// Requests of one owner that may last at a time: those that wait for a picture, and those that
/// follow a job.
const MAX_HELD: usize = 8;
/// Seconds after which an owner who has too much may ask again, where nothing else is known.
const RETRY_SECS: u64 = 30;
/// A client that asked for progress so recently wants to see previews.
const WATCHES_FOR: Duration = Duration::from_mins(10);
/// Pictures of requests that are decoded at a time.
const MAX_DECODES: usize = 2;
/// Jobs of which the format is remembered: more than can be asked for.
const MAX_FORMATS: usize = 2000;
/// Owners whose choices are remembered.
const MAX_OWNERS: usize = 1000;

/// State of the server.
pub(crate) struct App {
    pub(crate) hub: Arc<Hub>,
    models: Models,
    pub(crate) paths: Paths,
    pub(crate) engine: Arc<Handle>,
    pub(crate) id: StudioId,
    threads: Option<u32>,
    default_model: Option<String>,
    pub(super) takes_any_guidance: bool,
    decodes: Semaphore,
    held: Arc<Places<Owner>>,
    uploads: Arc<Places<Owner>>,
    owners: Mutex<HashMap<Owner, OwnerState>>,
    links: Mutex<Links>,
    formats: Mutex<BTreeMap<QueuedJobId, ExportFormat>>,
    /// The index, once it was asked.
    gallery: Mutex<Option<Database>>,
    quota: Mutex<DiskQuota>,
    retention: Mutex<Retention>,
}

pub(crate) type SharedApp = Arc<App>;

/// What an owner chose, for as long as the server runs.
#[derive(Default)]
struct OwnerState {
    /// The title of the model.
    model: Option<String>,
    asked_progress: Option<Instant>,
}

/// Who watches a picture form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Previews {
    /// Whoever asked for progress lately.
    IfWatched,
    Always,
    Never,
}

impl App {
    pub(crate) fn new(
        hub: Arc<Hub>,
        places: ModelPlaces,
        engine: Arc<Handle>,
        threads: Option<u32>,
        default_model: Option<String>,
        quota: DiskQuota,
        id: StudioId,
    ) -> Self {
        Self {
            hub,
            paths: places.paths.clone(),
            models: Models::new(places),
            engine,
            id,
            threads,
            default_model,
            takes_any_guidance: false,
            decodes: Semaphore::new(MAX_DECODES),
            held: Arc::default(),
            uploads: Arc::default(),
            owners: Mutex::default(),
            links: Mutex::default(),
            formats: Mutex::default(),
            gallery: Mutex::default(),
            quota: Mutex::new(quota),
            retention: Mutex::default(),
        }
    }

    /// Everything that can be named.
    pub(crate) async fn models(self: &Arc<Self>) -> Result<Arc<ModelList>, Failure> {
        let app = Arc::clone(self);
        blocking(move || app.models.get()).await
    }

    /// The same, with the folders read again.
    pub(crate) async fn refresh_models(self: &Arc<Self>) -> Result<Arc<ModelList>, Failure> {
        let app = Arc::clone(self);
        blocking(move || app.models.refresh()).await
    }

    /// Works with the gallery's index; it is opened anew after an error. Blocks.
    pub(crate) fn with_gallery<T>(&self, work: impl FnOnce(&mut Database) -> Result<T, GalleryError>) -> Result<T, GalleryError> {
        let mut gallery = self.gallery.lock();
        let database = match &mut *gallery {
            Some(database) => database,
            closed => closed.insert(Database::open(&self.paths.gallery_file())?.0),
        };
        let result = work(database);
        if result.is_err() {
            *gallery = None;
        }
        result
    }

    /// Runs what decodes pictures, a few at a time, so that many clients do not fill the memory.
    pub(crate) async fn decode<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
        let _turn = self.decodes.acquire().await;
        blocking(work).await?
    }

    /// The same for what a client has sent, which is one of its owner's uploads until it is decoded.
    pub(crate) async fn decode_upload<T: Send + 'static>(
        &self,
        upload: Upload,
        work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let decode = move || {
            let decoded = work();
            drop(upload);
            decoded
        };
        self.decode(decode).await
    }

    /// A body of this owner that is to be read.
    pub(super) fn upload(&self, owner: &Owner) -> Upload {
        Upload::new(&self.uploads, owner)
    }

    /// A place for a request of this owner that lasts, where there is one.
    pub(super) fn hold(&self, owner: &Owner) -> Result<Place<Owner>, Failure> {
        let place = self.held.take(owner, |own, _| !is_limited(owner) || own < MAX_HELD);
        place.ok_or_else(|| {
            let sentence =
                format!("{MAX_HELD} of your requests wait for pictures or follow jobs already. Wait for one of them, or close it.");
            Failure::Busy { sentence, retry_secs: self.retry_secs(owner) }
        })
    }

    /// The title of the model that an owner chose.
    pub(crate) fn chosen_model(&self, owner: &Owner) -> Option<String> {
        let chosen = self.owners.lock().get(owner).and_then(|it| it.model.clone());
        chosen.or_else(|| self.default_model.clone())
    }

    pub(crate) fn choose_model(&self, owner: &Owner, title: String) {
        self.change(owner, |it| it.model = Some(title));
    }

    /// Notes that an owner looks at the progress.
    pub(crate) fn note_watching(&self, owner: &Owner) {
        self.change(owner, |it| it.asked_progress = Some(Instant::now()));
    }

    fn change(&self, owner: &Owner, change: impl FnOnce(&mut OwnerState)) {
        let mut owners = self.owners.lock();
        if owners.len() >= MAX_OWNERS && !owners.contains_key(owner) {
            owners.clear();
        }
        change(owners.entry(owner.clone()).or_default());
    }

    fn is_watching(&self, owner: &Owner) -> bool {
        let asked = self.owners.lock().get(owner).and_then(|it| it.asked_progress);
        asked.is_some_and(|at| at.elapsed() < WATCHES_FOR)
    }

    /// The recipe of a wish.
    pub(crate) async fn make(self: &Arc<Self>, owner: &Owner, wish: Wish) -> Result<ResolvedWish, Failure> {
        let wish = Wish { takes_any_guidance: self.takes_any_guidance, ..self.with_chosen_words(wish).await? };
        let mut list = self.models().await?;
        if wish.model.as_deref().is_some_and(|name| list.model(name).is_none()) {
            // It may have been added since.
            list = self.refresh_models().await?;
        }
        let needs_references = wish.needs_references;
        let made = make(wish, &list, self.chosen_model(owner).as_deref(), self.threads)?;
        if let Some(field) = needs_references {
            let files = made.recipe.files.clone();
            // Files that do not fit are told when the job begins.
            let checked = blocking(move || check_files(&files, &[])).await?;
            if checked.is_ok_and(|it| !it.looks_at_references) {
                return Err(Failure::invalid(field, format!("{} takes one start picture alone.", made.model.name)));
            }
        }
        Ok(made)
    }

    /// A wish with what is chosen in its prompts; lists of words are those of this computer.
    async fn with_chosen_words(&self, wish: Wish) -> Result<Wish, Failure> {
        let paths = self.paths.clone();
        let chosen = blocking(move || {
            let mut lists = WildcardLists::default();
            if wish.names_wildcards() {
                let (read, unread) = LibraryConfig::word_lists(&paths);
                lists = read;
                // Places on this disk are nothing for clients.
                for sentence in unread {
                    tracing::warn!("{sentence}");
                }
            }
            wish.choose_words(Seed(u64::from(rand::random::<u32>())), &lists)
        });
        chosen.await?
    }

    /// Adds a job for this owner, whose client waits for it.
    pub(crate) async fn add(
        self: &Arc<Self>,
        owner: &Owner,
        made: ResolvedWish,
        previews: Previews,
        lane: Lane,
    ) -> Result<Waiter, Failure> {
        // The disk is waited for first, so that nobody adds a job between a look and the next.
        self.check_disk(owner).await?;
        self.check_limits(owner, made.recipe.batch_count.max(1))?;
        let is_shown = match previews {
            Previews::IfWatched => self.is_watching(owner),
            Previews::Always => true,
            Previews::Never => false,
        };
        let preview = if is_shown { PreviewOptions::Adaptive } else { PreviewOptions::Off };
        let job = NewJob {
            preview: serde_json::to_string(&preview).unwrap_or_default(),
            owner: owner.clone(),
            user: made.user,
            ..NewJob::of_person(
                made.recipe,
                lane,
                if made.is_saved { saved_folder(&self.folder_of(owner)) } else { self.folder_of(owner) },
                made.model.name,
            )
        };
        self.hub.add(owner, job, made.notes).await.map_err(Failure::Failed)
    }

    /// `Err` where an owner waits for so much already that these pictures are too many.
    fn check_limits(&self, owner: &Owner, pictures: u32) -> Result<(), Failure> {
        match too_much(self.hub.open_work(owner), pictures) {
            Some(sentence) => Err(Failure::Busy { sentence, retry_secs: self.retry_secs(owner) }),
            None => Ok(()),
        }
    }

    /// Seconds after which an owner who has too much may ask again: when their next job ends.
    fn retry_secs(&self, owner: &Owner) -> u64 {
        self.hub.current(owner).and_then(|job| job.ends_in_secs).map_or(RETRY_SECS, |secs| secs.clamp(1.0, 3600.0) as u64)
    }

    /// `Err` where the pictures of an owner fill the disk space that they have.
    async fn check_disk(&self, owner: &Owner) -> Result<(), Failure> {
        let Some(quota) = self.quota_of(owner) else { return Ok(()) };
        let used = self.used_bytes(owner).await?;
        if used < quota {
            return Ok(());
        }
        Err(Failure::NoSpace(format!(
            "Your pictures here take {} of disk space, and {} is the limit. Ask the person who runs this server for more.",
            file_size(used),
            file_size(quota)
        )))
    }

    /// The most bytes that the pictures of an owner may take; `None`: without a limit.
    pub(crate) fn quota_of(&self, owner: &Owner) -> Option<u64> {
        self.quota.lock().bytes_of(owner)
    }

    pub(crate) fn set_quota(&self, quota: DiskQuota) {
        *self.quota.lock() = quota;
    }

    pub(crate) fn set_retention(&self, retention: Retention) {
        *self.retention.lock() = retention;
    }

    /// How long pictures of others are kept that nobody wanted to keep.
    pub(crate) fn retention(&self) -> Retention {
        *self.retention.lock()
    }

    /// Moves pictures of others that are kept no longer to the trash; returns how many. `now_ms`: since
    /// 1970. Blocks.
    pub(crate) fn remove_old_pictures(&self, now_ms: i64, trash: &mut dyn Trash) -> usize {
        let (shared, retention) = (self.paths.shared_pictures(), self.retention());
        let in_use = || self.hub.files_in_use();
        let removed = self.with_gallery(|gallery| remove_old(gallery, &shared, retention, &in_use, now_ms, trash));
        let report = removed.unwrap_or_else(|error| {
            tracing::warn!("old pictures of others were not looked for: {error}");
            TrashReport::default()
        });
        for (_, why) in &report.failed {
            tracing::warn!("an old picture was not moved to the trash: {why}");
        }
        if !report.moved.is_empty() {
            tracing::info!("{} old pictures of others were moved to the trash", report.moved.len());
        }
        report.moved.len()
    }

    /// The bytes that the pictures of an owner take.
    pub(crate) async fn used_bytes(&self, owner: &Owner) -> Result<u64, Failure> {
        let (paths, owner) = (self.paths.clone(), owner.clone());
        blocking(move || used_bytes(&paths, &owner)).await?.map_err(|error| {
            tracing::warn!("the disk space of an owner is not known: {error}");
            Failure::Failed(Advice::new("The folder of your pictures cannot be read now.", "Try again."))
        })
    }

    /// Notes in which format the pictures of a job are fetched.
    pub(crate) fn note_format(&self, job: QueuedJobId, format: ExportFormat) {
        let mut formats = self.formats.lock();
        formats.insert(job, format);
        while formats.len() > MAX_FORMATS {
            formats.pop_first();
        }
    }

    /// The format in which the pictures of a job are fetched.
    pub(crate) fn format_of(&self, job: QueuedJobId) -> ExportFormat {
        self.formats.lock().get(&job).copied().unwrap_or(ExportFormat::Png)
    }

    /// An unguessable name, by which a picture can be had for an hour.
    pub(crate) fn share(&self, path: PathBuf, format: ExportFormat) -> String {
        self.links.lock().add(path, format, Instant::now())
    }

    /// The picture of such a name.
    pub(crate) fn shared_file(&self, name: &str) -> Option<(PathBuf, ExportFormat)> {
        self.links.lock().find(name, Instant::now())
    }

    /// Where the pictures of an owner are kept.
    pub(crate) fn folder_of(&self, owner: &Owner) -> PathBuf {
        folder_of(&self.paths, owner)
    }
}

/// Why so many pictures more are too many for who waits for so much already; `None`: they are not.
fn too_much(open: OpenWork, pictures: u32) -> Option<String> {
    if open.pictures > 0 && open.pictures + pictures > MAX_OPEN_PICTURES {
        let waiting =
            if open.pictures == 1 { "1 of your pictures waits".to_owned() } else { format!("{} of your pictures wait", open.pictures) };
        return Some(format!("{waiting} already, and {MAX_OPEN_PICTURES} may. Wait for one of them, or cancel it."));
    }
    let is_long = open.secs >= MAX_OPEN_SECS;
    is_long.then(|| format!("Your pictures that wait take more than {} minutes. Wait for one of them, or cancel it.", MAX_OPEN_SECS / 60.0))
}

/// Runs what waits for a disk on another thread.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!("a request ended by a fault of its own: {error}");
        Failure::Failed(Advice::new(
            "Internal error while answering this request.",
            "Try again; if the error persists, restart the server.",
        ))
    })
}

/// The pictures of a job as files of this format, in their order.
pub(crate) async fn pictures_of(view: &JobView, format: ExportFormat) -> Result<Vec<ExportedBytes>, Failure> {
    let paths: Vec<PathBuf> = view.pictures.iter().map(|picture| picture.path.clone()).collect();
    blocking(move || paths.iter().map(|path| images::file_bytes(path, format)).collect()).await?
}

/// `Err` where a job that is over did not make all its pictures.
pub(crate) fn outcome(view: &JobView) -> Result<(), Failure> {
    match view.state {
        JobState::Cancelled => Err(Failure::Cancelled),
        JobState::Failed | JobState::Held if view.is_out_of_memory() => Err(Failure::OutOfMemory(view.advice())),
        JobState::Failed | JobState::Held => Err(Failure::Failed(view.advice())),
        JobState::Done | JobState::Waiting | JobState::Running => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_lets_so_many_pictures_and_so_many_predicted_minutes_wait() {
        let told = |pictures, secs, more| too_much(OpenWork { pictures, secs }, more).unwrap_or_default();
        assert_eq!([told(0, 0.0, 10), told(22, 0.0, 10), told(1, MAX_OPEN_SECS - 0.1, 1)], [""; 3]);
        assert!(told(23, 0.0, 10).starts_with("23 of your pictures wait already, and 32 may."));
        assert!(told(1, 0.0, 32).starts_with("1 of your pictures waits already"));
        assert!(told(1, MAX_OPEN_SECS, 1).starts_with("Your pictures that wait take more than 30 minutes."));
    }
}
