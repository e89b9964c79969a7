//! What each command does: the one match. Nothing here waits.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui;

use crate::gui::App;
use crate::gui::command::Command;
use crate::gui::create::session::Stored;
use crate::gui::create::viewport::{KEY_STEP, View};
use crate::gui::files::{FileTask, PixelTask, Purpose};
use crate::gui::frame as ui;
use crate::gui::state::{Closing, ErrorCard};
use atelier_core::recipe::{FileRole, ImageSource, Recipe};
use atelier_engine::{JobId, Task};

/// Seeds that are drawn stay short enough to be read out.
const SEEDS: std::ops::Range<i64> = 0..1_000_000_000;

impl App {
    pub(crate) fn dispatch(&mut self, ctx: &egui::Context, command: Command) {
        if let Err(reason) = command.enabled(&self.state) {
            if command == Command::Generate {
                self.notice(ctx, reason);
            }
            return;
        }
        ctx.request_repaint();
        match command {
            Command::Go(screen) => self.go(screen),
            Command::Board(command) => self.board_command(ctx, command),
            Command::Models(command) => self.models_command(ctx, command),
            Command::Memory(command) => self.memory_command(command),
            Command::Generate => self.generate(self.state.recipe.clone()),
            Command::Cancel => {
                if let Some(id) = self.state.jobs.running().map(|job| job.id) {
                    self.cancel(id);
                }
            }
            Command::CancelJob(id) => self.cancel(id),
            Command::ClearQueue => {
                let waiting: Vec<_> = self.state.jobs.waiting().map(|job| job.id).collect();
                for job in waiting {
                    self.handle.cancel(job);
                }
            }
            Command::FocusPrompt => self.state.focus_prompt = true,
            Command::ChangeRecipe(recipe) => self.state.recipe = *recipe,
            Command::SwapSides => {
                let recipe = &mut self.state.recipe;
                std::mem::swap(&mut recipe.width, &mut recipe.height);
            }
            Command::RollSeed => self.state.recipe.seed = rand::random_range(SEEDS),
            Command::LockSeed => {
                let seed = &mut self.state.recipe.seed;
                *seed = if *seed < 0 { self.state.last_seed.unwrap_or_else(|| rand::random_range(SEEDS)) } else { -1 };
            }
            Command::TryPrompt(example) => {
                example.clone_into(&mut self.state.recipe.prompt);
                self.state.focus_prompt = true;
            }
            Command::UseBuiltin => self.use_builtin(),
            Command::UseOwnFiles => self.use_own_files(),
            Command::AddFiles => self.dialog(Purpose::Any),
            Command::ChooseFile(role) => self.dialog(Purpose::Role(role)),
            Command::ClearFile(role) => self.state.recipe.files.remove(role),
            Command::MoveFile(from, to) => self.move_file(from, to),
            Command::TakePaths(paths) => {
                self.state.typed_path = None;
                self.workers.file(FileTask::Identify(paths.into_iter().map(|path| tidy(&path)).collect()));
            }
            Command::PlaceFile(path, role) => {
                self.state.unplaced.retain(|it| *it != path);
                if let Some(role) = role {
                    self.use_file(role, path);
                }
            }
            Command::TypePath(path) => self.state.typed_path = path,
            Command::ChooseStart => self.dialog(Purpose::Start),
            Command::ClearStart => {
                self.state.recipe.init = None;
                self.state.recipe.mask = None;
            }
            Command::ChooseMask => self.dialog(Purpose::Mask),
            Command::ClearMask => self.state.recipe.mask = None,
            Command::AddLora => self.dialog(Purpose::Lora),
            Command::SetPreview(choice) => self.state.preview = choice,
            Command::Show(id) => self.state.session.show(id),
            Command::Follow => self.state.session.follow(),
            Command::Newer => {
                if let Some(id) = self.state.session.newer() {
                    self.state.session.show(id);
                }
            }
            Command::Older => {
                if let Some(id) = self.state.session.older() {
                    self.state.session.show(id);
                }
            }
            Command::UseSettings => {
                if let Some(picture) = self.state.session.shown() {
                    self.state.recipe = picture.recipe.clone();
                    self.notice(ctx, "Prompt, seed and settings of this picture are set.");
                }
            }
            Command::StartFromShown => self.start_from_shown(),
            Command::SaveAs => {
                if let Some(picture) = self.state.session.shown() {
                    let purpose = Purpose::SaveAs(picture.id);
                    self.dialog(purpose);
                }
            }
            Command::CopyPicture => self.copy_picture(),
            Command::OpenFolder => {
                let file = self.state.session.shown().and_then(|picture| match &picture.stored {
                    Stored::At(path) => Some(path.clone()),
                    Stored::Writing | Stored::Failed => None,
                });
                self.workers.file(FileTask::OpenFolder(self.state.pictures_folder.clone(), file));
            }
            Command::ZoomIn => self.zoom(ctx, KEY_STEP),
            Command::ZoomOut => self.zoom(ctx, 1.0 / KEY_STEP),
            Command::ZoomFit => self.state.view = View::Fit,
            Command::ZoomActual => {
                if let Some(size) = self.state.canvas_size_px() {
                    self.state.view = self.state.view.actual(size, ctx.pixels_per_point());
                }
            }
            Command::Look(view) => self.state.view = view,
            Command::SetTheme(theme) => {
                self.state.theme = theme;
                crate::gui::theme::choose(ctx, theme);
            }
            Command::DismissError => self.state.error = None,
            Command::CopyError => {
                if let Some(error) = &self.state.error {
                    ctx.copy_text(error.to_text());
                    self.notice(ctx, "Copied");
                }
            }
            Command::StopAndClose => self.stop(ctx),
            Command::StayOpen => self.state.closing = Closing::No,
        }
    }

    pub(crate) fn generate(&mut self, recipe: Recipe) {
        let preview = self.state.preview_options();
        match self.handle.submit(Task::Generate { recipe: Box::new(recipe.clone()), preview }) {
            Ok(job) => {
                self.state.memory.remember(&recipe);
                self.state.jobs.push(job, recipe);
                self.state.error = None;
                self.state.session.follow();
            }
            Err(busy) => {
                self.state.error = Some(ErrorCard::new("This picture could not be started.", format!("Sorry: {busy}.")));
            }
        }
    }

    fn cancel(&mut self, id: JobId) {
        if let Some(job) = self.state.jobs.get_mut(id) {
            job.stopping = true;
        }
        self.handle.cancel(id);
    }

    pub(crate) fn dialog(&mut self, purpose: Purpose) {
        self.state.dialog_open = true;
        let name = match purpose {
            Purpose::SaveAs(id) => self.state.session.get(id).map_or_else(String::new, |picture| {
                let words: String = picture.recipe.prompt.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
                let words: Vec<_> = words.split_whitespace().take(6).collect();
                let words = if words.is_empty() { "picture".into() } else { words.join(" ") };
                format!("{} {}.png", words.chars().take(48).collect::<String>(), picture.info.seed)
            }),
            Purpose::Any
            | Purpose::Role(_)
            | Purpose::Start
            | Purpose::Mask
            | Purpose::Lora
            | Purpose::ModelsFolder
            | Purpose::ModelsRoot => String::new(),
        };
        self.workers.dialog(purpose, name);
    }

    /// The person's own files and their settings are remembered, so that one can go back.
    pub(crate) fn use_builtin(&mut self) {
        let Ok(builtin) = &self.state.builtin else { return };
        self.state.own = Some(Box::new(self.state.recipe.clone()));
        builtin.apply(&mut self.state.recipe);
        // They were made for another model.
        self.state.recipe.loras.clear();
    }

    pub(crate) fn use_own_files(&mut self) {
        let own = self.state.own.take().map(|own| *own).unwrap_or_default();
        let now = std::mem::take(&mut self.state.recipe);
        self.state.recipe = carried(now, own);
    }

    /// A file for a part of the model. The first one after the built-in model begins a model of one's own.
    pub(crate) fn use_file(&mut self, role: FileRole, path: PathBuf) {
        if self.state.uses_builtin() {
            self.use_own_files();
        }
        self.state.recipe.files.set(role, path);
    }

    /// Two files that want each other's role change places.
    fn move_file(&mut self, from: FileRole, to: FileRole) {
        let files = &mut self.state.recipe.files;
        let Some(path) = files.get(from).map(Path::to_owned) else { return };
        let other = files.get(to).map(Path::to_owned);
        files.set(to, path);
        match other {
            Some(other) => files.set(from, other),
            None => files.remove(from),
        }
    }

    fn start_from_shown(&mut self) {
        let Some(picture) = self.state.session.shown() else { return };
        let image = match (&picture.stored, &picture.pixels) {
            (Stored::At(path), _) => ImageSource::File(path.clone()),
            (_, Some(pixels)) => ImageSource::Pixels(pixels.as_ref().clone()),
            (_, None) => return,
        };
        let (width, height) = (picture.width, picture.height);
        self.start_from(image);
        (self.state.recipe.width, self.state.recipe.height) = (width, height);
    }

    fn copy_picture(&mut self) {
        let Some(picture) = self.state.session.shown() else { return };
        let id = picture.id;
        if let Some(pixels) = &picture.pixels {
            let pixels = Arc::clone(pixels);
            self.workers.pixel(PixelTask::Picture { id, pixels, max_side_px: usize::MAX, thumbnail: false, copy: true });
        } else if let Stored::At(path) = &picture.stored {
            self.workers.file(FileTask::Copy(path.clone()));
        }
    }

    fn zoom(&mut self, ctx: &egui::Context, factor: f32) {
        if let (Some(size), Some(canvas)) = (self.state.canvas_size_px(), ui::canvas_rect(ctx)) {
            self.state.view = self.state.view.zoomed(factor, canvas.center(), size, canvas);
        }
    }
}

/// The settings of another model, with what a person has said and what is not about the model.
pub(crate) fn carried(now: Recipe, other: Recipe) -> Recipe {
    Recipe {
        prompt: now.prompt,
        negative_prompt: now.negative_prompt,
        seed: now.seed,
        batch_count: now.batch_count,
        init: now.init,
        mask: now.mask,
        reference_images: now.reference_images,
        placement: now.placement,
        threads: now.threads,
        ..other
    }
}

/// A path as a person pastes it: quoted, with spaces round it, or as a `file:` address.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    let Some(text) = path.to_str() else { return path.to_owned() };
    let text = text.trim().trim_matches(['"', '\'']);
    PathBuf::from(text.strip_prefix("file://").unwrap_or(text))
}
