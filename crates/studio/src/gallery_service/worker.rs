//! The thread that asks the database.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use atelier_core::mailbox::Mailbox;
use atelier_core::paths::Paths;
use atelier_core::recipe::ModelFiles;
use atelier_gallery::{Database, DatabaseVersion, FolderKind, GalleryError, PictureId, PictureSummary, Query, SystemTrash};
use atelier_language::tr;

use super::files;
use super::message::{FolderSummary, Found, GalleryEvent, GalleryRequest, Mark, Overview, Search, send_event};
use super::scanning::Scanning;

/// Pictures of the filmstrip at the start.
const NEWEST: usize = 60;
/// Pictures of a model that an empty start shows at most.
const BEST: usize = 6;
/// Time between two tries of what a disk refused.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Message to this thread.
pub(super) enum Message {
    Request(GalleryRequest),
    /// A scan has added or changed pictures.
    Scanned,
    Stop,
}

/// State of this thread.
pub(super) struct Worker {
    paths: Paths,
    pictures_folder: PathBuf,
    events: Arc<Mailbox<GalleryEvent>>,
    messages: Arc<Mailbox<Message>>,
    is_stopping: Arc<AtomicBool>,
    search: Search,
    /// What was found last, and the database's version then.
    found: Arc<Found>,
    found_at: Option<DatabaseVersion>,
    /// The overview that was sent last, and the database's version then.
    overview: Option<(DatabaseVersion, Arc<Overview>)>,
    /// What went to the trash last.
    trashed: Vec<PictureId>,
    /// Marks that are to be written, in order.
    marks: VecDeque<(Vec<PictureId>, Mark)>,
    /// A person knows that marks wait for the disk.
    are_marks_told: bool,
}

impl Worker {
    pub(super) fn new(
        paths: &Paths,
        pictures_folder: PathBuf,
        events: Arc<Mailbox<GalleryEvent>>,
        messages: Arc<Mailbox<Message>>,
        is_stopping: Arc<AtomicBool>,
    ) -> Self {
        let (search, found) = (Search::default(), Arc::default());
        Self {
            paths: paths.clone(),
            pictures_folder,
            events,
            messages,
            is_stopping,
            search,
            found,
            found_at: None,
            overview: None,
            trashed: Vec::new(),
            marks: VecDeque::new(),
            are_marks_told: false,
        }
    }

    /// Works until [`Message::Stop`].
    pub(super) fn run(mut self) {
        let Some(mut database) = self.open() else { return };
        if let Err(error) = database.add_folder(&self.pictures_folder, FolderKind::Own) {
            self.notice(error.to_string());
        }
        let messages = Arc::clone(&self.messages);
        let scanned = move || messages.send_replacing(Message::Scanned, |unread| matches!(unread, Message::Scanned));
        let scanning = Scanning::start(&self.paths, Arc::clone(&self.events), scanned, Arc::clone(&self.is_stopping));
        self.publish_newest(&database);
        self.publish(&database, true);
        scanning.rescan();
        loop {
            let message = if self.marks.is_empty() { Some(self.messages.wait()) } else { self.messages.next_within(RETRY_INTERVAL) };
            let result = match message {
                Some(Message::Stop) => break,
                None => self.write_marks(&mut database, &scanning),
                Some(Message::Scanned) => {
                    if self.found.total == 0 {
                        // An index that was just begun knew nothing at the start.
                        self.publish_newest(&database);
                    }
                    self.publish(&database, false);
                    self.send(GalleryEvent::Changed);
                    Ok(())
                }
                Some(Message::Request(request)) => self.answer(&mut database, &scanning, request),
            };
            if let Err(error) = result {
                self.notice(error.to_string());
            }
        }
        if self.write_marks(&mut database, &scanning).is_err() || !self.marks.is_empty() {
            tracing::warn!("{} marks could not be written", self.marks.len());
        }
        scanning.finish();
    }

    /// Opens the database, also where the disk gives it only later; `None` at the end of the
    /// program, or where a newer Atelier wrote it.
    fn open(&mut self) -> Option<Database> {
        let mut is_told = false;
        loop {
            let error = match Database::open(&self.paths.gallery_file()) {
                Ok((database, state)) => {
                    if let Some(warning) = state.warning() {
                        self.notice(warning);
                    }
                    return Some(database);
                }
                Err(error) => error,
            };
            if !std::mem::replace(&mut is_told, true) {
                self.notice(tr!("studio-the-gallery-cannot-be", error, pictures_folder = self.pictures_folder.display()));
                self.send(GalleryEvent::Found(Arc::default()));
            }
            if !error.is_temporary() {
                return None;
            }
            match self.messages.next_within(RETRY_INTERVAL) {
                Some(Message::Stop) => return None,
                Some(Message::Request(GalleryRequest::Search(search))) => self.search = search,
                Some(Message::Request(_) | Message::Scanned) | None => {}
            }
        }
    }

    /// Writes the marks of a person in their order. What the disk refuses stays, and is tried
    /// again.
    fn write_marks(&mut self, database: &mut Database, scanning: &Scanning) -> Result<(), GalleryError> {
        let mut result = Ok(());
        while let Some((ids, mark)) = self.marks.pop_front() {
            let written = match &mark {
                Mark::Rating(stars) => database.set_rating(&ids, *stars),
                Mark::Flag(flag) => database.set_flag(&ids, *flag),
                Mark::AddTag(tag) => database.add_tag(&ids, tag),
                Mark::RemoveTag(tag) => database.remove_tag(&ids, tag),
                Mark::Note(note) => database.set_note(&ids, note),
            };
            if let Err(error) = &written
                && error.is_temporary()
            {
                self.marks.push_front((ids, mark));
                if !std::mem::replace(&mut self.are_marks_told, true) {
                    self.notice(tr!("studio-your-marks-cannot-be", error));
                }
                return result;
            }
            self.send(GalleryEvent::Marked);
            if let Err(error) = written {
                self.send(GalleryEvent::Changed);
                result = Err(error);
            }
        }
        if std::mem::take(&mut self.are_marks_told) {
            self.send(GalleryEvent::Changed);
        }
        scanning.write_journals();
        result
    }

    fn send(&self, event: GalleryEvent) {
        send_event(&self.events, event);
    }

    fn notice(&self, sentence: impl Into<String>) {
        self.send(GalleryEvent::Notice(sentence.into()));
    }

    fn answer(&mut self, database: &mut Database, scanning: &Scanning, request: GalleryRequest) -> Result<(), GalleryError> {
        match request {
            GalleryRequest::Search(search) => {
                self.search = search;
                self.publish_found(database)?;
            }
            GalleryRequest::Refresh => self.publish(database, false),
            GalleryRequest::Summaries(ids) => self.send(GalleryEvent::Summaries(database.pictures(&ids)?)),
            GalleryRequest::SummariesOf(ids, number) => self.send(GalleryEvent::SummariesOf(number, database.pictures(&ids)?)),
            GalleryRequest::BestOf(files) => {
                let pictures = best_of(database, &files)?;
                self.send(GalleryEvent::BestOf(files, pictures));
            }
            GalleryRequest::Details(ids) => {
                for id in ids {
                    self.send(GalleryEvent::Details(id, database.picture(id)?.map(Box::new)));
                }
            }
            GalleryRequest::Mark(ids, mark) => {
                self.marks.push_back((ids, mark));
                self.write_marks(database, scanning)?;
            }
            GalleryRequest::Trash(ids) => self.trash(database, &ids)?,
            GalleryRequest::RestoreTrashed => self.restore(database)?,
            GalleryRequest::SaveSearch(name, text) => {
                database.save_search(&name, &text)?;
                self.publish_overview(database)?;
            }
            GalleryRequest::DeleteSearch(name) => {
                database.remove_search(&name)?;
                self.publish_overview(database)?;
            }
            GalleryRequest::AddFolder(folder) => self.add_folder(database, scanning, &folder)?,
            GalleryRequest::ForgetFolder(path) => {
                if let Some(folder) = database.folders()?.into_iter().find(|it| it.path == path && it.kind != FolderKind::Own) {
                    database.remove_folder(folder.id)?;
                }
                self.publish(database, false);
            }
            GalleryRequest::Import(paths) => self.import(database, scanning, paths)?,
            GalleryRequest::Rescan => scanning.rescan(),
            GalleryRequest::Export(ids, export) => {
                let files = database.pictures(&ids)?.into_iter().map(|it| it.path).collect();
                let events = Arc::clone(&self.events);
                files::export(files, export, move |sentence| send_event(&events, GalleryEvent::Notice(sentence)));
            }
            // These are the other thread's.
            GalleryRequest::Thumbnails(_) | GalleryRequest::Pixels(_) => {}
        }
        Ok(())
    }

    fn trash(&mut self, database: &mut Database, ids: &[PictureId]) -> Result<(), GalleryError> {
        let report = database.move_to_trash(ids, &mut SystemTrash)?;
        self.notice_failed(&report.failed);
        if !report.moved.is_empty() {
            self.send(GalleryEvent::Trashed(report.moved.len()));
            self.trashed = report.moved;
        }
        self.publish(database, false);
        Ok(())
    }

    fn restore(&mut self, database: &mut Database) -> Result<(), GalleryError> {
        let trashed = std::mem::take(&mut self.trashed);
        let report = database.restore_from_trash(&trashed, &mut SystemTrash)?;
        self.notice_failed(&report.failed);
        self.send(GalleryEvent::Restored(report.moved));
        self.send(GalleryEvent::Summaries(database.pictures(&trashed)?));
        self.publish(database, false);
        Ok(())
    }

    /// Says the first file that was not moved, and how many others there are.
    fn notice_failed(&self, failed: &[(PathBuf, String)]) {
        if let Some((path, why)) = failed.first() {
            let others = match failed.len() {
                1 => String::new(),
                count => tr!("studio-the-same-applies-to", value = count - 1),
            };
            self.notice(format!("{}: {why}{others}", path.display()));
        }
    }

    fn add_folder(&mut self, database: &mut Database, scanning: &Scanning, folder: &Path) -> Result<(), GalleryError> {
        if !folder.is_dir() {
            self.notice(tr!("studio-the-folder-does-not", folder = folder.display()));
            return Ok(());
        }
        database.add_folder(folder, FolderKind::Added)?;
        self.publish_overview(database)?;
        scanning.rescan();
        Ok(())
    }

    /// Folders are indexed where they are; pictures are copied.
    fn import(&mut self, database: &mut Database, scanning: &Scanning, paths: Vec<PathBuf>) -> Result<(), GalleryError> {
        let (folders, pictures): (Vec<_>, Vec<_>) = paths.into_iter().partition(|it| it.is_dir());
        for folder in folders {
            self.add_folder(database, scanning, &folder)?;
        }
        let mut added = 0;
        for picture in pictures {
            match files::import(database, &picture, &self.pictures_folder) {
                Ok(_) => added += 1,
                Err(error) => self.notice(error.to_string()),
            }
        }
        match added {
            0 => {}
            1 => self.notice(tr!("studio-1-picture-was-added")),
            _ => self.notice(tr!("studio-pictures-were-added-to", added)),
        }
        self.publish(database, false);
        Ok(())
    }

    /// Sends folders and what the last search finds now. `is_first`: also where nothing was found.
    fn publish(&mut self, database: &Database, is_first: bool) {
        let result = self.publish_overview(database).and_then(|()| {
            let version = database.version()?;
            if self.found_at == Some(version) {
                return Ok(());
            }
            let before = Arc::clone(&self.found);
            let found = find(database, &self.search)?;
            self.found_at = Some(version);
            if is_first || found != *before {
                self.found = Arc::new(found);
                self.send(GalleryEvent::Found(Arc::clone(&self.found)));
            }
            Ok(())
        });
        if let Err(error) = result {
            self.notice(error.to_string());
        }
    }

    fn publish_found(&mut self, database: &Database) -> Result<(), GalleryError> {
        self.found_at = Some(database.version()?);
        self.found = Arc::new(find(database, &self.search)?);
        self.send(GalleryEvent::Found(Arc::clone(&self.found)));
        Ok(())
    }

    fn publish_newest(&self, database: &Database) {
        match database.newest(NEWEST).and_then(|ids| database.pictures(&ids)) {
            Ok(pictures) => self.send(GalleryEvent::Newest(pictures)),
            Err(error) => self.notice(error.to_string()),
        }
    }

    /// Sends folders, saved searches and the latest pictures; the latter are looked for again only
    /// after a change of the database.
    fn publish_overview(&mut self, database: &Database) -> Result<(), GalleryError> {
        let version = database.version()?;
        let (mut folders, mut loose_pictures) = (Vec::new(), 0);
        for folder in database.folders()? {
            let pictures = database.folder_pictures(folder.id)?;
            if folder.kind == FolderKind::Loose {
                loose_pictures += pictures;
                continue;
            }
            let (is_own, is_here) = (folder.kind == FolderKind::Own, folder.path.is_dir());
            // The own folder is made with the first picture.
            let is_here = is_here || (is_own && folder.path == self.pictures_folder);
            folders.push(FolderSummary { path: folder.path, is_own, is_here, pictures });
        }
        let saved_searches = database.saved_searches()?.into_iter().map(|it| (it.name, it.query)).collect();
        let latest = match &self.overview {
            Some((before, overview)) if *before == version => overview.latest.clone(),
            _ => database.latest_pictures()?,
        };
        let overview = Arc::new(Overview { folders, loose_pictures, saved_searches, latest });
        self.overview = Some((version, Arc::clone(&overview)));
        self.send(GalleryEvent::Overview(overview));
        Ok(())
    }
}

/// Number of all pictures that are not in the trash.
fn total(database: &Database) -> Result<usize, GalleryError> {
    let counts = database.folders()?.into_iter().map(|folder| database.folder_pictures(folder.id));
    counts.sum::<Result<u64, _>>().map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

/// The person's best pictures of a model, which they name as pictures do when they are written.
fn best_of(database: &Database, files: &ModelFiles) -> Result<Vec<PictureSummary>, GalleryError> {
    let Some(main) = files.main() else { return Ok(Vec::new()) };
    let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let name = atelier_library::model_name(files).unwrap_or_else(|| text(main.file_stem()));
    database.pictures(&database.best_of_model(&name, &text(main.file_name()), BEST)?)
}

/// What a search finds.
fn find(database: &Database, search: &Search) -> Result<Found, GalleryError> {
    let query = Query::parse(&search.text);
    let total = total(database)?;
    if let Some(problem) = query.problem() {
        let problem = Some(problem.to_owned());
        return Ok(Found { search: search.clone(), problem, query, total, ..Found::default() });
    }
    let ids = database.search(&query, search.order)?;
    let (ids, groups) = match search.grouping {
        None => {
            let count = ids.len();
            (ids, vec![(String::new(), count)])
        }
        Some(grouping) => {
            let groups = database.groups(&ids, grouping)?;
            let counts = groups.iter().map(|it| (it.label.clone(), it.pictures.len())).collect();
            (groups.into_iter().flat_map(|it| it.pictures).collect(), counts)
        }
    };
    Ok(Found { search: search.clone(), ids, groups, query, problem: None, total })
}
