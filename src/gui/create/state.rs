//! State of the Create view: the pictures of this session, the one that forms, and how the canvas
//! shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use atelier_gallery::PictureSummary;
use eframe::egui::{TextureHandle, Vec2, vec2};

use crate::gui::create::dropped::DroppedPictures;
use crate::gui::create::prompt_history::PromptHistory;
use crate::gui::create::saving::SaveDialog;
use crate::gui::create::session::{Session, SessionPictureId};
use crate::gui::create::step_previews::{ShownStep, StepPreviews};
use crate::gui::shared::Shared;
use crate::gui::viewport::View;
use crate::settings::PreviewChoice;
use atelier_core::advice::Advice;
use atelier_core::canvas::PixelRect;
use atelier_core::recipe::Recipe;
use atelier_engine::{JobId, Preview, PreviewOptions};
use atelier_library::{Builtin, PreviewWay};

/// State of the Create view.
pub struct State {
    /// The pictures of this session.
    pub session: Session,
    /// The forming picture as it looks now.
    pub forming: Option<FormingPicture>,
    /// Size in pixels of the document or live picture that is shown in the place of a picture.
    pub document_size_px: Option<Vec2>,
    /// Zoom and position of the canvas.
    pub view: View,
    /// Preview of forming pictures.
    pub preview: PreviewChoice,
    /// The seed that was used last, to be kept on demand.
    pub last_seed: Option<i64>,
    /// The recipe with a seed of its own that was asked for last; `None` once its picture failed.
    pub(crate) last_asked: Option<AskedRecipe>,
    /// Notes on the picture shown are readable; else its mark alone is.
    pub shows_notes: bool,
    /// Folder of finished pictures.
    pub pictures_folder: PathBuf,
    /// Prompts of earlier pictures.
    pub prompts: PromptHistory,
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
    /// The newest preview that is not yet ready for the screen.
    pub(crate) pending_preview: Option<(JobId, Preview)>,
    /// Pictures that the queue is keeping, by the engine's job and the index in it.
    pub(crate) being_kept: BTreeMap<(JobId, u32), SessionPictureId>,
    /// Files of pictures whose pixels have not come yet.
    pub(crate) kept: BTreeMap<(JobId, u32), Result<PathBuf, Advice>>,
    pub(crate) is_converting_preview: bool,
    pub(crate) converting_picture: Option<SessionPictureId>,
    /// Pictures of earlier sessions that are read once the library knows where models are.
    pub(crate) unread_pictures: Vec<PictureSummary>,
    /// Files of the recipe when the disk was last checked for them.
    pub(crate) checked_files: Vec<PathBuf>,
    pub(crate) requested_thumbnails: BTreeSet<PathBuf>,
}

/// A recipe of the panel that was asked for.
pub(crate) struct AskedRecipe {
    pub(crate) recipe: Recipe,
    /// The first seed after those of its pictures.
    pub(crate) next_seed: i64,
}

impl State {
    /// The state at the start.
    #[must_use]
    pub fn new(preview: PreviewChoice, pictures_folder: PathBuf) -> Self {
        Self {
            session: Session::default(),
            forming: None,
            document_size_px: None,
            view: View::default(),
            preview,
            last_seed: None,
            last_asked: None,
            shows_notes: true,
            pictures_folder,
            prompts: PromptHistory::default(),
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
            pending_preview: None,
            being_kept: BTreeMap::new(),
            kept: BTreeMap::new(),
            is_converting_preview: false,
            converting_picture: None,
            unread_pictures: Vec::new(),
            checked_files: Vec::new(),
            requested_thumbnails: BTreeSet::new(),
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

    /// The size, in pixels, of what the canvas shows.
    #[must_use]
    pub fn canvas_size_px(&self) -> Option<Vec2> {
        if self.document_size_px.is_some() {
            return self.document_size_px;
        }
        if self.session.following()
            && let Some(forming) = &self.forming
        {
            return Some(vec2(forming.width as f32, forming.height as f32));
        }
        self.session.shown().map(|picture| vec2(picture.width as f32, picture.height as f32))
    }

    /// The thumbnail of this file, once it has been read.
    #[must_use]
    pub fn thumbnail(&self, path: &Path) -> Option<&TextureHandle> {
        self.thumbnails.iter().find(|(of, _)| of == path).map(|(_, texture)| texture)
    }
}

/// The forming picture as it looks now.
pub struct FormingPicture {
    pub job: JobId,
    /// Its pixels; often smaller than the picture will be.
    pub texture: TextureHandle,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// The part of the picture that the texture shows; `None`: the whole.
    pub place: Option<PixelRect>,
}

impl PreviewChoice {
    /// All of them, from nothing to most.
    pub const ALL: [Self; 3] = [Self::Off, Self::Quick, Self::Fine];

    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Off => "Off",
            Self::Quick => "Quick",
            Self::Fine => "Fine",
        }
    }

    /// Its effect, in a sentence.
    #[must_use]
    pub const fn tooltip(self) -> &'static str {
        match self {
            Self::Off => "Show the picture only when it is finished.",
            Self::Quick => "A rough preview during generation, at almost no cost.",
            Self::Fine => "A sharper preview after each step, with the tiny autoencoder (TAESD) if there is one. A little slower.",
        }
    }
}
