//! Lists of words and tags of this person, which complete prompts.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use eframe::egui::Context;

use crate::gui::due::{self, Due};
use crate::gui::shared::Shared;
use atelier_library::disk::{FolderWatch, WildcardLists, is_list_named};
use atelier_studio::tags::TagList;

/// Seconds without a change before lists are read again: a file that is copied changes many times.
const REST_SECS: f64 = 0.3;

/// Folders of models of other programs, which may have lists of words too.
pub(crate) fn model_folders(shared: &Shared) -> impl Iterator<Item = &PathBuf> {
    shared.library.folders.iter().filter(|folder| !folder.is_own).map(|folder| &folder.path)
}

/// Lists as they were when their folders last changed, and when a prompt was last chosen from some.
#[derive(Debug, Default)]
pub struct WordLists {
    /// Names of lists of words; `None` until they are read.
    pub wildcards: Option<Vec<String>>,
    /// Tags with their counts.
    pub tags: TagList,
}

impl WordLists {
    /// Knows the names of these lists from now on, and no others.
    pub(crate) fn note_names(&mut self, lists: &WildcardLists) {
        self.wildcards = Some(lists.names().map(str::to_owned).collect());
    }

    /// True where it is known that no list has this name.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        // It is asked in each frame, and there may be thousands: plain names are only compared.
        let is_pattern = name.contains('*');
        let is_it = |it: &String| if is_pattern { is_list_named(name, it) } else { it == name };
        self.wildcards.as_ref().is_some_and(|names| !names.iter().any(is_it))
    }
}

/// Folders in which lists are, or may be one day.
#[derive(Clone, Debug)]
pub(crate) struct ListFolders {
    /// Of lists of words of this person.
    pub(crate) wildcards: Option<PathBuf>,
    /// Of files of tags.
    pub(crate) tags: Option<PathBuf>,
    /// What is to be read.
    pub(crate) due: DueLists,
}

/// Lists that are to be read now.
#[derive(Clone, Debug)]
pub(crate) struct DueLists {
    /// Folders of models, beside which other programs have lists of words.
    pub(crate) models: Vec<PathBuf>,
    /// Tags too, of which there may be a million: not where the folders of models alone are others.
    pub(crate) with_tags: bool,
}

/// What was read of lists.
pub(crate) struct ReadLists {
    pub(crate) words: WildcardLists,
    /// Where they were due, with a sentence for each file that could not be read; those of lists of
    /// words are told once a prompt names one.
    pub(crate) tags: Option<(TagList, Vec<String>)>,
    /// Tells of changes while it is kept.
    pub(crate) watch: FolderWatch,
}

impl ListFolders {
    /// Reads the lists that are due, and calls `tell` once something in the folders is another. Blocks.
    pub(crate) fn read(&self, tell: impl Fn() + Send + 'static) -> ReadLists {
        let own = self.wildcards.as_deref();
        let DueLists { models, with_tags } = &self.due;
        let mut folders = WildcardLists::folders_beside(own, models);
        folders.extend(self.tags.clone());
        // What comes while the lists are read is told too.
        let watch = FolderWatch::new(&folders, tell);
        let (words, _) = WildcardLists::read_beside(own, models);
        let tags = with_tags.then(|| self.tags.as_deref().map(TagList::read).unwrap_or_default());
        ReadLists { words, tags, watch }
    }
}

/// Knows when lists are to be read.
#[derive(Debug, Default)]
pub struct ListFollower {
    /// Folders of models beside which lists were looked for; `None` before the first time.
    models: Option<Vec<PathBuf>>,
    /// Something in the folders is another.
    changed: Arc<AtomicBool>,
    rest: Due,
    watch: Option<FolderWatch>,
    told: Vec<String>,
}

impl ListFollower {
    /// The lists that are to be read now: all at first and once what lies in their folders has come to
    /// rest, those of words whenever the folders of models are others. Call it once a frame.
    pub(crate) fn due(&mut self, shared: &Shared, ctx: &Context) -> Option<DueLists> {
        if self.changed.swap(false, Ordering::Acquire) {
            self.rest.set_in(ctx, REST_SECS);
        }
        let is_same = self.models.as_ref().is_some_and(|models| model_folders(shared).eq(models));
        let with_tags = self.models.is_none() || self.rest.has_come(ctx);
        if is_same && !with_tags {
            return None;
        }
        if with_tags {
            self.rest.clear();
        }
        let models: Vec<PathBuf> = model_folders(shared).cloned().collect();
        self.models = Some(models.clone());
        Some(DueLists { models, with_tags })
    }

    /// What is called once something in the folders is another.
    pub(crate) fn teller(&self, ctx: &Context) -> impl Fn() + Send + 'static + use<> {
        let (changed, ctx) = (Arc::clone(&self.changed), ctx.clone());
        move || {
            changed.store(true, Ordering::Release);
            due::wake(&ctx);
        }
    }

    /// The watch so far, to be dropped where nobody waits, once there is another.
    pub(crate) fn take_watch(&mut self) -> Option<FolderWatch> {
        self.watch.take()
    }

    /// Keeps the watch of what was read last.
    pub(crate) fn keep_watch(&mut self, watch: FolderWatch) {
        self.watch = Some(watch);
    }

    /// Notes what could not be read of the tags. Returns the sentences that were not told yet.
    pub(crate) fn note_unread(&mut self, unread: Vec<String>) -> Vec<String> {
        let new = unread.iter().filter(|sentence| !self.told.contains(sentence)).cloned().collect();
        self.told = unread;
        new
    }
}
