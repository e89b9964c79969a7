//! Lists of words and tags of this person, which complete prompts.

use std::path::Path;

use atelier_library::disk::WildcardLists;
use atelier_studio::tags::TagList;

/// Lists as they were when the window opened.
#[derive(Debug, Default)]
pub struct WordLists {
    /// Names of lists of words.
    pub wildcards: Vec<String>,
    /// Tags with their counts.
    pub tags: TagList,
}

impl WordLists {
    /// Reads the lists of these folders. Returns a sentence for each file of tags that could not be
    /// read; those of lists are told once a prompt names one. Blocks.
    pub(crate) fn read(wildcards: Option<&Path>, tags: Option<&Path>) -> (Self, Vec<String>) {
        let folders: Vec<_> = wildcards.into_iter().map(Path::to_owned).collect();
        let (lists, _) = WildcardLists::read(&folders);
        let (tags, unread) = tags.map(TagList::read).unwrap_or_default();
        (Self { wildcards: lists.names().map(str::to_owned).collect(), tags }, unread)
    }
}
