//! State of the Create view: the pictures of this session, the one that forms, and how the canvas
//! shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atelier_gallery::PictureSummary;
use atelier_language::tr;
use eframe::egui::{Context, TextureHandle, TextureId, Vec2, vec2};

use crate::gui::create::dropped::DroppedPictures;
use crate::gui::create::examples::Examples;
use crate::gui::create::forming::{FormingPicture, FormingPictures, Origin};
use crate::gui::create::prompt_history::PromptHistory;
use crate::gui::create::save_dialog::SaveDialog;
use crate::gui::create::session::{Session, SessionPicture, SessionPictureId};
use crate::gui::create::sheet::Sheet;
use crate::gui::create::step_previews::{ShownStep, StepPreviews};
use crate::gui::create::tokens::TokenCounts;
use crate::gui::create::word_lists::{ListFollower, WordLists};
use crate::gui::shared::Shared;
use crate::gui::viewport::{View, canvas_rect, shows_pixels};
use crate::settings::{Fold, PreviewChoice};
use atelier_core::advice::Advice;
use atelier_core::recipe::{Recipe, Seed};
use atelier_engine::PreviewOptions;
use atelier_library::{Builtin, PreviewWay};
use atelier_studio::queue::KeptPicture;

/// State of the Create view.
pub struct State {
    /// The pictures of this session.
    pub session: Session,
    /// The pictures that form, as they look now.
    pub forming: FormingPictures,
    /// The pictures that are shown side by side.
    pub sheet: Sheet,
    /// Pictures that went to the trash last, and where they stood.
    pub(crate) trashed: Vec<(usize, SessionPicture)>,
    /// Undo takes the last picture back from the trash: nothing was changed since.
    pub(crate) trash_is_last: bool,
    /// What an empty start shows of the chosen model.
    pub examples: Examples,
    /// Size in pixels of the document or live picture that is shown in the place of a picture.
    pub document_size_px: Option<Vec2>,
    /// Zoom and position of the canvas.
    pub view: View,
    /// Preview of forming pictures.
    pub preview: PreviewChoice,
    /// The seed that was used last, to be kept on demand.
    pub last_seed: Option<Seed>,
    /// The recipe with a seed of its own that was asked for last; `None` once its picture failed.
    pub(crate) last_asked: Option<AskedRecipe>,
    /// Notes on the picture shown are readable; else its mark alone is.
    pub shows_notes: bool,
    /// Folder of finished pictures.
    pub pictures_folder: PathBuf,
    /// Folder of lists of words that prompts name; `None` where this person has no folders.
    pub wildcards: Option<PathBuf>,
    /// Folder of files of tags; `None` where this person has no folders.
    pub tags: Option<PathBuf>,
    /// When the lists in these folders are read.
    pub list_follower: ListFollower,
    /// What completes prompts.
    pub word_lists: WordLists,
    /// The prompts in tokens of the chosen model.
    pub tokens: TokenCounts,
    /// Prompts of earlier pictures.
    pub prompts: PromptHistory,
    /// The parts of the settings that are unfolded.
    pub open_folds: BTreeSet<Fold>,
    /// Names of the settings that the person changed last, the last one first.
    pub recent_settings: Vec<String>,
    /// Number of the setting that is to be brought into sight.
    pub wanted_setting: Option<usize>,
    /// Search of the list of LoRAs.
    pub lora_search: String,
    /// Pictures that wait for the person to say what they are for.
    pub dropped: Option<DroppedPictures>,
    /// The dialog in which a place for a picture is typed, or its quality chosen.
    pub save_dialog: Option<Box<SaveDialog>>,
    /// The path that is being typed, where the field for it is open.
    pub typed_path: Option<String>,
    /// Thumbnails of the start picture and the mask, by file.
    pub thumbnails: Vec<(PathBuf, TextureHandle)>,
    /// Asks the open dialog's first control to take the keyboard in the next frame.
    pub focus_dialog: bool,
    /// Asks the prompt to take the keyboard in the next frame.
    pub focus_prompt: bool,
    /// Previews of the steps of the last pictures.
    pub step_previews: StepPreviews,
    /// The step that is shown in the place of its picture; without effect while another picture is
    /// shown.
    pub shown_step: Option<ShownStep>,
    /// Pictures that the queue is keeping, by the engine's job and the index in it.
    pub(crate) being_kept: BTreeMap<Origin, SessionPictureId>,
    /// Files of pictures whose pixels have not come yet.
    pub(crate) kept: BTreeMap<Origin, Result<KeptPicture, Advice>>,
    pub(crate) converting_picture: Option<SessionPictureId>,
    /// Pictures of earlier sessions that are read once the library knows where models are.
    pub(crate) unread_pictures: Vec<PictureSummary>,
    /// Files of the recipe when the disk was last checked for them.
    pub(crate) checked_files: Vec<PathBuf>,
    pub(crate) requested_thumbnails: BTreeSet<PathBuf>,
    /// The texture of the picture shown, and whether its pixels are squares.
    pub(crate) filtered: Option<(TextureId, bool)>,
}

/// A recipe of the panel that was asked for.
pub(crate) struct AskedRecipe {
    pub(crate) recipe: Recipe,
    /// The first seed after those of its pictures.
    pub(crate) next_seed: Seed,
}

impl State {
    /// The state at the start.
    #[must_use]
    pub fn new(preview: PreviewChoice, pictures_folder: PathBuf) -> Self {
        Self {
            session: Session::default(),
            forming: FormingPictures::default(),
            sheet: Sheet::default(),
            trashed: Vec::new(),
            trash_is_last: false,
            examples: Examples::default(),
            document_size_px: None,
            view: View::default(),
            preview,
            last_seed: None,
            last_asked: None,
            shows_notes: true,
            pictures_folder,
            wildcards: None,
            tags: None,
            list_follower: ListFollower::default(),
            word_lists: WordLists::default(),
            tokens: TokenCounts::default(),
            prompts: PromptHistory::default(),
            open_folds: BTreeSet::new(),
            recent_settings: Vec::new(),
            wanted_setting: None,
            lora_search: String::new(),
            dropped: None,
            save_dialog: None,
            typed_path: None,
            thumbnails: Vec::new(),
            focus_dialog: false,
            focus_prompt: true,
            step_previews: StepPreviews::default(),
            shown_step: None,
            being_kept: BTreeMap::new(),
            kept: BTreeMap::new(),
            converting_picture: None,
            unread_pictures: Vec::new(),
            checked_files: Vec::new(),
            requested_thumbnails: BTreeSet::new(),
            filtered: None,
        }
    }

    /// Preview options of the next job.
    #[must_use]
    pub fn preview_options(&self, shared: &Shared) -> PreviewOptions {
        let own_colours =
            |builtin: &Arc<Builtin>| builtin.is_in(&shared.next.recipe) && builtin.manifest().defaults.preview == Some(PreviewWay::Tae);
        match self.preview {
            PreviewChoice::Off => PreviewOptions::Off,
            PreviewChoice::Quick if shared.next.builtin.as_ref().is_ok_and(own_colours) => PreviewOptions::Adaptive,
            PreviewChoice::Quick => PreviewOptions::Projection { every: 1 },
            PreviewChoice::Fine => PreviewOptions::TinyAutoencoder { every: 1 },
        }
    }

    /// The forming picture that is shown: where the person follows what is made, the first.
    #[must_use]
    pub fn forming_shown(&self) -> Option<&FormingPicture> {
        self.forming.first().filter(|_| self.session.following())
    }

    /// True where the pictures of the sheet are shown side by side.
    #[must_use]
    pub fn shows_sheet(&self) -> bool {
        let is_in_sheet = self.session.selected().is_none_or(|id| self.sheet.has(id));
        self.sheet.is_several() && !self.sheet.is_large && self.document_size_px.is_none() && is_in_sheet
    }

    /// True where one picture is shown large in the place of the sheet.
    #[must_use]
    pub fn goes_back_to_sheet(&self) -> bool {
        self.sheet.is_several() && !self.shows_sheet() && self.document_size_px.is_none()
    }

    /// The size, in pixels, of what the canvas shows as one picture.
    #[must_use]
    pub fn canvas_size_px(&self) -> Option<Vec2> {
        if self.document_size_px.is_some() {
            return self.document_size_px;
        }
        if self.shows_sheet() {
            return None;
        }
        if let Some(forming) = self.forming_shown() {
            return Some(vec2(forming.width as f32, forming.height as f32));
        }
        self.session.shown().map(|picture| vec2(picture.width as f32, picture.height as f32))
    }

    /// True where what the canvas shows is so near that its pixels are squares.
    #[must_use]
    pub(crate) fn shows_pixels(&self, ctx: &Context) -> bool {
        let scale = canvas_rect(ctx).zip(self.canvas_size_px()).map(|(canvas, size)| self.view.scale(size, canvas));
        scale.is_some_and(|scale| shows_pixels(scale, ctx.pixels_per_point()))
    }

    /// The thumbnail of this file, once it has been read.
    #[must_use]
    pub fn thumbnail(&self, path: &Path) -> Option<&TextureHandle> {
        self.thumbnails.iter().find(|(of, _)| of == path).map(|(_, texture)| texture)
    }
}

impl PreviewChoice {
    /// All of them, from nothing to most.
    pub const ALL: [Self; 3] = [Self::Off, Self::Quick, Self::Fine];

    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Off => tr!("create-off"),
            Self::Quick => tr!("create-quick"),
            Self::Fine => tr!("create-fine"),
        }
    }

    /// Its effect, in a sentence.
    #[must_use]
    pub fn tooltip(self) -> &'static str {
        match self {
            Self::Off => tr!("create-show-the-picture-only"),
            Self::Quick => tr!("create-a-rough-preview-during"),
            Self::Fine => tr!("create-a-sharper-preview-after"),
        }
    }
}
