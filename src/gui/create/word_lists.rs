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
    /// Of models, beside which other programs have lists.
    pub(crate) models: Vec<PathBuf>,
}

/// What was read of lists.
pub(crate) struct ReadLists {
    pub(crate) lists: WordLists,
    /// Tells of changes while it is kept.
    pub(crate) watch: FolderWatch,
    /// A sentence for each file of tags that could not be read; those of lists of words are told
    /// once a prompt names one.
    pub(crate) unread: Vec<String>,
}

impl ListFolders {
    /// Reads all lists, and calls `tell` once something in the folders is another. Blocks.
    pub(crate) fn read(&self, tell: impl Fn() + Send + 'static) -> ReadLists {
        let own = self.wildcards.as_deref();
        let mut folders = WildcardLists::folders_beside(own, &self.models);
        folders.extend(self.tags.clone());
        // What comes while the lists are read is told too.
        let watch = FolderWatch::new(&folders, tell);
        let (words, _) = WildcardLists::read_beside(own, &self.models);
        let (tags, unread) = self.tags.as_deref().map(TagList::read).unwrap_or_default();
        let mut lists = WordLists { wildcards: None, tags };
        lists.note_names(&words);
        ReadLists { lists, watch, unread }
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
    /// The folders of models with which lists are to be read now: at first, whenever the folders are
    /// others, and once what lies in them has come to rest. Call it once a frame.
    pub(crate) fn due(&mut self, shared: &Shared, ctx: &Context) -> Option<Vec<PathBuf>> {
        if self.changed.swap(false, Ordering::Acquire) {
            self.rest.set_in(ctx, REST_SECS);
        }
        let is_same = self.models.as_ref().is_some_and(|models| model_folders(shared).eq(models));
        if is_same && !self.rest.has_come(ctx) {
            return None;
        }
        self.rest.clear();
        self.models = Some(model_folders(shared).cloned().collect());
        self.models.clone()
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

    /// Follows what was read last. Returns the sentences that were not told yet.
    pub(crate) fn follow(&mut self, watch: FolderWatch, unread: Vec<String>) -> Vec<String> {
        self.watch = Some(watch);
        let new = unread.iter().filter(|sentence| !self.told.contains(sentence)).cloned().collect();
        self.told = unread;
        new
    }
}
