//! State of the Gallery view: the search and what it found, what is selected, large look and
//! comparison.
//!
//! Plain data. Pictures are numbers; their summaries and thumbnails come from the gallery's threads
//! for what is in sight alone.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atelier_core::recipe::Rgb8;
use atelier_gallery::{PictureDetails, PictureId, PictureSummary};
use atelier_library::{ModelCard, ModelKind};
use eframe::egui::TextureHandle;

use crate::gui::create::larger::Remake;
use crate::gui::gallery::compare::CompareMode;
use crate::gui::gallery::thumbnails::Thumbnails;
use crate::gui::screen::Screen;
use crate::gui::typed_path::parse_path;
use crate::gui::viewport::View;
use atelier_studio::gallery_service::{CopyForm, Export, ExportFormat, Found, Mark, Overview, Search};

/// Summaries kept beyond those in sight.
const MAX_SUMMARIES: usize = 4096;
/// Side of a cell at first, in points.
const USUAL_CELL_SIDE: f32 = 168.0;

/// State of the Gallery view.
pub struct State {
    /// The search as it is set now.
    pub search: Search,
    /// What the newest answered search found.
    pub found: Arc<Found>,
    /// The first answer has come.
    pub is_known: bool,
    /// Folders, saved searches, tags.
    pub overview: Arc<Overview>,
    /// Summaries of pictures in and near sight.
    pub summaries: HashMap<PictureId, PictureSummary>,
    /// Marks that are on their way to the index, in their order.
    pub(crate) unwritten_marks: VecDeque<(Vec<PictureId>, Mark)>,
    /// Thumbnails on the graphics card.
    pub thumbnails: Thumbnails,
    /// Least side of a cell, in points.
    pub cell_side: f32,
    pub selection: BTreeSet<PictureId>,
    /// Index of the picture with the cursor.
    pub cursor: Option<usize>,
    /// Index at which an extended selection began.
    pub anchor: Option<usize>,
    /// Indices in sight: from the first to before the last.
    pub visible: (usize, usize),
    /// What the main panel shows.
    pub mode: Mode,
    /// The screen that asked for the comparison, to which one goes back.
    pub came_from: Option<Screen>,
    /// Everything known of the picture under the cursor, and of pictures that are compared.
    pub details: HashMap<PictureId, Box<PictureDetails>>,
    /// Pixels on the graphics card, of pictures that are looked at or compared; `Err` is a
    /// sentence.
    pub pixels: HashMap<PictureId, Result<LargePicture, String>>,
    /// Difference of the two pictures that are compared.
    pub difference: Option<(PictureId, PictureId, TextureHandle)>,
    /// A scan goes on: words about it.
    pub scanning: Option<String>,
    pub dialog: Option<Dialog>,
    /// Settings of the last export, with which the next one begins.
    pub(crate) last_export: ExportChoice,
    /// Text of the field for a new tag.
    pub tag_text: String,
    /// The note as it is being typed, with its picture.
    pub note_text: Option<(PictureId, String)>,
    /// Pictures that went to the trash last can come back.
    pub can_restore: bool,
    /// Pictures that came back, to be selected in the next answer of the search.
    pub(crate) restored: Vec<PictureId>,
    /// A star, pick or reject moves the cursor on to the next picture.
    pub auto_advance: bool,
    /// The search field takes the keyboard in the next frame.
    pub focus_search: bool,
    /// The cursor's cell scrolls into view in the next frame.
    pub focus_cursor: bool,
    /// The view was on the screen in the last frame.
    pub was_on_screen: bool,
    /// Summaries in sight may be outdated.
    pub(crate) is_outdated: bool,
    /// What was asked for last: thumbnails, summaries, details and pixels.
    pub(crate) asked: Asked,
}

/// What is done with the files of the selected pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilesUse {
    /// Other pictures are made of them.
    Remake(Remake),
    /// They are references of the next picture.
    Reference,
    /// They show the person of the next picture.
    Person,
}

/// Requests whose answers are on their way.
#[derive(Default)]
pub(crate) struct Asked {
    pub(crate) thumbnails: Vec<PictureId>,
    pub(crate) summaries: Vec<PictureId>,
    pub(crate) details: Vec<PictureId>,
    pub(crate) pixels: Vec<PictureId>,
    /// Summaries of selected pictures, which need not be in sight: what their files are for, by the
    /// number of the request.
    pub(crate) files: Vec<(u64, FilesUse)>,
    /// Number of the last such request.
    pub(crate) last_files: u64,
}

/// A picture in full size on the graphics card.
pub struct LargePicture {
    /// The picture on the graphics card, at most as large as that takes.
    pub texture: TextureHandle,
    pub pixels: Arc<Rgb8>,
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
}

/// What the main panel shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Mode {
    #[default]
    Grid,
    /// The picture under the cursor, large.
    Look(View),
    Compare(Comparison),
}

/// A comparison of two pictures.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub first: PictureId,
    pub second: PictureId,
    /// Way to look at them.
    pub mode: CompareMode,
    /// Zoom and position of both.
    pub view: View,
    /// Place of the divider, 0 (left) to 1.
    pub divider: f32,
}

/// A dialog over the view.
#[derive(Clone, Debug, PartialEq)]
pub enum Dialog {
    /// Name of a search that is kept.
    SaveSearch(String),
    /// Settings of an export; its folder is chosen last.
    Export(ExportChoice),
}

/// Settings of an export, but for its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportChoice {
    /// Name of the copies; empty for that of each picture.
    pub name: String,
    pub form: CopyForm,
    /// The folder as it is typed, where the system has no dialog for it.
    pub folder: Option<String>,
}

impl ExportChoice {
    /// As it is at first.
    pub const USUAL: Self = Self { name: String::new(), form: CopyForm::whole(ExportFormat::Png), folder: None };
}

impl Default for State {
    fn default() -> Self {
        Self {
            search: Search::default(),
            found: Arc::default(),
            is_known: false,
            overview: Arc::default(),
            summaries: HashMap::new(),
            unwritten_marks: VecDeque::new(),
            thumbnails: Thumbnails::default(),
            cell_side: USUAL_CELL_SIDE,
            selection: BTreeSet::new(),
            cursor: None,
            anchor: None,
            visible: (0, 0),
            mode: Mode::default(),
            details: HashMap::new(),
            pixels: HashMap::new(),
            difference: None,
            scanning: None,
            dialog: None,
            last_export: ExportChoice::USUAL,
            tag_text: String::new(),
            note_text: None,
            can_restore: false,
            restored: Vec::new(),
            auto_advance: false,
            came_from: None,
            focus_search: false,
            focus_cursor: false,
            was_on_screen: false,
            is_outdated: false,
            asked: Asked::default(),
        }
    }
}

impl State {
    /// Replaces what was found; cursor and selection stay with their pictures, where these are
    /// still found.
    pub fn set_found(&mut self, found: Arc<Found>) {
        let index_of = |at: Option<usize>| {
            let id = *self.found.ids.get(at?)?;
            found.ids.iter().position(|it| *it == id)
        };
        let (cursor, anchor) = (index_of(self.cursor), index_of(self.anchor));
        if !self.selection.is_empty() {
            let here: std::collections::HashSet<PictureId> = found.ids.iter().copied().collect();
            self.selection.retain(|id| here.contains(id));
        }
        // What was deleted leaves the cursor where it was.
        let last = found.ids.len().checked_sub(1);
        self.cursor = cursor.or_else(|| self.cursor.and_then(|at| last.map(|last| at.min(last))));
        self.anchor = anchor;
        self.found = found;
        self.is_known = true;
        self.select_restored();
        if self.cursor.is_none() && matches!(self.mode, Mode::Look(_)) {
            self.mode = Mode::Grid;
        }
    }

    /// Selects the pictures that came back, as far as the search finds them.
    fn select_restored(&mut self) {
        let restored: BTreeSet<PictureId> = std::mem::take(&mut self.restored).into_iter().collect();
        let Some(first) = self.found.ids.iter().position(|id| restored.contains(id)) else { return };
        self.set_cursor(first, false);
        self.selection = self.found.ids.iter().copied().filter(|id| restored.contains(id)).collect();
    }

    /// Adds summaries, and lets old ones go.
    pub fn add_summaries(&mut self, summaries: Vec<PictureSummary>) {
        if self.summaries.len() > MAX_SUMMARIES {
            let near: BTreeSet<PictureId> = self.in_sight().collect();
            self.summaries.retain(|id, _| near.contains(id));
        }
        for mut summary in summaries {
            self.unwritten_marks(summary.id).for_each(|mark| mark_summary(mark, &mut summary));
            self.summaries.insert(summary.id, summary);
        }
    }

    /// Adds what is known of a picture.
    pub(crate) fn add_details(&mut self, id: PictureId, mut details: Box<PictureDetails>) {
        self.unwritten_marks(id).for_each(|mark| mark_details(mark, &mut details));
        self.details.insert(id, details);
    }

    /// Shows a mark at once. `is_sent`: it is on its way to the index, and what is read from there
    /// may not have it yet.
    pub(crate) fn mark(&mut self, ids: &[PictureId], mark: &Mark, is_sent: bool) {
        for id in ids {
            if let Some(summary) = self.summaries.get_mut(id) {
                mark_summary(mark, summary);
            }
            if let Some(details) = self.details.get_mut(id) {
                mark_details(mark, details);
            }
        }
        if is_sent {
            self.unwritten_marks.push_back((ids.to_vec(), mark.clone()));
        }
    }

    /// The marks of a picture that the index may not have yet, in their order.
    fn unwritten_marks(&self, id: PictureId) -> impl Iterator<Item = &Mark> {
        self.unwritten_marks.iter().filter(move |(ids, _)| ids.contains(&id)).map(|(_, mark)| mark)
    }

    /// Pictures in sight, in order.
    pub fn in_sight(&self) -> impl Iterator<Item = PictureId> {
        let (from, to) = self.visible;
        self.found.ids.get(from..to.min(self.found.ids.len())).unwrap_or_default().iter().copied()
    }

    /// Pictures that the view shows when it opens: those it showed last, else the first ones.
    pub(crate) fn next_page(&self) -> Vec<PictureId> {
        /// More than a window of 1440 by 900 shows at first.
        const FIRST_PAGE: usize = 48;
        /// Of very small cells.
        const MAX: usize = 200;
        let (from, to) = if self.visible.0 < self.visible.1 { self.visible } else { (0, FIRST_PAGE) };
        self.found.ids.iter().copied().skip(from).take((to - from).min(MAX)).collect()
    }

    /// The picture with the cursor.
    #[must_use]
    pub fn current(&self) -> Option<PictureId> {
        self.found.ids.get(self.cursor?).copied()
    }

    /// Pictures that a command is about: the selected ones, else the one with the cursor.
    #[must_use]
    pub fn targets(&self) -> Vec<PictureId> {
        if self.selection.is_empty() || matches!(self.mode, Mode::Look(_)) {
            return self.current().into_iter().collect();
        }
        // In the order of the grid.
        if self.selection.len() * 8 < self.found.ids.len() {
            return self.selection.iter().rev().copied().collect();
        }
        self.found.ids.iter().copied().filter(|id| self.selection.contains(id)).collect()
    }

    /// Number of [`Self::targets`].
    #[must_use]
    pub fn target_count(&self) -> usize {
        if self.selection.is_empty() || matches!(self.mode, Mode::Look(_)) {
            usize::from(self.current().is_some())
        } else {
            self.selection.len()
        }
    }

    /// True where some of [`Self::targets`] is a draft, or may be one because nothing is known of it.
    #[must_use]
    pub fn may_have_drafts(&self) -> bool {
        let may_be = |id: &PictureId| self.summaries.get(id).is_none_or(|summary| summary.is_draft);
        if self.selection.is_empty() || matches!(self.mode, Mode::Look(_)) {
            return self.current().is_some_and(|id| may_be(&id));
        }
        self.selection.iter().any(may_be)
    }

    /// The two pictures that can be compared: those selected.
    #[must_use]
    pub fn pair(&self) -> Option<(PictureId, PictureId)> {
        if self.selection.len() != 2 {
            return None;
        }
        match self.targets()[..] {
            [first, second] => Some((first, second)),
            _ => None,
        }
    }

    /// Details of the picture with the cursor.
    #[must_use]
    pub fn current_details(&self) -> Option<&PictureDetails> {
        self.details.get(&self.current()?).map(Box::as_ref)
    }

    /// The newest picture made with the model or LoRA of a card.
    #[must_use]
    pub fn latest_of_card(&self, card: &ModelCard) -> Option<PictureId> {
        let latest = &self.overview.latest;
        if card.kind == ModelKind::Lora {
            let path = card.files.iter().find_map(|file| file.path.as_deref())?;
            return self.latest_of_lora(&path.file_stem()?.to_string_lossy());
        }
        let files = card.files.iter().filter_map(|file| file.path.as_deref()?.file_name()?.to_str());
        let by_file = files.filter_map(|name| latest.by_model_file.get(name)).max();
        by_file.or_else(|| latest.by_model_name.get(&card.name)).copied()
    }

    /// The newest picture made with the LoRA of this name.
    #[must_use]
    pub fn latest_of_lora(&self, name: &str) -> Option<PictureId> {
        self.overview.latest.by_lora.get(name).copied()
    }

    /// Moves the cursor to this index; `extends` selects everything from where the selection began.
    pub fn set_cursor(&mut self, index: usize, extends: bool) {
        let Some(id) = self.found.ids.get(index).copied() else { return };
        if extends {
            let anchor = self.anchor.or(self.cursor).unwrap_or(index);
            self.anchor = Some(anchor);
            let range = anchor.min(index)..=anchor.max(index);
            self.selection = self.found.ids.get(range).unwrap_or_default().iter().copied().collect();
        } else {
            self.selection = BTreeSet::from([id]);
            self.anchor = Some(index);
        }
        self.cursor = Some(index);
        self.focus_cursor = true;
    }

    /// Adds this picture to the selection, or takes it out.
    pub fn toggle(&mut self, index: usize) {
        let Some(id) = self.found.ids.get(index).copied() else { return };
        if !self.selection.remove(&id) {
            self.selection.insert(id);
        }
        (self.cursor, self.anchor) = (Some(index), Some(index));
    }

    /// Settings of the next export; its folder follows.
    #[must_use]
    pub fn export(&self, folder: PathBuf) -> Option<Export> {
        match &self.dialog {
            Some(Dialog::Export(ExportChoice { name, form, .. })) => Some(Export { folder, name: name.clone(), form: *form }),
            Some(Dialog::SaveSearch(_)) | None => None,
        }
    }

    /// The folder that was typed for the export; `None` where it is to be chosen.
    #[must_use]
    pub fn typed_folder(&self) -> Option<PathBuf> {
        match &self.dialog {
            Some(Dialog::Export(choice)) => choice.folder.as_deref().map(|folder| parse_path(Path::new(folder))),
            Some(Dialog::SaveSearch(_)) | None => None,
        }
    }
}

fn mark_summary(mark: &Mark, summary: &mut PictureSummary) {
    match mark {
        Mark::Rating(stars) => summary.rating = *stars,
        Mark::Flag(flag) => summary.flag = *flag,
        Mark::AddTag(_) | Mark::RemoveTag(_) | Mark::Note(_) => {}
    }
}

fn mark_details(mark: &Mark, details: &mut PictureDetails) {
    mark_summary(mark, &mut details.summary);
    match mark {
        Mark::AddTag(tag) if !details.tags.contains(tag) => details.tags.push(tag.clone()),
        Mark::RemoveTag(tag) => details.tags.retain(|it| it != tag),
        Mark::Note(note) => details.note.clone_from(note),
        Mark::AddTag(_) | Mark::Rating(_) | Mark::Flag(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use atelier_gallery::{FileHash, PictureKind, PictureState};

    use super::*;

    #[test]
    fn what_was_read_before_a_mark_was_written_does_not_take_it_back() {
        let summary = PictureSummary {
            id: PictureId(7),
            path: "a.png".into(),
            file_hash: FileHash([0; 16]),
            bytes: 1,
            width: 64,
            height: 64,
            state: PictureState::Here,
            kind: PictureKind::Kept,
            tool: None,
            rating: 0,
            flag: None,
            created_ms: 0,
            prompt_start: "a lake".into(),
            is_draft: false,
        };
        let id = summary.id;
        let mut state = State::default();
        state.add_summaries(vec![summary.clone()]);
        state.mark(&[id], &Mark::Rating(4), true);
        state.mark(&[id], &Mark::Rating(5), true);
        state.add_summaries(vec![summary.clone()]);
        assert_eq!(state.summaries[&id].rating, 5);
        state.unwritten_marks.pop_front();
        state.add_summaries(vec![PictureSummary { rating: 4, ..summary.clone() }]);
        assert_eq!(state.summaries[&id].rating, 5, "the second one is still on its way");
        state.unwritten_marks.pop_front();
        state.add_summaries(vec![PictureSummary { rating: 3, ..summary }]);
        assert_eq!(state.summaries[&id].rating, 3, "from here on the index knows");
    }
}
