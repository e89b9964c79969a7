//! Effects of the Create view's commands, and of engine events and worker reports about pictures. Nothing here waits.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use eframe::egui::{self, ColorImage, TextureFilter, TextureOptions};

use crate::gui::context::Context;
use crate::gui::create::command::Command;
use crate::gui::create::session::{PictureFile, PictureId};
use crate::gui::create::state::{FormingPicture, State};
use crate::gui::create::viewport::{KEY_STEP, View, canvas_rect};
use crate::gui::files::{DialogKind, DialogResult, FileError, FileTask, PixelTask};
use crate::gui::identify::FileKind;
use crate::gui::shared::ErrorCard;
use atelier_core::recipe::{FileRole, ImageSource, InitImage, Lora, Recipe};
use atelier_engine::{JobId, Picture, Preview, Task};

/// Seeds that are drawn stay short enough to be read out.
const SEEDS: std::ops::Range<i64> = 0..1_000_000_000;
/// Strength of a new start picture, 0 (kept) to 1 (ignored).
const START_STRENGTH: f32 = 0.75;
/// Most thumbnails of files that are kept.
const MOST_THUMBNAILS: usize = 16;

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::Generate => generate(state, context.shared.recipe.clone(), context),
        Command::GenerateWith(recipe) => generate(state, *recipe, context),
        Command::Cancel => {
            if let Some(id) = context.shared.jobs.running().map(|job| job.id) {
                cancel(id, context);
            }
        }
        Command::CancelJob(id) => cancel(id, context),
        Command::ClearQueue => {
            let waiting: Vec<_> = context.shared.jobs.waiting().map(|job| job.id).collect();
            for job in waiting {
                context.engine.cancel(job);
            }
        }
        Command::FocusPrompt => state.focus_prompt = true,
        Command::ChangeRecipe(recipe) => context.shared.recipe = *recipe,
        Command::SwapSides => {
            let recipe = &mut context.shared.recipe;
            std::mem::swap(&mut recipe.width, &mut recipe.height);
        }
        Command::RollSeed => context.shared.recipe.seed = rand::random_range(SEEDS),
        Command::LockSeed => {
            let seed = &mut context.shared.recipe.seed;
            *seed = if *seed < 0 { state.last_seed.unwrap_or_else(|| rand::random_range(SEEDS)) } else { -1 };
        }
        Command::TryPrompt(example) => {
            example.clone_into(&mut context.shared.recipe.prompt);
            state.focus_prompt = true;
        }
        Command::UseBuiltin => context.shared.use_builtin(),
        Command::UseOwnFiles => context.shared.use_own_files(),
        Command::AddFiles => context.open_dialog(DialogKind::Any, String::new()),
        Command::ChooseFile(role) => context.open_dialog(DialogKind::Role(role), String::new()),
        Command::ClearFile(role) => context.shared.recipe.files.remove(role),
        Command::MoveFile(from, to) => move_file(from, to, context),
        Command::TakePaths(paths) => {
            state.typed_path = None;
            context.workers.file(FileTask::Identify(paths.into_iter().map(|path| parse_path(&path)).collect()));
        }
        Command::PlaceFile(path, role) => {
            context.shared.unplaced.retain(|it| *it != path);
            if let Some(role) = role {
                context.shared.use_file(role, path);
            }
        }
        Command::TypePath(path) => state.typed_path = path,
        Command::ChooseStart => context.open_dialog(DialogKind::Start, String::new()),
        Command::ClearStart => {
            context.shared.recipe.init = None;
            context.shared.recipe.mask = None;
        }
        Command::ChooseMask => context.open_dialog(DialogKind::Mask, String::new()),
        Command::ClearMask => context.shared.recipe.mask = None,
        Command::AddLora => context.open_dialog(DialogKind::Lora, String::new()),
        Command::SetPreview(choice) => state.preview = choice,
        Command::Show(id) => state.session.show(id),
        Command::Follow => state.session.follow(),
        Command::Newer => {
            if let Some(id) = state.session.newer() {
                state.session.show(id);
            }
        }
        Command::Older => {
            if let Some(id) = state.session.older() {
                state.session.show(id);
            }
        }
        Command::UseSettings => {
            if let Some(picture) = state.session.shown() {
                context.shared.recipe = picture.recipe.clone();
                context.notice("Prompt, seed and settings of this picture are set.");
            }
        }
        Command::StartFromShown => start_from_shown(state, context),
        Command::SaveAs => {
            if let Some(id) = state.session.shown().map(|picture| picture.id) {
                context.open_dialog(DialogKind::SaveAs(id), file_name(state, id));
            }
        }
        Command::CopyPicture => copy_picture(state, context),
        Command::OpenFolder => {
            let file = state.session.shown().and_then(|picture| match &picture.stored {
                PictureFile::At(path) => Some(path.clone()),
                PictureFile::Writing | PictureFile::Failed => None,
            });
            context.workers.file(FileTask::OpenFolder(state.pictures_folder.clone(), file));
        }
        Command::ZoomIn => zoom(state, KEY_STEP, context.egui),
        Command::ZoomOut => zoom(state, 1.0 / KEY_STEP, context.egui),
        Command::ZoomFit => state.view = View::Fit,
        Command::ZoomActual => {
            if let Some(size) = state.canvas_size_px() {
                state.view = state.view.actual(size, context.egui.pixels_per_point());
            }
        }
        Command::SetView(view) => state.view = view,
    }
}

fn generate(state: &mut State, recipe: Recipe, context: &mut Context<'_>) {
    let preview = state.preview_options(context.shared);
    match context.engine.submit(Task::Generate { recipe: Box::new(recipe.clone()), preview }) {
        Ok(job) => {
            context.shared.recent_recipes.remember(&recipe);
            context.shared.jobs.push(job, recipe);
            context.shared.error = None;
            state.session.follow();
        }
        Err(busy) => {
            context.shared.error = Some(ErrorCard::new("This picture could not be started.", format!("Sorry: {busy}.")));
        }
    }
}

fn cancel(id: JobId, context: &mut Context<'_>) {
    if let Some(job) = context.shared.jobs.get_mut(id) {
        job.stopping = true;
    }
    context.engine.cancel(id);
}

/// The file name proposed for a picture: the first words of its prompt and its seed.
fn file_name(state: &State, id: PictureId) -> String {
    state.session.get(id).map_or_else(String::new, |picture| {
        let words: String = picture.recipe.prompt.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
        let words: Vec<_> = words.split_whitespace().take(6).collect();
        let words = if words.is_empty() { "picture".into() } else { words.join(" ") };
        format!("{} {}.png", words.chars().take(48).collect::<String>(), picture.info.seed)
    })
}

/// Two files that want each other's role change places.
fn move_file(from: FileRole, to: FileRole, context: &mut Context<'_>) {
    let files = &mut context.shared.recipe.files;
    let Some(path) = files.get(from).map(Path::to_owned) else { return };
    let other = files.get(to).map(Path::to_owned);
    files.set(to, path);
    match other {
        Some(other) => files.set(from, other),
        None => files.remove(from),
    }
}

fn start_from(image: ImageSource, context: &mut Context<'_>) {
    let init = &mut context.shared.recipe.init;
    let strength = init.as_ref().map_or(START_STRENGTH, |init| init.strength);
    *init = Some(InitImage { image, strength });
}

fn start_from_shown(state: &State, context: &mut Context<'_>) {
    let Some(picture) = state.session.shown() else { return };
    let image = match (&picture.stored, &picture.pixels) {
        (PictureFile::At(path), _) => ImageSource::File(path.clone()),
        (_, Some(pixels)) => ImageSource::Pixels(pixels.as_ref().clone()),
        (_, None) => return,
    };
    let (width, height) = (picture.width, picture.height);
    start_from(image, context);
    (context.shared.recipe.width, context.shared.recipe.height) = (width, height);
}

fn copy_picture(state: &State, context: &mut Context<'_>) {
    let Some(picture) = state.session.shown() else { return };
    let id = picture.id;
    if let Some(pixels) = &picture.pixels {
        let pixels = Arc::clone(pixels);
        context.workers.pixel(PixelTask::Picture { id, pixels, max_side_px: usize::MAX, thumbnail: false, copy: true });
    } else if let PictureFile::At(path) = &picture.stored {
        context.workers.file(FileTask::Copy(path.clone()));
    }
}

fn zoom(state: &mut State, factor: f32, egui: &egui::Context) {
    if let (Some(size), Some(canvas)) = (state.canvas_size_px(), canvas_rect(egui)) {
        state.view = state.view.zoomed(factor, canvas.center(), size, canvas);
    }
}

/// A path as a person pastes it: quoted, with spaces round it, or as a `file:` address.
pub(crate) fn parse_path(path: &Path) -> PathBuf {
    let Some(text) = path.to_str() else { return path.to_owned() };
    let text = text.trim().trim_matches(['"', '\'']);
    PathBuf::from(text.strip_prefix("file://").unwrap_or(text))
}

/// Keeps the newest preview until it can be made ready for the screen. Of several pictures that form, one is shown.
pub(crate) fn preview(state: &mut State, job: JobId, preview: Preview, context: &Context<'_>) {
    if context.shared.jobs.running().is_some_and(|running| running.id == job) {
        state.pending_preview = Some((job, preview));
    }
}

/// A picture is finished: it is stored, and made ready for the screen.
pub(crate) fn picture(state: &mut State, job: JobId, picture: &Picture, context: &mut Context<'_>) {
    state.last_seed = Some(picture.info.seed);
    let mut recipe = context.shared.jobs.get_mut(job).map(|job| job.recipe.clone()).unwrap_or_default();
    recipe.width = picture.image.width();
    recipe.height = picture.image.height();
    let id = state.session.push(recipe.clone(), picture.info, Arc::clone(&picture.image));
    context.workers.file(FileTask::Store {
        id,
        folder: state.pictures_folder.clone(),
        recipe: Box::new(recipe),
        info: picture.info,
        pixels: Arc::clone(&picture.image),
    });
    context.workers.pixel(PixelTask::Picture {
        id,
        pixels: Arc::clone(&picture.image),
        max_side_px: context.egui.input(|input| input.max_texture_side),
        thumbnail: true,
        copy: false,
    });
    if state.session.shown().is_some_and(|shown| shown.id == id) {
        state.converting_picture = Some(id);
    }
    drop_preview(state, job);
}

/// A job has ended. A last preview stays until its picture is ready for the screen, so that nothing flickers.
pub(crate) fn job_ended(state: &mut State, job: JobId, is_done: bool) {
    let picture_comes = is_done && state.converting_picture.is_some();
    if !picture_comes && state.forming.as_ref().is_some_and(|forming| forming.job == job) {
        state.forming = None;
    }
    drop_preview(state, job);
}

fn drop_preview(state: &mut State, job: JobId) {
    if state.pending_preview.as_ref().is_some_and(|(of, _)| *of == job) {
        state.pending_preview = None;
    }
}

/// Asks for the full picture that is shown, where the graphics card does not have it, and for the newest preview.
pub(crate) fn refresh_textures(state: &mut State, context: &mut Context<'_>) {
    if !state.is_converting_preview
        && let Some((job, preview)) = state.pending_preview.take()
    {
        state.is_converting_preview = true;
        context.workers.pixel(PixelTask::Preview(job, preview));
    }
    if state.converting_picture.is_some() {
        return;
    }
    let Some(picture) = state.session.shown() else { return };
    if state.session.texture(picture.id).is_some() {
        return;
    }
    match (&picture.pixels, &picture.stored) {
        (Some(pixels), _) => context.workers.pixel(PixelTask::Picture {
            id: picture.id,
            pixels: Arc::clone(pixels),
            max_side_px: context.egui.input(|input| input.max_texture_side),
            thumbnail: picture.thumbnail.is_none(),
            copy: false,
        }),
        (None, PictureFile::At(path)) => context.workers.file(FileTask::Load(picture.id, path.clone())),
        (None, PictureFile::Writing | PictureFile::Failed) => return,
    }
    state.converting_picture = Some(picture.id);
}

/// Asks whether the files in use are there, whenever they are others than before.
pub(crate) fn refresh_files(state: &mut State, context: &mut Context<'_>) {
    let recipe = &context.shared.recipe;
    let loras = recipe.loras.iter().map(|lora| lora.path.as_path());
    let same = recipe.files.iter().map(|(_, path)| path).chain(loras.clone()).eq(state.checked_files.iter().map(PathBuf::as_path));
    if !same {
        state.checked_files = recipe.files.iter().map(|(_, path)| path).chain(loras).map(PathBuf::from).collect();
        context.workers.file(FileTask::Check(state.checked_files.clone()));
    }
    for source in recipe.init.iter().map(|init| &init.image).chain(&recipe.mask) {
        if let ImageSource::File(path) = source
            && state.thumbnail(path).is_none()
            && !state.requested_thumbnails.contains(path)
        {
            state.requested_thumbnails.insert(path.clone());
            context.workers.file(FileTask::Thumbnail(path.clone()));
        }
    }
}

/// The picture was written, or could not be.
pub(crate) fn stored(state: &mut State, id: PictureId, result: Result<PathBuf, FileError>, context: &mut Context<'_>) {
    match result {
        Ok(path) => {
            if let Some(picture) = state.session.get_mut(id) {
                picture.stored = PictureFile::At(path);
            }
            state.session.make_room();
        }
        Err(error) => {
            if let Some(picture) = state.session.get_mut(id) {
                picture.stored = PictureFile::Failed;
            }
            let hint = "The picture is still here: save it somewhere else with \"Save as\" before you close Atelier.";
            context.shared.error = Some(ErrorCard::new(error.to_string(), hint));
        }
    }
}

/// The picture was read back, or could not be.
pub(crate) fn loaded(
    state: &mut State,
    id: PictureId,
    result: Result<Arc<atelier_core::recipe::Rgb8>, FileError>,
    context: &mut Context<'_>,
) {
    match result {
        Ok(pixels) => context.workers.pixel(PixelTask::Picture {
            id,
            pixels,
            max_side_px: context.egui.input(|input| input.max_texture_side),
            thumbnail: false,
            copy: false,
        }),
        Err(error) => {
            state.converting_picture = None;
            if let Some(picture) = state.session.get_mut(id) {
                picture.stored = PictureFile::Failed;
            }
            context.shared.error = Some(ErrorCard::new(error.to_string(), "Was it moved or deleted? Its settings are still here."));
        }
    }
}

/// A thumbnail of a picture file is ready, or the file could not be read.
pub(crate) fn thumbnail_ready(state: &mut State, path: PathBuf, result: Result<ColorImage, FileError>, context: &mut Context<'_>) {
    match result {
        Ok(look) => {
            let texture = context.egui.load_texture("look", look, TextureOptions::LINEAR);
            state.thumbnails.retain(|(of, _)| *of != path);
            state.thumbnails.push((path, texture));
            if state.thumbnails.len() > MOST_THUMBNAILS {
                let (path, _) = state.thumbnails.remove(0);
                state.requested_thumbnails.remove(&path);
            }
        }
        Err(error) => context.notice(error.to_string()),
    }
}

/// A finished picture is ready for the screen.
pub(crate) fn picture_ready(state: &mut State, id: PictureId, full: ColorImage, thumbnail: Option<ColorImage>, context: &Context<'_>) {
    if state.converting_picture == Some(id) {
        state.converting_picture = None;
    }
    if let Some(look) = thumbnail
        && let Some(picture) = state.session.get_mut(id)
    {
        picture.thumbnail = Some(context.egui.load_texture("thumbnail", look, TextureOptions::LINEAR));
    }
    if state.session.shown().is_some_and(|shown| shown.id == id) {
        let options = TextureOptions { mipmap_mode: Some(TextureFilter::Linear), ..TextureOptions::LINEAR };
        let texture = context.egui.load_texture("picture", full, options);
        state.session.keep_texture(id, texture);
    }
    // The finished picture takes the place of its preview; a next one of the batch brings a new preview.
    if state.session.iter().next().is_some_and(|newest| newest.id == id) {
        state.forming = None;
    }
}

/// A preview is ready for the screen.
pub(crate) fn preview_ready(state: &mut State, job: JobId, picture: u32, image: ColorImage, context: &mut Context<'_>) {
    state.is_converting_preview = false;
    let Some(running) = context.shared.jobs.get_mut(job) else { return };
    let made = state.session.iter().next().is_some_and(|newest| running.progress.seed(picture) == Some(newest.info.seed));
    if made {
        return;
    }
    let (width, height) = running.progress.size_px().unwrap_or((image.size[0] as u32, image.size[1] as u32));
    match &mut state.forming {
        Some(forming) if forming.job == job => {
            forming.texture.set(image, TextureOptions::LINEAR);
            (forming.width, forming.height) = (width, height);
        }
        forming => {
            let texture = context.egui.load_texture("forming", image, TextureOptions::LINEAR);
            *forming = Some(FormingPicture { job, texture, width, height });
        }
    }
}

/// A file dialog of this view was closed.
pub(crate) fn dialog_closed(state: &mut State, kind: DialogKind, result: DialogResult, context: &mut Context<'_>) {
    let paths = match result {
        DialogResult::Paths(paths) => paths,
        DialogResult::Cancelled => return,
        DialogResult::NoDialog => {
            state.typed_path.get_or_insert_default();
            context.notice("This system has no file dialog. Type a path instead, or drop files on the window.");
            return;
        }
    };
    let Some(path) = paths.first().cloned() else { return };
    match kind {
        DialogKind::Any => context.workers.file(FileTask::Identify(paths)),
        DialogKind::Role(role) => context.shared.use_file(role, path),
        DialogKind::Start => start_from(ImageSource::File(path), context),
        DialogKind::Mask => context.shared.recipe.mask = Some(ImageSource::File(path)),
        DialogKind::Lora => context.shared.recipe.loras.push(Lora { path, strength: 1.0 }),
        DialogKind::SaveAs(id) => save_as(state, id, path, context),
        DialogKind::ModelsFolder | DialogKind::ModelsRoot => {}
    }
}

fn save_as(state: &State, id: PictureId, target: PathBuf, context: &mut Context<'_>) {
    let Some(picture) = state.session.get(id) else { return };
    let kept = match &picture.stored {
        PictureFile::At(path) => Some(path.clone()),
        PictureFile::Writing | PictureFile::Failed => None,
    };
    context.workers.file(FileTask::SaveAs { target, kept, recipe: Box::new(picture.recipe.clone()), pixels: picture.pixels.clone() });
}

/// Files that were dropped, typed or chosen are identified: each takes its place in the recipe, or is asked about.
pub(crate) fn identified(files: Vec<(PathBuf, FileKind)>, context: &mut Context<'_>) {
    let name = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let mut lines = Vec::new();
    for (path, what) in files {
        match what {
            FileKind::Role(role) => {
                lines.push(format!("{}: {}", role.label(), name(&path)));
                context.shared.use_file(role, path);
            }
            FileKind::Lora if context.shared.recipe.loras.iter().any(|lora| lora.path == path) => {}
            FileKind::Lora => context.shared.recipe.loras.push(Lora { path, strength: 1.0 }),
            FileKind::Picture => start_from(ImageSource::File(path), context),
            FileKind::Unknown if context.shared.unplaced.contains(&path) => {}
            FileKind::Unknown => context.shared.unplaced.push(path),
            FileKind::Unsupported => lines.push(format!("{} is neither a model nor a picture.", name(&path))),
            FileKind::Missing => lines.push(format!("There is no file {}.", path.display())),
        }
    }
    if !lines.is_empty() {
        context.notice(lines.join("\n"));
    }
}
