//! Undo and redo: contents of the document, which share what has not changed, bounded by the bytes
//! that they hold alone.

use std::collections::VecDeque;

use super::content::DocumentContent;

/// Most bytes that undo and redo keep beside the document.
pub const MAX_HISTORY_BYTES: usize = 512 << 20;

/// A content to go back, or forward, to.
#[derive(Clone, Debug)]
struct Entry {
    name: &'static str,
    content: DocumentContent,
    /// Bytes that the next content towards the present does not share.
    bytes: usize,
}

/// The changes of a document.
#[derive(Clone, Debug)]
pub(super) struct History {
    undo: VecDeque<Entry>,
    redo: VecDeque<Entry>,
    most_bytes: usize,
}

impl Default for History {
    fn default() -> Self {
        Self::bounded(MAX_HISTORY_BYTES)
    }
}

impl History {
    pub(super) const fn bounded(most_bytes: usize) -> Self {
        Self { undo: VecDeque::new(), redo: VecDeque::new(), most_bytes }
    }

    /// Keeps the content before a change of this name.
    pub(super) fn push(&mut self, name: &'static str, before: DocumentContent, now: &DocumentContent) {
        self.redo.clear();
        let bytes = before.bytes_apart(now);
        self.undo.push_back(Entry { name, content: before, bytes });
        while self.bytes() > self.most_bytes && self.undo.pop_front().is_some() {}
    }

    /// Name of the newest change, and the content before it.
    pub(super) fn last(&self) -> Option<(&'static str, &DocumentContent)> {
        self.undo.back().map(|entry| (entry.name, &entry.content))
    }

    pub(super) fn next_undo(&self) -> Option<&'static str> {
        self.undo.back().map(|entry| entry.name)
    }

    pub(super) fn next_redo(&self) -> Option<&'static str> {
        self.redo.back().map(|entry| entry.name)
    }

    /// The content before the newest change.
    pub(super) fn undo(&mut self, now: &DocumentContent) -> Option<DocumentContent> {
        let Entry { name, content, .. } = self.undo.pop_back()?;
        self.redo.push_back(Entry { name, content: now.clone(), bytes: now.bytes_apart(&content) });
        Some(content)
    }

    /// The content after the change that was undone last.
    pub(super) fn redo(&mut self, now: &DocumentContent) -> Option<DocumentContent> {
        let Entry { name, content, .. } = self.redo.pop_back()?;
        self.undo.push_back(Entry { name, content: now.clone(), bytes: now.bytes_apart(&content) });
        Some(content)
    }

    pub(super) fn clear(&mut self) {
        self.undo.clear();
        self.redo.clear();
    }

    /// Bytes that are kept beside the document.
    pub(super) fn bytes(&self) -> usize {
        self.undo.iter().chain(&self.redo).map(|entry| entry.bytes).sum()
    }
}
