//! Pictures of this session: order, selection, and bounds of their memory.
//!
//! Invariants: a picture's pixels are let go only when its file is written; ids only grow; `shown`
//! is always a picture that is here.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use atelier_gallery::{PictureFlag, PictureId, PictureSummary};
use eframe::egui::TextureHandle;

use crate::gui::create::forming::Origin;
use atelier_core::picture_note::{PictureNote, used_recipe};
use atelier_core::recipe::{PartialRecipe, PictureInfo, Recipe, Rgb8};
use atelier_studio::opened_picture::OpenedPicture;

/// Pictures that the filmstrip holds; older ones are in the folder.
const MAX_PICTURES: usize = 500;
/// Bytes of pixels that are kept in memory; older pictures are read again from their files.
const MAX_BYTES: usize = 256 << 20;
/// Pictures that are kept on the graphics card, beside those of the contact sheet.
const MAX_TEXTURES: usize = 3;

/// Number of a picture, unique in this session and rising.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionPictureId(pub u64);

pub struct SessionPicture {
    pub id: SessionPictureId,
    /// Everything needed to make it again: with its own seed, and alone.
    pub recipe: Recipe,
    /// Index in its batch, and seed.
    pub info: PictureInfo,
    /// What a person should know of it.
    pub notes: Vec<PictureNote>,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Its pixels, until they are written and room is needed.
    pub pixels: Option<Arc<Rgb8>>,
    pub stored: PictureFile,
    /// Texture of the filmstrip; `None` until it is converted, and for pictures whose thumbnail the
    /// gallery has.
    pub thumbnail: Option<TextureHandle>,
    /// Its number in the gallery, once it is there.
    pub kept: Option<PictureId>,
    /// The person has picked it.
    pub is_picked: bool,
    /// It was made in this session, so that the engine may still keep its steps.
    pub is_made_here: bool,
    /// The engine's number of it; `None` for one that was there before.
    pub(crate) origin: Option<Origin>,
}

impl SessionPicture {
    /// True where it was upscaled, as it was made or afterwards.
    #[must_use]
    pub fn is_upscaled(&self) -> bool {
        self.recipe.hires.is_some() && !self.recipe.changes_part() && self.recipe.draft_step().is_none()
    }

    /// Its settings; without a model where that is not on this machine.
    #[must_use]
    pub fn settings(&self) -> PartialRecipe {
        let has_model = !self.recipe.files.is_empty();
        let files = Some(self.recipe.files.clone()).filter(|_| has_model);
        let negative_in_prompt = Some(self.recipe.negative_in_prompt).filter(|_| has_model);
        PartialRecipe { files, negative_in_prompt, ..PartialRecipe::of(&self.recipe) }
    }
}

/// The file of a finished picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureFile {
    /// It is being written.
    Writing,
    /// It is in this file.
    At(PathBuf),
    /// It could not be written; the pixels are kept.
    Failed,
}

/// A picture on the graphics card.
struct PictureTexture {
    of: SessionPictureId,
    texture: TextureHandle,
    /// It has all pixels that the graphics card takes; else it is as large as a cell of the contact
    /// sheet needs.
    is_whole: bool,
}

/// The pictures of this session, newest first.
#[derive(Default)]
pub struct Session {
    pictures: VecDeque<SessionPicture>,
    /// `None` follows what forms, then the newest.
    selected: Option<SessionPictureId>,
    /// The picture under the pointer, which commands mean before any other.
    pointed: Option<SessionPictureId>,
    textures: VecDeque<PictureTexture>,
    next_id: u64,
}

impl Session {
    /// Adds a finished picture and returns its number.
    pub fn push(&mut self, mut recipe: Recipe, info: PictureInfo, notes: Vec<PictureNote>, pixels: Arc<Rgb8>) -> SessionPictureId {
        let id = SessionPictureId(self.next_id);
        self.next_id += 1;
        recipe = used_recipe(recipe, &notes);
        recipe.seed = info.seed;
        recipe.batch_count = 1;
        let (width, height) = (pixels.width(), pixels.height());
        self.pictures.push_front(SessionPicture {
            id,
            recipe,
            info,
            notes,
            width,
            height,
            pixels: Some(pixels),
            stored: PictureFile::Writing,
            thumbnail: None,
            kept: None,
            is_picked: false,
            is_made_here: true,
            origin: None,
        });
        self.make_room();
        id
    }

    /// Adds a picture that is in a file and returns its number. Its pixels are read when they are
    /// shown.
    pub fn push_file(&mut self, picture: OpenedPicture, path: PathBuf) -> SessionPictureId {
        let picture = self.picture_in_file(picture, path);
        let id = picture.id;
        self.pictures.push_front(picture);
        self.make_room();
        id
    }

    /// Adds a picture of an earlier session behind all others, unless it is here already.
    pub fn push_earlier(&mut self, picture: OpenedPicture, of: PictureSummary) {
        let PictureSummary { id, path, flag, .. } = of;
        let is_here = |it: &SessionPicture| matches!(&it.stored, PictureFile::At(other) if *other == path);
        if self.pictures.len() >= MAX_PICTURES || self.pictures.iter().any(is_here) {
            return;
        }
        let picture = self.picture_in_file(picture, path);
        self.pictures.push_back(SessionPicture { kept: Some(id), is_picked: flag == Some(PictureFlag::Pick), ..picture });
    }

    /// A picture with a new number whose pixels are in this file.
    fn picture_in_file(&mut self, picture: OpenedPicture, path: PathBuf) -> SessionPicture {
        let recipe = picture.recipe();
        let OpenedPicture { info, notes, width, height, .. } = picture;
        let id = SessionPictureId(self.next_id);
        self.next_id += 1;
        SessionPicture {
            id,
            recipe,
            info,
            notes,
            width,
            height,
            pixels: None,
            stored: PictureFile::At(path),
            thumbnail: None,
            kept: None,
            is_picked: false,
            is_made_here: false,
            origin: None,
        }
    }

    /// Drops old pictures and pixels beyond the bounds, if they are on the disk.
    pub fn make_room(&mut self) {
        while self.pictures.len() > MAX_PICTURES && matches!(self.pictures.back().map(|it| &it.stored), Some(PictureFile::At(_))) {
            self.pictures.pop_back();
        }
        self.forget_missing();
        let mut bytes = 0;
        for picture in &mut self.pictures {
            let Some(pixels) = &picture.pixels else { continue };
            bytes += pixels.pixels().len();
            if bytes > MAX_BYTES && matches!(picture.stored, PictureFile::At(_)) {
                picture.pixels = None;
            }
        }
    }

    fn forget_missing(&mut self) {
        let is_here = |id: &SessionPictureId| self.pictures.iter().any(|it| it.id == *id);
        let (selected, pointed) = (self.selected.filter(is_here), self.pointed.filter(is_here));
        (self.selected, self.pointed) = (selected, pointed);
    }

    /// Takes a picture out, and says where it stood.
    pub fn remove(&mut self, id: SessionPictureId) -> Option<(usize, SessionPicture)> {
        let at = self.pictures.iter().position(|it| it.id == id)?;
        let picture = self.pictures.remove(at)?;
        self.textures.retain(|it| it.of != id);
        self.forget_missing();
        Some((at, picture))
    }

    /// Puts a picture that was taken out back to where it stood.
    pub fn put_back(&mut self, at: usize, picture: SessionPicture) {
        self.pictures.insert(at.min(self.pictures.len()), picture);
    }

    /// Newest first.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &SessionPicture> {
        self.pictures.iter()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.pictures.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pictures.is_empty()
    }

    /// The picture with this number.
    #[must_use]
    pub fn get(&self, id: SessionPictureId) -> Option<&SessionPicture> {
        self.pictures.iter().find(|it| it.id == id)
    }

    /// The picture with this number.
    pub fn get_mut(&mut self, id: SessionPictureId) -> Option<&mut SessionPicture> {
        self.pictures.iter_mut().find(|it| it.id == id)
    }

    /// True if no picture is selected: the forming one is shown, then the newest.
    #[must_use]
    pub fn following(&self) -> bool {
        self.selected.is_none()
    }

    /// Shows what forms, then the newest.
    pub fn follow(&mut self) {
        (self.selected, self.pointed) = (None, None);
    }

    /// The chosen picture.
    #[must_use]
    pub fn selected(&self) -> Option<SessionPictureId> {
        self.selected
    }

    /// The pointer is over this picture, or over none.
    pub fn point_at(&mut self, id: Option<SessionPictureId>) {
        self.pointed = id.filter(|id| self.get(*id).is_some());
    }

    /// The picture under the pointer.
    #[must_use]
    pub fn pointed(&self) -> Option<SessionPictureId> {
        self.pointed
    }

    /// The picture that commands mean: under the pointer, or chosen.
    #[must_use]
    pub fn meant(&self) -> Option<SessionPictureId> {
        self.pointed.or(self.selected)
    }

    /// The picture under the pointer is the chosen one from now on.
    pub fn choose_pointed(&mut self) {
        self.selected = self.pointed.take().or(self.selected);
    }

    /// Shows this picture, where it is still here.
    pub fn show(&mut self, id: SessionPictureId) {
        if self.get(id).is_some() {
            (self.selected, self.pointed) = (Some(id), None);
        }
    }

    /// The picture that is shown: the one under the pointer, else the chosen one, else the newest.
    #[must_use]
    pub fn shown(&self) -> Option<&SessionPicture> {
        self.meant().map_or_else(|| self.pictures.front(), |id| self.get(id))
    }

    fn shown_at(&self) -> Option<usize> {
        let id = self.shown()?.id;
        self.pictures.iter().position(|it| it.id == id)
    }

    /// The picture that was made after the one shown.
    #[must_use]
    pub fn newer(&self) -> Option<SessionPictureId> {
        Some(self.pictures.get(self.shown_at()?.checked_sub(1)?)?.id)
    }

    /// The picture that was made before the one shown.
    #[must_use]
    pub fn older(&self) -> Option<SessionPictureId> {
        Some(self.pictures.get(self.shown_at()? + 1)?.id)
    }

    /// Number of pictures that are still being written.
    #[must_use]
    pub fn writing(&self) -> usize {
        self.pictures.iter().filter(|it| it.stored == PictureFile::Writing).count()
    }

    /// The picture on the graphics card, where it is there.
    #[must_use]
    pub fn texture(&self, id: SessionPictureId) -> Option<&TextureHandle> {
        self.textures.iter().find(|it| it.of == id).map(|it| &it.texture)
    }

    /// True where all of the picture is on the graphics card.
    #[must_use]
    pub(crate) fn has_whole_texture(&self, id: SessionPictureId) -> bool {
        self.textures.iter().any(|it| it.of == id && it.is_whole)
    }

    /// Keeps a picture on the graphics card, and lets the oldest of those there go that are not
    /// `wanted`.
    pub(crate) fn keep_texture(
        &mut self,
        id: SessionPictureId,
        texture: TextureHandle,
        is_whole: bool,
        wanted: impl Fn(SessionPictureId) -> bool,
    ) {
        self.textures.retain(|it| it.of != id);
        self.textures.push_front(PictureTexture { of: id, texture, is_whole });
        let mut others = 0;
        self.textures.retain(|it| {
            others += usize::from(!wanted(it.of));
            wanted(it.of) || others <= MAX_TEXTURES
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::{PartialRecipe, Seed};
    use atelier_gallery::{FileHash, PictureKind, PictureState};
    use atelier_media::Tool;

    fn push(session: &mut Session, seed: u64, side: u32) -> SessionPictureId {
        let pixels = Rgb8::new(side, side, vec![0; (side * side * 3) as usize]).unwrap();
        session.push(
            Recipe { batch_count: 4, ..Recipe::default() },
            PictureInfo { index: 0, seed: Some(Seed(seed)), cpu_math: None, merged_loras: false },
            Vec::new(),
            Arc::new(pixels),
        )
    }

    #[test]
    fn a_picture_remembers_its_own_seed_and_is_made_again_alone() {
        let mut session = Session::default();
        let id = push(&mut session, 7, 1);
        let recipe = &session.get(id).unwrap().recipe;
        assert_eq!((recipe.seed, recipe.batch_count), (Some(Seed(7)), 1));
    }

    #[test]
    fn pictures_of_earlier_sessions_come_last_and_once() {
        let mut session = Session::default();
        let newest = push(&mut session, 7, 1);
        session.get_mut(newest).unwrap().stored = PictureFile::At("b.png".into());
        let opened = || OpenedPicture {
            tool: Tool::Atelier,
            settings: PartialRecipe::default(),
            understood: Vec::new(),
            not_understood: Vec::new(),
            differences: Vec::new(),
            missing: Vec::new(),
            info: PictureInfo { index: 0, seed: Some(Seed(3)), cpu_math: None, merged_loras: false },
            notes: Vec::new(),
            width: 1,
            height: 1,
        };
        let summary = |id: i64, path: &str| PictureSummary {
            id: PictureId(id),
            path: path.into(),
            file_hash: FileHash([0; 16]),
            bytes: 1,
            width: 1,
            height: 1,
            state: PictureState::Here,
            kind: PictureKind::Kept,
            tool: Some(Tool::Atelier),
            rating: 0,
            flag: None,
            created_ms: 0,
            prompt_start: String::new(),
            is_draft: false,
        };
        session.push_earlier(opened(), summary(9, "b.png"));
        session.push_earlier(opened(), summary(8, "a.png"));
        assert_eq!(session.iter().map(|it| it.kept).collect::<Vec<_>>(), [None, Some(PictureId(8))]);
        assert_eq!(session.shown().unwrap().id, newest);
    }

    #[test]
    fn a_picture_that_comes_back_stands_where_it_was() {
        let mut session = Session::default();
        let ids: Vec<_> = (0..3).map(|seed| push(&mut session, seed, 1)).collect();
        session.show(ids[1]);
        let (at, gone) = session.remove(ids[1]).unwrap();
        assert!(session.following() && session.len() == 2 && session.remove(ids[1]).is_none());
        session.put_back(at, gone);
        assert!(session.iter().map(|it| it.id).eq(ids.iter().rev().copied()));
    }

    #[test]
    fn the_picture_under_the_pointer_is_meant_and_nothing_else_changes() {
        let mut session = Session::default();
        let ids: Vec<_> = (0..3).map(|seed| push(&mut session, seed, 1)).collect();
        session.point_at(Some(ids[0]));
        assert!(session.following());
        assert_eq!(session.shown().unwrap().id, ids[0]);
        session.point_at(None);
        assert_eq!(session.shown().unwrap().id, ids[2]);
        session.point_at(Some(ids[1]));
        session.choose_pointed();
        assert_eq!((session.selected(), session.shown().unwrap().id), (Some(ids[1]), ids[1]));
    }

    #[test]
    fn newer_and_older_stop_at_the_ends() {
        let mut session = Session::default();
        let ids: Vec<_> = (0..3).map(|seed| push(&mut session, seed, 1)).collect();
        assert_eq!(session.shown().unwrap().id, ids[2]);
        assert_eq!((session.newer(), session.older()), (None, Some(ids[1])));
        session.show(ids[0]);
        assert_eq!((session.newer(), session.older()), (Some(ids[1]), None));
        assert!(!session.following());
    }

    #[test]
    fn pixels_go_only_when_they_are_on_the_disk() {
        let mut session = Session::default();
        let side = 4096;
        let ids: Vec<_> = (0..8).map(|seed| push(&mut session, seed, side)).collect();
        assert!(session.iter().all(|it| it.pixels.is_some()));
        for id in &ids {
            session.get_mut(*id).unwrap().stored = PictureFile::At("a.png".into());
        }
        session.make_room();
        let kept = session.iter().filter(|it| it.pixels.is_some()).count();
        assert!((1..8).contains(&kept), "{kept} kept");
        assert!(session.get(ids[7]).unwrap().pixels.is_some(), "the newest is kept");
    }

    #[test]
    fn the_filmstrip_is_bounded_and_never_drops_what_is_not_written() {
        let mut session = Session::default();
        let first = push(&mut session, 0, 1);
        for seed in 0..MAX_PICTURES as u64 + 5 {
            let id = push(&mut session, seed, 1);
            session.get_mut(id).unwrap().stored = PictureFile::At("a.png".into());
        }
        assert!(session.get(first).is_some());
        session.show(first);
        session.get_mut(first).unwrap().stored = PictureFile::At("a.png".into());
        session.make_room();
        assert_eq!(session.len(), MAX_PICTURES);
        assert!(session.following(), "what was shown is gone, so the newest is shown");
    }
}
