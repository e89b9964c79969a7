//! The window's mind: its state, the commands that change it, and the threads behind it.
//!
//! `logic` folds engine events and thread reports into [`State`]; `ui` lets the panels draw it and collects [`Command`]s; `dispatch`
//! carries those out. Nothing here waits: disks, dialogs and pixels have threads of their own, the engine has its own.
//! Nothing here draws; that is [`crate::gui::frame`].

mod cards;
mod command;
pub mod create;
pub mod devices;
mod dispatch;
mod events;
pub mod files;
pub mod frame;
mod icons;
pub mod memory;
pub mod models;
mod pixels;
mod standing;
pub mod state;
pub mod theme;
mod toolbar;
mod widgets;
mod window;
pub(crate) mod workers;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use eframe::egui;

use crate::gui::frame as ui;
use crate::settings::{Settings, StoredPreview, WindowPlace};
use crate::studio::library_service;
use atelier_core::recipe::{ModelFiles, Recipe};
use atelier_engine::{Handle, Preview};
use atelier_library::Builtin;
use files::FileTask;
use state::{Closing, Notice, PreviewChoice, State, ThemeChoice};
use workers::{Wake, Workers};

pub use crate::studio::library_service::LibraryOptions;
pub use command::{Command, Commands, Shortcut};
pub use create::session::{PictureId, SessionPicture, Stored};
pub use create::viewport::View;
pub use devices::board::BoardCommand;
pub use memory::MemoryCommand;
pub use models::ModelsCommand;
pub use window::{Options, WindowError, run};

/// Seconds after the last change until the settings are written.
const SAVE_AFTER_SECS: f64 = 1.0;
/// Longest time that closing waits for the engine to stop and for files to be written.
const CLOSE_WITHIN_SECS: f64 = 10.0;
/// How long a notice is shown.
const NOTICE_SECS: f64 = 5.0;

/// The window without its frame: what `eframe` drives, and what tests drive in its place.
pub struct App {
    state: State,
    handle: Handle,
    workers: Workers,
    /// `None` where this person has no library.
    library: Option<library_service::LibraryService>,
    kept: Kept,
    preview_wanted: Option<(atelier_engine::JobId, Preview)>,
    preview_busy: bool,
    picture_busy: Option<PictureId>,
    checked_files: Vec<PathBuf>,
    looks_asked: BTreeSet<PathBuf>,
    link: devices::link::Link,
    fitting: models::fitting::Fitting,
}

/// What is kept for the next start, and when.
struct Kept {
    path: Option<PathBuf>,
    /// As they were last written or read.
    written: Settings,
    changed_at_secs: Option<f64>,
    window: Option<WindowPlace>,
    wgpu: bool,
    pictures_folder: Option<PathBuf>,
}

/// The recipe that the window opens with, and the person's own where that is another one. Who has chosen no model begins with the built-in
/// one.
fn first_recipe(settings: &Settings, builtin: Option<&Builtin>) -> (Recipe, Option<Box<Recipe>>) {
    let mut recipe = settings.recipe.clone();
    match builtin {
        Some(builtin) if settings.builtin => {
            let own: ModelFiles = std::mem::replace(&mut recipe.files, builtin.files().clone());
            (recipe, (!own.is_empty()).then(|| Box::new(Recipe { files: own, ..Recipe::default() })))
        }
        Some(builtin) if recipe.files.is_empty() => {
            builtin.apply(&mut recipe);
            (recipe, None)
        }
        Some(_) | None => (recipe, None),
    }
}

impl App {
    /// A window for this engine.
    ///
    /// # Errors
    /// Where the system has no threads to give.
    pub fn new(ctx: &egui::Context, handle: Handle, options: &Options, settings: Settings) -> std::io::Result<Self> {
        theme::install(ctx);
        let waker = ctx.clone();
        let wake: Wake = Arc::new(move || waker.request_repaint_after(Duration::from_millis(1)));
        let workers = Workers::start(Arc::clone(&wake))?;
        let builtin = options.builtin.as_deref().ok().map(atelier_library::builtin_card);
        let library =
            options.library.clone().map(|it| library_service::LibraryService::start(it, builtin.clone(), move || wake())).transpose()?;
        let theme = match settings.dark {
            None => ThemeChoice::System,
            Some(true) => ThemeChoice::Dark,
            Some(false) => ThemeChoice::Light,
        };
        theme::choose(ctx, theme);
        let (recipe, own) = first_recipe(&settings, options.builtin.as_deref().ok());
        let state = State {
            screen: state::Screen::default(),
            board: devices::board::Board::kept(&settings),
            models: models::ModelsView::new(builtin, options.library.is_some()),
            recipe,
            builtin: options.builtin.clone(),
            own,
            last_seed: None,
            preview: match settings.preview {
                StoredPreview::Off => PreviewChoice::Off,
                StoredPreview::Quick => PreviewChoice::Quick,
                StoredPreview::Fine => PreviewChoice::Fine,
            },
            theme,
            pictures_folder: settings.pictures_folder.clone().unwrap_or_else(|| options.pictures_folder.clone()),
            jobs: state::Jobs::default(),
            session: create::session::Session::default(),
            forming: None,
            view: View::default(),
            error: None,
            notice: None,
            closing: Closing::No,
            dialog_open: false,
            typed_path: None,
            unplaced: Vec::new(),
            missing: BTreeSet::new(),
            thumbnails: Vec::new(),
            residency: atelier_engine::Residency::default(),
            memory: memory::Memory::kept(&settings, options.settings_path.as_deref()),
            focus_prompt: true,
        };
        let kept = Kept {
            path: options.settings_path.clone(),
            changed_at_secs: None,
            window: settings.window,
            wgpu: settings.wgpu,
            pictures_folder: settings.pictures_folder.clone(),
            written: settings,
        };
        let mut app = Self {
            state,
            handle,
            workers,
            library,
            kept,
            preview_wanted: None,
            preview_busy: false,
            picture_busy: None,
            checked_files: Vec::new(),
            looks_asked: BTreeSet::new(),
            link: devices::link::Link::default(),
            fitting: models::fitting::Fitting::default(),
        };
        app.begin_memory();
        app.find_devices();
        Ok(app)
    }

    /// The state, to be read.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Folds in what happened since the last frame. Never waits.
    pub fn logic(&mut self, ctx: &egui::Context) {
        while let Some(event) = self.handle.try_next() {
            self.engine_event(ctx, event);
        }
        while let Some(report) = self.workers.next_report() {
            self.report(ctx, report);
        }
        self.want_pixels(ctx);
        self.check_files();
        self.follow_board(ctx);
        self.follow_models(ctx);
        self.follow_fits();
        self.load_ahead(ctx);
        self.closing(ctx);
        self.keep(ctx);
        let now = ctx.time();
        if let Some(notice) = &self.state.notice {
            if now >= notice.until_secs {
                self.state.notice = None;
            } else {
                ctx.request_repaint_after_secs((notice.until_secs - now) as f32);
            }
        }
    }

    /// Draws the window and carries out what the person asked.
    pub fn ui(&mut self, ui: &mut egui::Ui) {
        let ctx = ui.ctx().clone();
        // Keys are taken before the widgets see them and carried out after, so that a prompt typed in this very frame counts.
        let mut late = Commands::default();
        ui::keys(&ctx, &self.state, &mut late);
        let mut commands = Commands::default();
        ui::window(ui, &self.state, &mut commands);
        self.state.focus_prompt = false;
        let models = &mut self.state.models;
        (models.focus_search, models.focus_card, models.focus_token) = (false, false, false);
        for command in commands.into_vec().into_iter().chain(late.into_vec()) {
            self.dispatch(&ctx, command);
        }
    }

    /// Writes what is left to write, but not for longer than a few seconds.
    pub fn finish(mut self) {
        self.handle.cancel_all();
        self.loaded();
        self.write_settings();
        // What comes in goes on from there at the next start.
        if !self.library.take().is_none_or(|it| it.finish(Duration::from_secs_f64(CLOSE_WITHIN_SECS))) {
            tracing::error!("the downloads did not stop before the window closed");
        }
        if !self.workers.finish(Duration::from_secs_f64(CLOSE_WITHIN_SECS)) {
            tracing::error!("some files could not be written before the window closed");
        }
    }

    fn notice(&mut self, ctx: &egui::Context, text: impl Into<String>) {
        self.state.notice = Some(Notice { text: text.into(), until_secs: ctx.time() + NOTICE_SECS });
        ctx.request_repaint();
    }

    /// Asks for the full picture that is shown, where the graphics card does not have it.
    fn want_pixels(&mut self, ctx: &egui::Context) {
        if !self.preview_busy
            && let Some((job, preview)) = self.preview_wanted.take()
        {
            self.preview_busy = true;
            self.workers.pixel(files::PixelTask::Preview(job, preview));
        }
        if self.picture_busy.is_some() {
            return;
        }
        let Some(picture) = self.state.session.shown() else { return };
        if self.state.session.texture(picture.id).is_some() {
            return;
        }
        self.picture_busy = Some(picture.id);
        match (&picture.pixels, &picture.stored) {
            (Some(pixels), _) => self.workers.pixel(files::PixelTask::Picture {
                id: picture.id,
                pixels: Arc::clone(pixels),
                max_side_px: ctx.input(|input| input.max_texture_side),
                thumbnail: picture.thumbnail.is_none(),
                copy: false,
            }),
            (None, Stored::At(path)) => self.workers.file(FileTask::Load(picture.id, path.clone())),
            (None, Stored::Writing | Stored::Failed) => self.picture_busy = None,
        }
    }

    /// Asks whether the files in use are there, whenever they are others than before.
    fn check_files(&mut self) {
        let recipe = &self.state.recipe;
        let loras = recipe.loras.iter().map(|lora| lora.path.as_path());
        let same = recipe.files.iter().map(|(_, path)| path).chain(loras.clone()).eq(self.checked_files.iter().map(PathBuf::as_path));
        if !same {
            self.checked_files = recipe.files.iter().map(|(_, path)| path).chain(loras).map(PathBuf::from).collect();
            self.workers.file(FileTask::Check(self.checked_files.clone()));
        }
        for source in recipe.init.iter().map(|init| &init.image).chain(&recipe.mask) {
            if let atelier_core::recipe::ImageSource::File(path) = source
                && self.state.thumbnail(path).is_none()
                && !self.looks_asked.contains(path)
            {
                self.looks_asked.insert(path.clone());
                self.workers.file(FileTask::Thumbnail(path.clone()));
            }
        }
    }

    /// Lets the window close once nothing holds it.
    fn closing(&mut self, ctx: &egui::Context) {
        let asked = ctx.input(|input| input.viewport().close_requested());
        let done = self.state.jobs.is_empty() && self.state.session.writing() == 0;
        match self.state.closing {
            Closing::No if asked && !done => {
                ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
                if self.state.jobs.is_empty() {
                    self.stop(ctx);
                } else {
                    self.state.closing = Closing::Asking;
                }
            }
            Closing::Asking if self.state.jobs.is_empty() && !asked => self.state.closing = Closing::No,
            Closing::Asking if asked => ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose),
            Closing::Stopping { until_secs } => {
                let now = ctx.time();
                if done || now >= until_secs {
                    self.state.closing = Closing::Now;
                    ctx.send_viewport_cmd(egui::ViewportCommand::Close);
                } else {
                    if asked {
                        ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
                    }
                    ctx.request_repaint_after_secs((until_secs - now) as f32);
                }
            }
            Closing::No | Closing::Asking | Closing::Now => {}
        }
    }

    fn stop(&mut self, ctx: &egui::Context) {
        self.handle.cancel_all();
        self.state.closing = Closing::Stopping { until_secs: ctx.time() + CLOSE_WITHIN_SECS };
        ctx.request_repaint();
    }

    /// Writes the settings a moment after the last change.
    fn keep(&mut self, ctx: &egui::Context) {
        ctx.input(|input| {
            let viewport = input.viewport();
            if let Some(inside) = viewport.inner_rect
                && viewport.minimized != Some(true)
            {
                let maximized = viewport.maximized == Some(true);
                let (before, outer) = (self.kept.window, viewport.outer_rect);
                let place = WindowPlace {
                    x: outer.map(|it| it.left()),
                    y: outer.map(|it| it.top()),
                    width: inside.width(),
                    height: inside.height(),
                    maximized,
                };
                // A maximized window keeps the place to which it will be restored.
                self.kept.window = match before {
                    Some(before) if maximized => Some(WindowPlace { maximized, ..before }),
                    _ => Some(place),
                };
            }
        });
        let now = ctx.time();
        let settings = self.settings();
        if settings == self.kept.written {
            self.kept.changed_at_secs = None;
            return;
        }
        match self.kept.changed_at_secs {
            Some(at) if now - at >= SAVE_AFTER_SECS => self.write_settings(),
            Some(_) => {}
            None => {
                self.kept.changed_at_secs = Some(now);
                ctx.request_repaint_after_secs(SAVE_AFTER_SECS as f32 + 0.05);
            }
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            dark: match self.state.theme {
                ThemeChoice::System => None,
                ThemeChoice::Light => Some(false),
                ThemeChoice::Dark => Some(true),
            },
            preview: match self.state.preview {
                PreviewChoice::Off => StoredPreview::Off,
                PreviewChoice::Quick => StoredPreview::Quick,
                PreviewChoice::Fine => StoredPreview::Fine,
            },
            pictures_folder: self.kept.pictures_folder.clone(),
            wgpu: self.kept.wgpu,
            window: self.kept.window.and_then(WindowPlace::sane),
            builtin: self.state.uses_builtin(),
            recipe: if self.state.uses_builtin() {
                let files = self.state.own.as_ref().map(|own| own.files.clone()).unwrap_or_default();
                Recipe { files, ..self.state.recipe.clone() }
            } else {
                self.state.recipe.clone()
            },
            pins: self.link.pins_known.then(|| self.state.board.pins.clone()).or_else(|| self.kept.written.pins.clone()),
            placements: self.state.board.named.clone(),
            servers: self.state.board.servers.iter().map(|server| server.address.to_string()).collect(),
            warm: self.state.memory.warm,
            reserve: self.state.memory.reserve,
        }
    }

    fn write_settings(&mut self) {
        let settings = self.settings();
        self.kept.changed_at_secs = None;
        if settings == self.kept.written {
            return;
        }
        self.kept.written = settings.clone();
        if let Some(path) = self.kept.path.clone() {
            self.workers.file(FileTask::SaveSettings(path, Box::new(settings)));
        }
    }
}
