//! State of Live: the switch, the run that is under way, and the picture as it looks now.

use atelier_core::paths::Paths;
use eframe::egui::{Vec2, vec2};

use crate::gui::canvas::command::without_prompt;
use crate::gui::canvas::state::{Part, ShownPicture};
use crate::gui::canvas::work::{CandidateBase, DocumentNumber};
use crate::gui::create::forming::FormingPicture;
use crate::gui::create::progress::Progress;
use crate::gui::live::follower::Follower;
use crate::gui::shared::Shared;
use atelier_core::canvas::{AreaSettings, PixelRect, TileImage};
use atelier_core::recipe::{ImageSource, Recipe, Rgb8, Seed};
use atelier_engine::{JobId, Picture, Preview};
use atelier_studio::next_recipe::UnmetRequirement;

/// Seconds from which on a picture is too slow to be called live.
pub const LIVE_SECS: f64 = 2.0;

#[derive(Default)]
pub struct State {
    pub is_on: bool,
    /// Seconds that the last picture took, without loading its model.
    pub picture_secs: Option<f64>,
    /// True while a canvas is what is followed.
    pub follows_canvas: bool,
    pub(crate) follower: Follower<Source>,
    /// The seed where the settings keep none; `None` before it is drawn.
    pub(crate) seed: Option<Seed>,
    pub(crate) run: Option<LiveRun>,
    pub(crate) look: Option<Look>,
    /// The last picture that was finished where no canvas was followed.
    pub(crate) last_finished: Option<Rgb8>,
    /// The job whose looks are shown; `None` where a stroke has made them old.
    pub(crate) shown_job: Option<JobId>,
    /// The newest preview or picture that is not yet ready for the screen.
    pub(crate) pending: Option<Pending>,
    /// The job whose preview or picture is being made ready, with the picture where it is one.
    pub(crate) converting: Option<(JobId, Option<FinishedPicture>)>,
    /// The picture is to be accepted.
    pub(crate) accepts: bool,
    /// The person's folders; `None` keeps no pictures in the index.
    pub(crate) paths: Option<Paths>,
}

/// Everything that a live picture is made from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Source {
    /// The settings, of one picture and with its seed.
    pub(crate) recipe: Recipe,
    pub(crate) canvas: Option<CanvasSource>,
}

/// What a live picture is made from on the canvas.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CanvasSource {
    pub(crate) document: DocumentNumber,
    pub(crate) version: u64,
    pub(crate) part: Part,
    /// Denoising strength, 0 to 1.
    pub(crate) strength: f32,
    /// The part that the model sees, where the person has drawn it.
    pub(crate) crop: Option<PixelRect>,
    pub(crate) area: AreaSettings,
}

/// A job that the engine has.
pub(crate) struct LiveRun {
    pub(crate) job: JobId,
    pub(crate) recipe: Recipe,
    pub(crate) base: Option<CandidateBase>,
    pub(crate) has_begun: bool,
    pub(crate) is_stopped: bool,
    /// The queue was told that it is awaited.
    pub(crate) is_awaited: bool,
    pub(crate) progress: Progress,
}

/// A preview or picture that is not yet ready for the screen.
pub(crate) enum Pending {
    Preview(JobId, Preview),
    Picture(JobId, Box<FinishedPicture>),
}

#[derive(Clone)]
pub(crate) struct FinishedPicture {
    pub(crate) recipe: Recipe,
    pub(crate) picture: Picture,
    pub(crate) base: Option<CandidateBase>,
}

/// The picture as it looks now.
pub(crate) struct Look {
    /// Its pixels, or what it changes of a document.
    pub(crate) picture: FormingPicture,
    /// The document that it lies over; `None` where there is none.
    pub(crate) document: Option<DocumentNumber>,
    /// The finished picture, with what it changes of the document; `None` where it is a preview or
    /// was accepted.
    pub(crate) result: Option<(FinishedPicture, Option<TileImage>)>,
}

impl State {
    /// The state at the start.
    #[must_use]
    pub fn new(paths: Option<Paths>) -> Self {
        Self { paths, ..Self::default() }
    }

    /// `Ok` if a picture can be made; a canvas needs no words.
    ///
    /// # Errors
    /// The first requirement that is not met.
    pub fn ready(&self, shared: &Shared) -> Result<(), UnmetRequirement> {
        shared.next.ready().or_else(|unmet| if self.follows_canvas { without_prompt(unmet) } else { Err(unmet) })
    }

    /// The live picture, where no canvas is followed.
    #[must_use]
    pub fn shown(&self) -> Option<&FormingPicture> {
        self.look.as_ref().filter(|look| look.document.is_none() && !self.follows_canvas).map(|look| &look.picture)
    }

    /// The live picture over this document.
    #[must_use]
    pub fn shown_over(&self, document: DocumentNumber) -> Option<&FormingPicture> {
        self.look.as_ref().filter(|look| look.document == Some(document)).map(|look| &look.picture)
    }

    /// The live picture as something to paint on, where no canvas is followed: while the next one
    /// forms, the one before.
    #[must_use]
    pub(crate) fn shown_source(&self) -> Option<(ShownPicture, ImageSource)> {
        let look = self.look.as_ref().filter(|look| look.document.is_none() && !self.follows_canvas)?;
        let finished = look.result.as_ref().map(|(finished, _)| Rgb8::clone(&finished.picture.image));
        let pixels = finished.or_else(|| self.last_finished.clone())?;
        Some((ShownPicture::Live(look.picture.job), ImageSource::Pixels(pixels)))
    }

    /// Size in pixels of the live picture, where no canvas is followed.
    #[must_use]
    pub fn shown_size_px(&self) -> Option<Vec2> {
        self.shown().map(|picture| vec2(picture.width as f32, picture.height as f32))
    }

    /// True where a picture can be accepted.
    #[must_use]
    pub fn has_result(&self) -> bool {
        self.look.as_ref().is_some_and(|look| look.result.is_some())
    }

    /// True where a picture takes too long to be called live.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.picture_secs.is_some_and(|secs| secs > LIVE_SECS)
    }

    /// True while a picture is made.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.run.is_some()
    }

    /// Goes on showing the picture as it was before a stroke, which is drawn over it: it is the
    /// newest no longer, and what is still being made ready for the screen never will be.
    pub(crate) fn keep_look(&mut self) {
        (self.pending, self.shown_job) = (None, None);
        if let Some(look) = &mut self.look {
            look.result = None;
        }
    }

    /// Forgets what is shown, also what is still being made ready for the screen.
    pub(crate) fn forget_look(&mut self) {
        (self.look, self.pending, self.shown_job) = (None, None, None);
    }
}
