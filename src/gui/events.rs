//! What happened: engine events and thread reports, folded into the state. Nothing here asks for anything but pixels and files.

use std::sync::Arc;

use eframe::egui::{self, ColorImage, TextureFilter, TextureOptions};

use crate::gui::App;
use crate::gui::create::session::{PictureId, Stored};
use crate::gui::files::{Answer, Dropped, FileTask, PixelTask, Purpose, Report};
use crate::gui::state::{ErrorCard, Forming};
use atelier_core::advice::Advice;
use atelier_core::recipe::{ImageSource, InitImage, Lora};
use atelier_engine::{Cause, End, Event, Failure, JobId, LogLevel, Picture};

/// How much of a new start picture is painted anew.
const START_STRENGTH: f32 = 0.75;
/// Small looks at files that are kept.
const MOST_THUMBNAILS: usize = 16;

impl App {
    pub(crate) fn engine_event(&mut self, ctx: &egui::Context, event: Event) {
        match event {
            Event::Begin { job, begin } => {
                self.link.begins = true;
                self.state.last_seed = begin.seeds.first().copied().or(self.state.last_seed);
                let notes = begin.notes.join(" ");
                if let Some(job) = self.state.jobs.get_mut(job) {
                    job.begun = true;
                    job.progress.begin(begin);
                }
                if !notes.is_empty() {
                    self.notice(ctx, notes);
                }
            }
            Event::Phase { job, phase } => {
                if let Some(job) = self.state.jobs.get_mut(job) {
                    job.progress.phase(phase);
                }
            }
            Event::Step { job, step } => {
                if let Some(job) = self.state.jobs.get_mut(job) {
                    job.progress.step(step);
                }
            }
            Event::Preview { job, preview } => {
                // Of several pictures that form, one is shown.
                if self.state.jobs.running().is_some_and(|running| running.id == job) {
                    self.preview_wanted = Some((job, preview));
                }
            }
            Event::Picture { job, picture } => self.picture(ctx, job, &picture),
            // What the system lacks.
            Event::Log { job: None, level: LogLevel::Warn, text } => self.notice(ctx, text),
            Event::Log { job: _, level, text } => match level {
                LogLevel::Debug => tracing::debug!("{text}"),
                LogLevel::Info => tracing::info!("{text}"),
                LogLevel::Warn => tracing::warn!("{text}"),
                LogLevel::Error => tracing::error!("{text}"),
            },
            Event::Devices(devices) => self.devices_found(devices),
            Event::Server { server, added } => self.server_answered(&server, added),
            Event::Estimated { recipe, estimate } => self.answered(&recipe, estimate),
            Event::Measured { job, peaks } => self.measured(job, peaks),
            Event::Waiting { job, behind } => {
                if let Some(job) = self.state.jobs.get_mut(job) {
                    job.progress.waits(behind);
                }
            }
            Event::Residency(residency) => self.residency_told(residency),
            Event::End { job, end } => self.end(ctx, job, end),
        }
    }

    fn picture(&mut self, ctx: &egui::Context, job: JobId, picture: &Picture) {
        self.state.last_seed = Some(picture.info.seed);
        let mut recipe = self.state.jobs.get_mut(job).map(|job| job.recipe.clone()).unwrap_or_default();
        recipe.width = picture.image.width();
        recipe.height = picture.image.height();
        let id = self.state.session.push(recipe.clone(), picture.info, Arc::clone(&picture.image));
        self.workers.file(FileTask::Store {
            id,
            folder: self.state.pictures_folder.clone(),
            recipe: Box::new(recipe),
            info: picture.info,
            pixels: Arc::clone(&picture.image),
        });
        self.workers.pixel(PixelTask::Picture {
            id,
            pixels: Arc::clone(&picture.image),
            max_side_px: ctx.input(|input| input.max_texture_side),
            thumbnail: true,
            copy: false,
        });
        if self.state.session.shown().is_some_and(|shown| shown.id == id) {
            self.picture_busy = Some(id);
        }
        if self.preview_wanted.as_ref().is_some_and(|(of, _)| *of == job) {
            self.preview_wanted = None;
        }
    }

    fn end(&mut self, ctx: &egui::Context, job: JobId, end: End) {
        let ended = self.state.jobs.remove(job);
        self.list_devices();
        // A last preview stays until its picture is ready for the screen, so that nothing flickers.
        let picture_comes = matches!(end, End::Done { .. }) && self.picture_busy.is_some();
        if !picture_comes && self.state.forming.as_ref().is_some_and(|forming| forming.job == job) {
            self.state.forming = None;
        }
        if self.preview_wanted.as_ref().is_some_and(|(of, _)| *of == job) {
            self.preview_wanted = None;
        }
        match end {
            End::Done { notes, .. } if !notes.is_empty() => self.notice(ctx, notes.join(" ")),
            End::Done { .. } | End::Cancelled => {}
            End::Failed(Failure { advice: Advice { sentence, hint }, log, cause }) => {
                let mut card = ErrorCard { details: log, ..ErrorCard::new(sentence, hint) };
                if let (Some(Cause::OutOfMemory(met)), Some(job)) = (cause, ended) {
                    self.add_remedies(&mut card, &met, &job);
                }
                self.state.error = Some(card);
            }
        }
    }

    pub(crate) fn report(&mut self, ctx: &egui::Context, report: Report) {
        match report {
            Report::MarkTaken(was_there) => self.mark_taken(ctx, was_there),
            Report::MarkSet => self.mark_set(),
            Report::Identified(files) => self.identified(ctx, files),
            Report::Missing(paths) => self.state.missing = paths.into_iter().collect(),
            Report::Stored(id, Ok(path)) => {
                if let Some(picture) = self.state.session.get_mut(id) {
                    picture.stored = Stored::At(path);
                }
                self.state.session.make_room();
            }
            Report::Stored(id, Err(error)) => {
                if let Some(picture) = self.state.session.get_mut(id) {
                    picture.stored = Stored::Failed;
                }
                let hint = "The picture is still here: save it somewhere else with \"Save as\" before you close Atelier.";
                self.state.error = Some(ErrorCard::new(error.to_string(), hint));
            }
            Report::Saved(Ok(path)) => self.notice(ctx, format!("Saved as {}", path.display())),
            Report::Saved(Err(error)) => {
                self.state.error = Some(ErrorCard::new(error.to_string(), "Choose another folder, or make room on the disk."));
            }
            Report::Loaded(id, Ok(pixels)) => self.workers.pixel(PixelTask::Picture {
                id,
                pixels,
                max_side_px: ctx.input(|input| input.max_texture_side),
                thumbnail: false,
                copy: false,
            }),
            Report::Loaded(id, Err(error)) => {
                self.picture_busy = None;
                if let Some(picture) = self.state.session.get_mut(id) {
                    picture.stored = Stored::Failed;
                }
                self.state.error = Some(ErrorCard::new(error.to_string(), "Was it moved or deleted? Its settings are still here."));
            }
            Report::Thumbnail(path, Ok(look)) => {
                let texture = ctx.load_texture("look", look, TextureOptions::LINEAR);
                self.state.thumbnails.retain(|(of, _)| *of != path);
                self.state.thumbnails.push((path, texture));
                if self.state.thumbnails.len() > MOST_THUMBNAILS {
                    let (path, _) = self.state.thumbnails.remove(0);
                    self.looks_asked.remove(&path);
                }
            }
            Report::Thumbnail(_, Err(error)) => self.notice(ctx, error.to_string()),
            Report::NotOpened(error) => {
                self.state.error = Some(ErrorCard::new(error.to_string(), "Open it in your file manager instead."));
            }
            Report::SettingsNotSaved(sentence) => self.notice(ctx, sentence),
            Report::Picture { id, full, thumbnail } => self.picture_ready(ctx, id, full, thumbnail),
            Report::ForClipboard(image) => {
                ctx.copy_image(image);
                self.notice(ctx, "Copied");
            }
            Report::NotCopied(error) => self.state.error = Some(ErrorCard::new(error.to_string(), "Was it moved or deleted?")),
            Report::Preview(job, picture, image) => self.preview_ready(ctx, job, picture, image),
            Report::Chosen(purpose, answer) => self.chosen(ctx, purpose, answer),
            Report::Probed(server, found) => self.server_tested(&server, &found),
        }
    }

    fn picture_ready(&mut self, ctx: &egui::Context, id: PictureId, full: ColorImage, thumbnail: Option<ColorImage>) {
        if self.picture_busy == Some(id) {
            self.picture_busy = None;
        }
        if let Some(look) = thumbnail
            && let Some(picture) = self.state.session.get_mut(id)
        {
            picture.thumbnail = Some(ctx.load_texture("thumbnail", look, TextureOptions::LINEAR));
        }
        if self.state.session.shown().is_some_and(|shown| shown.id == id) {
            let options = TextureOptions { mipmap_mode: Some(TextureFilter::Linear), ..TextureOptions::LINEAR };
            let texture = ctx.load_texture("picture", full, options);
            self.state.session.keep_texture(id, texture);
        }
        // The finished picture takes the place of its preview; a next one of the batch brings a new preview.
        if self.state.session.iter().next().is_some_and(|newest| newest.id == id) {
            self.state.forming = None;
        }
    }

    fn preview_ready(&mut self, ctx: &egui::Context, job: JobId, picture: u32, image: ColorImage) {
        self.preview_busy = false;
        let Some(running) = self.state.jobs.get_mut(job) else { return };
        let made = self.state.session.iter().next().is_some_and(|newest| running.progress.seed(picture) == Some(newest.info.seed));
        if made {
            return;
        }
        let (width, height) = running.progress.size_px().unwrap_or((image.size[0] as u32, image.size[1] as u32));
        match &mut self.state.forming {
            Some(forming) if forming.job == job => {
                forming.texture.set(image, TextureOptions::LINEAR);
                (forming.width, forming.height) = (width, height);
            }
            forming => {
                let texture = ctx.load_texture("forming", image, TextureOptions::LINEAR);
                *forming = Some(Forming { job, texture, width, height });
            }
        }
    }

    fn chosen(&mut self, ctx: &egui::Context, purpose: Purpose, answer: Answer) {
        self.state.dialog_open = false;
        let paths = match answer {
            Answer::Paths(paths) => paths,
            Answer::Nothing => return,
            Answer::NoDialog if matches!(purpose, Purpose::ModelsFolder | Purpose::ModelsRoot) => {
                self.notice(
                    ctx,
                    "This system has no file dialog. Type or paste the folder's path under \"Add\", or drop it on the window.",
                );
                return;
            }
            Answer::NoDialog => {
                self.state.typed_path.get_or_insert_default();
                self.notice(ctx, "This system has no file dialog. Type a path instead, or drop files on the window.");
                return;
            }
        };
        let Some(path) = paths.first().cloned() else { return };
        match purpose {
            Purpose::Any => self.workers.file(FileTask::Identify(paths)),
            Purpose::Role(role) => self.use_file(role, path),
            Purpose::Start => self.start_from(ImageSource::File(path)),
            Purpose::Mask => self.state.recipe.mask = Some(ImageSource::File(path)),
            Purpose::Lora => self.state.recipe.loras.push(Lora { path, strength: 1.0 }),
            Purpose::SaveAs(id) => self.save_as(id, path),
            Purpose::ModelsFolder | Purpose::ModelsRoot => self.folder_chosen(purpose, path),
        }
    }

    pub(crate) fn save_as(&mut self, id: PictureId, target: std::path::PathBuf) {
        let Some(picture) = self.state.session.get(id) else { return };
        let kept = match &picture.stored {
            Stored::At(path) => Some(path.clone()),
            Stored::Writing | Stored::Failed => None,
        };
        self.workers.file(FileTask::SaveAs { target, kept, recipe: Box::new(picture.recipe.clone()), pixels: picture.pixels.clone() });
    }

    pub(crate) fn start_from(&mut self, image: ImageSource) {
        let strength = self.state.recipe.init.as_ref().map_or(START_STRENGTH, |init| init.strength);
        self.state.recipe.init = Some(InitImage { image, strength });
    }

    fn identified(&mut self, ctx: &egui::Context, files: Vec<(std::path::PathBuf, Dropped)>) {
        let name = |path: &std::path::Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let mut lines = Vec::new();
        for (path, what) in files {
            match what {
                Dropped::Role(role) => {
                    lines.push(format!("{}: {}", role.label(), name(&path)));
                    self.use_file(role, path);
                }
                Dropped::Lora if self.state.recipe.loras.iter().any(|lora| lora.path == path) => {}
                Dropped::Lora => self.state.recipe.loras.push(Lora { path, strength: 1.0 }),
                Dropped::Picture => self.start_from(ImageSource::File(path)),
                Dropped::Unknown if self.state.unplaced.contains(&path) => {}
                Dropped::Unknown => self.state.unplaced.push(path),
                Dropped::Useless => lines.push(format!("{} is neither a model nor a picture.", name(&path))),
                Dropped::Missing => lines.push(format!("There is no file {}.", path.display())),
            }
        }
        if !lines.is_empty() {
            self.notice(ctx, lines.join("\n"));
        }
    }
}
