//! Pictures and previews of the Create view: from the engine to the screen, while the queue keeps
//! them. Nothing here waits.

use std::path::PathBuf;
use std::sync::Arc;

use atelier_gallery::{PictureId, PictureSummary};
use eframe::egui::{ColorImage, TextureFilter, TextureOptions};

use crate::gui::context::Context;
use crate::gui::create::own_models::OwnModels;
use crate::gui::create::session::{PictureFile, SessionPictureId};
use crate::gui::create::state::{FormingPicture, State};
use crate::gui::create::steps::refresh_step;
use crate::gui::create::work;
use crate::gui::files::{self, FileError};
use crate::gui::gallery;
use crate::gui::pixels::{self, ScreenPreview};
use crate::gui::shared::{ErrorCard, Shared};
use crate::gui::workers::Worker;
use atelier_core::advice::Advice;
use atelier_core::paths::Paths;
use atelier_core::recipe::{Recipe, Rgb8};
use atelier_engine::{JobId, Picture, Preview};
use atelier_library::ModelKind;
use atelier_media::Tool;
use atelier_studio::gallery_service::GalleryRequest;
use atelier_studio::opened_picture;
use atelier_studio::results::Destination;

/// LoRAs whose last pictures are shown.
const MAX_LORAS: usize = 60;
/// Most thumbnails of files that are kept.
const MAX_THUMBNAILS: usize = 48;

/// Keeps the newest preview until it can be made ready for the screen. Of several pictures that
/// form, one is shown.
pub(crate) fn preview(state: &mut State, job: JobId, preview: Preview, context: &Context<'_>) {
    state.step_previews.add(job, &preview);
    if context.shared.jobs.running().is_some_and(|running| running.id == job) {
        state.pending_preview = Some((job, preview));
    }
}

/// A picture is finished: it is made ready for the screen, while the queue keeps it.
pub(crate) fn picture(state: &mut State, job: JobId, picture: &Picture, context: &mut Context<'_>) {
    let recipe = context.shared.jobs.get_mut(job).map(|job| job.recipe.clone()).unwrap_or_default();
    let id = show(state, recipe, picture, context);
    state.being_kept.insert((job, picture.info.index), id);
    state.step_previews.finish(job, picture.info.index, id);
    take_kept(state, job, picture.info.index, context);
    drop_preview(state, job);
}

/// Keeps a picture that no job of the queue made. `paths`: the person's folders; without any it is
/// in no index.
pub(crate) fn keep(state: &mut State, recipe: Recipe, picture: &Picture, paths: Option<Paths>, context: &mut Context<'_>) {
    let id = show(state, recipe.clone(), picture, context);
    let recipe = Recipe { width: picture.image.width(), height: picture.image.height(), ..recipe };
    let destination = Destination::Folder { folder: state.pictures_folder.clone(), recipe: Box::new(recipe) };
    let picture = picture.clone();
    context.run(
        Worker::Files,
        move || work::keep(&destination, &picture, paths),
        move |result, features, context| stored(features.create, id, result, context),
    );
}

/// Adds a finished picture to those of the session, and has it made ready for the screen.
fn show(state: &mut State, mut recipe: Recipe, picture: &Picture, context: &Context<'_>) -> SessionPictureId {
    state.last_seed = Some(picture.info.seed);
    if !recipe.has_own_size() {
        (recipe.width, recipe.height) = (picture.image.width(), picture.image.height());
    }
    let id = state.session.push(recipe, picture.info, picture.notes.clone(), Arc::clone(&picture.image));
    convert(id, Arc::clone(&picture.image), true, context);
    if state.session.shown().is_some_and(|shown| shown.id == id) {
        state.converting_picture = Some(id);
    }
    id
}

/// A job has ended. A last preview stays until its picture is ready for the screen, so that nothing
/// flickers.
pub(crate) fn job_ended(state: &mut State, job: JobId, is_done: bool) {
    state.step_previews.end(job);
    if !is_done {
        state.last_asked = None;
    }
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

/// Asks for the full picture that is shown, where the graphics card does not have it, and for the
/// newest preview.
pub(crate) fn refresh_textures(state: &mut State, context: &mut Context<'_>) {
    if !state.is_converting_preview
        && let Some((job, preview)) = state.pending_preview.take()
    {
        state.is_converting_preview = true;
        context.run(
            Worker::Pixels,
            move || ScreenPreview::of(&preview),
            move |preview, features, context| preview_ready(features.create, job, preview, context),
        );
    }
    refresh_step(state, context);
    if state.converting_picture.is_some() {
        return;
    }
    let Some(picture) = state.session.shown() else { return };
    if state.session.texture(picture.id).is_some() {
        return;
    }
    match (&picture.pixels, &picture.stored) {
        (Some(pixels), _) => convert(picture.id, Arc::clone(pixels), picture.thumbnail.is_none(), context),
        (None, PictureFile::At(path)) => load(picture.id, path.clone(), context),
        (None, PictureFile::Writing | PictureFile::Failed) => return,
    }
    state.converting_picture = Some(picture.id);
}

/// The queue has kept a picture, or could not. It may say so before the engine's own picture is
/// read.
pub(crate) fn kept(state: &mut State, job: JobId, index: u32, result: Result<PathBuf, Advice>, context: &mut Context<'_>) {
    state.kept.insert((job, index), result);
    take_kept(state, job, index, context);
}

/// Notes the file of a picture of which both the pixels and the file have come.
fn take_kept(state: &mut State, job: JobId, index: u32, context: &mut Context<'_>) {
    let key = (job, index);
    if !(state.kept.contains_key(&key) && state.being_kept.contains_key(&key)) {
        return;
    }
    let (Some(result), Some(id)) = (state.kept.remove(&key), state.being_kept.remove(&key)) else { return };
    if result.is_err() {
        // One that waits for room on the disk is kept later.
        state.being_kept.insert(key, id);
    }
    stored(state, id, result, context);
}

/// A picture was written to a file, or could not be.
fn stored(state: &mut State, id: SessionPictureId, result: Result<PathBuf, Advice>, context: &mut Context<'_>) {
    let Some(picture) = state.session.get_mut(id) else { return };
    match result {
        Ok(path) => {
            picture.stored = PictureFile::At(path);
            state.session.make_room();
            if let Some(gallery) = context.gallery {
                gallery.send(GalleryRequest::Refresh);
            }
        }
        Err(advice) => {
            picture.stored = PictureFile::Failed;
            context.shared.error = Some(ErrorCard::of(advice));
        }
    }
}

/// Has the pictures of earlier sessions read, as soon as it is known where models are.
pub(crate) fn read_kept(state: &mut State, is_listed: bool, context: &Context<'_>) {
    if is_listed && !state.unread_pictures.is_empty() {
        let (unread, known) = (std::mem::take(&mut state.unread_pictures), OwnModels::of(context.shared));
        context.run(
            Worker::Files,
            move || {
                let read = |it: PictureSummary| Some((opened_picture::read_opened_picture(&it.path, &known.known())?, it));
                // Newest first.
                unread.into_iter().filter_map(read).filter(|(picture, _)| picture.tool == Tool::Atelier).collect::<Vec<_>>()
            },
            |pictures, features, _| {
                for (picture, summary) in pictures {
                    features.create.session.push_kept(picture, summary.path, summary.id);
                }
            },
        );
    }
}

/// Pictures of the gallery whose thumbnails this view shows.
pub(crate) fn wanted_thumbnails(state: &State, gallery: &gallery::State, shared: &Shared) -> Vec<PictureId> {
    let loras = shared.library.cards.iter().filter(|card| card.kind == ModelKind::Lora).filter_map(|card| gallery.latest_of_card(card));
    let used = shared.next.recipe.loras.iter().filter_map(|lora| gallery.latest_of_lora(&lora.path.file_stem()?.to_string_lossy()));
    let loras = used.chain(loras).take(MAX_LORAS);
    loras.chain(state.session.iter().filter_map(|it| it.kept)).collect()
}

/// Reads a picture of the session back, and has it made ready for the screen.
pub(crate) fn load(id: SessionPictureId, path: PathBuf, context: &Context<'_>) {
    context.run(
        Worker::Files,
        move || files::read_picture(&path),
        move |result, features, context| loaded(features.create, id, result, context),
    );
}

fn loaded(state: &mut State, id: SessionPictureId, result: Result<Rgb8, FileError>, context: &mut Context<'_>) {
    match result {
        Ok(pixels) => {
            let has_no_thumbnail = state.session.get(id).is_some_and(|picture| picture.thumbnail.is_none());
            convert(id, Arc::new(pixels), has_no_thumbnail, context);
        }
        Err(error) => {
            state.converting_picture = None;
            if let Some(picture) = state.session.get_mut(id) {
                picture.stored = PictureFile::Failed;
            }
            context.shared.error =
                Some(ErrorCard::new(error.to_string(), "The file may have been moved or deleted. Its settings are still here."));
        }
    }
}

/// Has a finished picture made ready for the screen, with the thumbnail of the filmstrip where that
/// is wanted.
fn convert(id: SessionPictureId, picture: Arc<Rgb8>, wants_thumbnail: bool, context: &Context<'_>) {
    let max_side_px = context.egui.input(|input| input.max_texture_side);
    context.run(
        Worker::Pixels,
        move || (pixels::to_screen(&picture, max_side_px), wants_thumbnail.then(|| pixels::thumbnail(&picture))),
        move |(full, thumbnail), features, context| picture_ready(features.create, id, full, thumbnail, context),
    );
}

fn picture_ready(state: &mut State, id: SessionPictureId, full: ColorImage, thumbnail: Option<ColorImage>, context: &Context<'_>) {
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
    // The finished picture takes the place of its preview; a next one of the batch brings a new
    // preview.
    if state.session.iter().next().is_some_and(|newest| newest.id == id) {
        state.forming = None;
    }
}

/// A preview is ready for the screen.
fn preview_ready(state: &mut State, job: JobId, preview: ScreenPreview, context: &mut Context<'_>) {
    let ScreenPreview { picture, place, image } = preview;
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
            (forming.width, forming.height, forming.place) = (width, height, place);
        }
        forming => {
            let texture = context.egui.load_texture("forming", image, TextureOptions::LINEAR);
            *forming = Some(FormingPicture { job, texture, width, height, place });
        }
    }
}

/// Has the thumbnail of a picture file read.
pub(crate) fn request_thumbnail(state: &mut State, path: PathBuf, context: &Context<'_>) {
    state.requested_thumbnails.insert(path.clone());
    let marks = context.background.reading_marks();
    context.run(
        Worker::Files,
        move || {
            let read = || files::read_picture(&path).map(|picture| pixels::thumbnail(&picture));
            let read = marks.as_ref().as_ref().map_or_else(|| Ok(read()), |marks| marks.read(&path, read));
            (read.unwrap_or_else(|left_out| Err(left_out.into())), path)
        },
        |(result, path), features, context| thumbnail_ready(features.create, path, result, context),
    );
}

fn thumbnail_ready(state: &mut State, path: PathBuf, result: Result<ColorImage, FileError>, context: &mut Context<'_>) {
    match result {
        Ok(look) => {
            let texture = context.egui.load_texture("look", look, TextureOptions::LINEAR);
            state.thumbnails.retain(|(of, _)| *of != path);
            state.thumbnails.push((path, texture));
            if state.thumbnails.len() > MAX_THUMBNAILS {
                let (path, _) = state.thumbnails.remove(0);
                state.requested_thumbnails.remove(&path);
            }
        }
        Err(error) => context.notice(error.to_string()),
    }
}
