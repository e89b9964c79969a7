//! Lists of words and tags of this person, which complete prompts.

use std::path::{Path, PathBuf};

use crate::gui::shared::Shared;
use atelier_library::disk::{WildcardLists, is_list_named};
use atelier_studio::tags::TagList;

/// Folders of models of other programs, which may have lists of words too.
pub(crate) fn model_folders(shared: &Shared) -> impl Iterator<Item = &PathBuf> {
    shared.library.folders.iter().filter(|folder| !folder.is_own).map(|folder| &folder.path)
}

/// Lists as they were when the window opened, when folders of models were added, and when a prompt
/// was last chosen from some.
#[derive(Debug, Default)]
pub struct WordLists {
    /// Names of lists of words; `None` until they are read.
    pub wildcards: Option<Vec<String>>,
    /// Tags with their counts.
    pub tags: TagList,
}

impl WordLists {
    /// Reads the lists of these folders. Returns a sentence for each file of tags that could not be
    /// read; those of lists are told once a prompt names one. Blocks.
    pub(crate) fn read(wildcards: Option<&Path>, tags: Option<&Path>) -> (Self, Vec<String>) {
        let (lists, _) = WildcardLists::read_beside(wildcards, &[]);
        let (tags, unread) = tags.map(TagList::read).unwrap_or_default();
        let mut all = Self { wildcards: None, tags };
        all.note_names(&lists);
        (all, unread)
    }

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
