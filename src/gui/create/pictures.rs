//! Pictures and previews of the Create view: from the engine to the screen, while the queue keeps
//! them. Nothing here waits.

use std::path::PathBuf;
use std::sync::Arc;

use atelier_gallery::{PictureFlag, PictureId, PictureSummary};
use atelier_language::tr;
use eframe::egui::{ColorImage, TextureOptions};

use crate::gui::context::Context;
use crate::gui::create::examples::Examples;
use crate::gui::create::forming::{FormingPicture, Origin};
use crate::gui::create::own_models::OwnModels;
use crate::gui::create::session::{PictureFile, SessionPictureId};
use crate::gui::create::state::State;
use crate::gui::create::steps::refresh_step;
use crate::gui::create::work;
use crate::gui::files::{self, FileError};
use crate::gui::gallery;
use crate::gui::pixels::{self, ScreenPreview};
use crate::gui::shared::{ErrorCard, Shared};
use crate::gui::viewport::{set_filter, texture_options};
use crate::gui::workers::Worker;
use atelier_core::advice::Advice;
use atelier_core::paths::Paths;
use atelier_core::recipe::{Recipe, Rgb8};
use atelier_engine::{JobId, Picture, Preview};
use atelier_library::ModelKind;
use atelier_media::Tool;
use atelier_studio::gallery_service::GalleryRequest;
use atelier_studio::opened_picture;
use atelier_studio::queue::KeptPicture;
use atelier_studio::results::Destination;

/// LoRAs whose last pictures are shown.
const MAX_LORAS: usize = 60;
/// Longest side of a picture in a cell of the contact sheet, in pixels.
const CELL_SIDE_PX: usize = 1024;
/// Longest side of an example picture, in pixels.
const EXAMPLE_SIDE_PX: usize = 512;
/// Most thumbnails of files that are kept: more than the pictures of a recipe, which would else be
/// read again and again.
const MAX_THUMBNAILS: usize = 192;

/// Keeps the newest preview of each picture until it can be made ready for the screen.
pub(crate) fn preview(state: &mut State, job: JobId, preview: Preview) {
    state.step_previews.add(job, &preview);
    state.forming.add_preview(job, preview);
}

/// A picture is finished: it is made ready for the screen, while the queue keeps it.
pub(crate) fn picture(state: &mut State, job: JobId, picture: &Picture, context: &mut Context<'_>) {
    let recipe = context.shared.jobs.get_mut(job).map(|job| job.recipe.clone()).unwrap_or_default();
    let origin = (job, picture.info.index);
    state.forming.finish(origin);
    let id = show(state, recipe, picture, Some(origin), context);
    state.being_kept.insert(origin, id);
    state.step_previews.finish(job, picture.info.index, id);
    match_file(state, origin, context);
}

/// Keeps a picture that no job of the queue made. `paths`: the person's folders; without any it is
/// in no index.
pub(crate) fn keep(state: &mut State, recipe: Recipe, picture: &Picture, paths: Option<Paths>, context: &mut Context<'_>) {
    let id = show(state, recipe.clone(), picture, None, context);
    let recipe = Recipe { width: picture.image.width(), height: picture.image.height(), ..recipe };
    let destination = Destination::Folder { folder: state.pictures_folder.clone(), recipe: Box::new(recipe), has_metadata: true };
    let picture = picture.clone();
    context.run(
        Worker::Files,
        move || work::keep(&destination, &picture, paths),
        move |result, features, context| stored(features.create, id, result, None, context),
    );
}

/// Adds a finished picture to those of the session, and has it made ready for the screen.
fn show(state: &mut State, mut recipe: Recipe, picture: &Picture, origin: Option<Origin>, context: &Context<'_>) -> SessionPictureId {
    state.last_seed = picture.info.seed.or(state.last_seed);
    if !recipe.has_own_size() {
        (recipe.width, recipe.height) = (picture.image.width(), picture.image.height());
    }
    let id = state.session.push(recipe, picture.info, picture.notes.clone(), Arc::clone(&picture.image));
    if let Some(picture) = state.session.get_mut(id) {
        picture.origin = origin;
    }
    if let Some(origin) = origin {
        state.sheet.finish(origin, id);
    }
    let conversion = Conversion { id, origin, wants_thumbnail: true, is_cell: state.shows_sheet() };
    convert(conversion, Arc::clone(&picture.image), context);
    if is_seen(state, id) {
        state.converting_picture = Some(id);
    }
    id
}

/// True where a picture is on the screen: alone, or in a cell of the sheet.
fn is_seen(state: &State, id: SessionPictureId) -> bool {
    if state.shows_sheet() { state.sheet.has(id) } else { state.session.shown().is_some_and(|shown| shown.id == id) }
}

/// A job has ended. A last preview stays until its picture is ready for the screen, so that nothing
/// flickers.
pub(crate) fn job_ended(state: &mut State, job: JobId, is_done: bool) {
    state.step_previews.end(job);
    if !is_done {
        state.last_asked = None;
    }
    state.forming.end_job(job);
    state.sheet.end_job(job);
}

/// Asks for the pictures that are shown, where the graphics card does not have them, and for the
/// newest preview.
pub(crate) fn refresh_textures(state: &mut State, context: &mut Context<'_>) {
    if let Some((job, preview)) = state.forming.next_preview() {
        context.run(
            Worker::Pixels,
            move || ScreenPreview::of(&preview),
            move |preview, features, context| preview_ready(features.create, job, preview, context),
        );
    }
    refresh_step(state, context);
    refresh_filter(state, context);
    if state.converting_picture.is_some() {
        return;
    }
    let is_cell = state.shows_sheet();
    let wanted = if is_cell {
        state.sheet.pictures().find(|id| state.session.texture(*id).is_none() && has_pixels(state, *id))
    } else {
        let shown = state.session.shown().map(|picture| picture.id);
        shown.filter(|id| !state.session.has_whole_texture(*id) && has_pixels(state, *id))
    };
    let Some(picture) = wanted.and_then(|id| state.session.get(id)) else { return };
    let conversion = Conversion { id: picture.id, origin: None, wants_thumbnail: picture.thumbnail.is_none(), is_cell };
    match (&picture.pixels, &picture.stored) {
        (Some(pixels), _) => convert(conversion, Arc::clone(pixels), context),
        (None, PictureFile::At(path)) => load(conversion, path.clone(), context),
        (None, PictureFile::Writing | PictureFile::Failed) => return,
    }
    state.converting_picture = Some(conversion.id);
}

/// True where the pixels of a picture are in memory or in a file.
fn has_pixels(state: &State, id: SessionPictureId) -> bool {
    state.session.get(id).is_some_and(|picture| picture.pixels.is_some() || matches!(picture.stored, PictureFile::At(_)))
}

/// Draws the picture shown as the canvas would: smoothly, or with its pixels as squares.
fn refresh_filter(state: &mut State, context: &Context<'_>) {
    let texture = state.session.shown().and_then(|picture| state.session.texture(picture.id));
    let Some(texture) = texture else { return };
    let wanted = (texture.id(), state.shows_pixels(context.egui));
    if state.filtered != Some(wanted) {
        set_filter(texture, wanted.1);
    }
    state.filtered = Some(wanted);
}

/// The queue has kept a picture, or could not. It may say so before the engine's own picture is
/// read.
pub(crate) fn note_file(state: &mut State, origin: Origin, result: Result<KeptPicture, Advice>, context: &mut Context<'_>) {
    state.kept.insert(origin, result);
    match_file(state, origin, context);
}

/// Notes the file of a picture of which both the pixels and the file have come.
fn match_file(state: &mut State, origin: Origin, context: &mut Context<'_>) {
    if !(state.kept.contains_key(&origin) && state.being_kept.contains_key(&origin)) {
        return;
    }
    let (Some(result), Some(id)) = (state.kept.remove(&origin), state.being_kept.remove(&origin)) else { return };
    if result.is_err() {
        // One that waits for room on the disk is kept later.
        state.being_kept.insert(origin, id);
    }
    let number = result.as_ref().ok().map(|kept| kept.id);
    stored(state, id, result.map(|kept| kept.path), number, context);
}

/// A picture was written to a file, or could not be. `number`: in the gallery.
fn stored(state: &mut State, id: SessionPictureId, result: Result<PathBuf, Advice>, number: Option<PictureId>, context: &mut Context<'_>) {
    let Some(picture) = state.session.get_mut(id) else { return };
    match result {
        Ok(path) => {
            picture.stored = PictureFile::At(path);
            picture.kept = number;
            if picture.is_picked {
                // It was picked before it had a number.
                context.follow_up(gallery::Command::FlagOf(number.into_iter().collect(), Some(PictureFlag::Pick)));
            }
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
                    features.create.session.push_earlier(picture, summary);
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
    let examples = state.examples.own.iter().filter(|_| state.session.is_empty()).map(|it| it.id);
    examples.chain(loras).chain(state.session.iter().filter(|it| it.thumbnail.is_none()).filter_map(|it| it.kept)).collect()
}

/// What is made of a picture for the screen.
#[derive(Clone, Copy)]
pub(crate) struct Conversion {
    pub(crate) id: SessionPictureId,
    /// The forming picture whose place it takes.
    origin: Option<Origin>,
    wants_thumbnail: bool,
    /// As large as a cell of the contact sheet needs; else as large as it is.
    is_cell: bool,
}

impl Conversion {
    /// The whole picture, with a thumbnail.
    pub(crate) const fn whole(id: SessionPictureId) -> Self {
        Self { id, origin: None, wants_thumbnail: true, is_cell: false }
    }
}

/// Reads a picture of the session back, and has it made ready for the screen.
pub(crate) fn load(conversion: Conversion, path: PathBuf, context: &Context<'_>) {
    context.run(
        Worker::Files,
        move || files::read_picture(&path),
        move |result, features, context| loaded(features.create, conversion, result, context),
    );
}

fn loaded(state: &mut State, conversion: Conversion, result: Result<Rgb8, FileError>, context: &mut Context<'_>) {
    match result {
        Ok(pixels) => {
            let wants_thumbnail = state.session.get(conversion.id).is_some_and(|picture| picture.thumbnail.is_none());
            convert(Conversion { wants_thumbnail, ..conversion }, Arc::new(pixels), context);
        }
        Err(error) => {
            state.converting_picture = None;
            if let Some(picture) = state.session.get_mut(conversion.id) {
                picture.stored = PictureFile::Failed;
            }
            context.shared.error = Some(ErrorCard::new(error.to_string(), tr!("create-the-file-may-have")));
        }
    }
}

/// Has a finished picture made ready for the screen, with the thumbnail of the filmstrip where that
/// is wanted.
fn convert(conversion: Conversion, picture: Arc<Rgb8>, context: &Context<'_>) {
    let most_px = context.egui.input(|input| input.max_texture_side);
    let max_side_px = if conversion.is_cell { most_px.min(CELL_SIDE_PX) } else { most_px };
    let longest_px = picture.width().max(picture.height()) as usize;
    let is_whole = !conversion.is_cell || longest_px <= max_side_px;
    context.run(
        Worker::Pixels,
        move || (pixels::to_screen(&picture, max_side_px), conversion.wants_thumbnail.then(|| pixels::thumbnail(&picture))),
        move |(look, thumbnail), features, context| picture_ready(features.create, conversion, (look, is_whole), thumbnail, context),
    );
}

fn picture_ready(
    state: &mut State,
    conversion: Conversion,
    (look, is_whole): (ColorImage, bool),
    thumbnail: Option<ColorImage>,
    context: &Context<'_>,
) {
    let Conversion { id, origin, .. } = conversion;
    if state.converting_picture == Some(id) {
        state.converting_picture = None;
    }
    if let Some(look) = thumbnail
        && let Some(picture) = state.session.get_mut(id)
    {
        picture.thumbnail = Some(context.egui.load_texture("thumbnail", look, TextureOptions::LINEAR));
    }
    if is_seen(state, id) && (is_whole || !state.session.has_whole_texture(id)) {
        let texture = context.egui.load_texture("picture", look, texture_options(false));
        let State { session, sheet, .. } = state;
        session.keep_texture(id, texture, is_whole, |of| sheet.has(of));
    }
    // The finished picture takes the place of its preview.
    if let Some(origin) = origin {
        state.forming.replace(origin);
    }
}

/// A preview is ready for the screen.
fn preview_ready(state: &mut State, job: JobId, preview: ScreenPreview, context: &mut Context<'_>) {
    let ScreenPreview { picture: index, place, image } = preview;
    state.forming.converting = None;
    let Some(running) = context.shared.jobs.get_mut(job) else { return };
    if !state.forming.takes((job, index)) {
        return;
    }
    let (width, height) = running.progress.size_px().unwrap_or((image.size[0] as u32, image.size[1] as u32));
    if let Some(forming) = state.forming.get_mut((job, index)) {
        forming.texture.set(image, TextureOptions::LINEAR);
        (forming.width, forming.height, forming.place) = (width, height, place);
    } else {
        let texture = context.egui.load_texture("forming", image, TextureOptions::LINEAR);
        state.forming.show(FormingPicture { job, index, texture, width, height, place });
    }
}

/// Asks for what an empty start shows of the chosen model, once it is wanted.
pub(crate) fn refresh_examples(state: &mut State, context: &Context<'_>) {
    let next = &context.shared.next;
    let files = &next.recipe.files;
    if !state.session.is_empty() {
        return;
    }
    let is_other = !state.examples.is_of(files);
    if is_other {
        state.examples = Examples::of(files.clone());
    }
    if let Some(gallery) = context.gallery.filter(|_| !state.examples.has_asked) {
        state.examples.has_asked = true;
        gallery.send(GalleryRequest::BestOf(files.clone()));
    }
    if !is_other {
        return;
    }
    let Some(builtin) = next.builtin.as_ref().ok().filter(|builtin| builtin.is_in(&next.recipe)) else { return };
    state.examples.is_reading = true;
    let paths: Vec<Option<PathBuf>> = builtin.manifest().examples.iter().map(|it| builtin.example_file(it)).collect();
    let of = files.clone();
    context.run(
        Worker::Files,
        move || {
            // All of them or none: each stands beside its prompt.
            let read = |path: &PathBuf| files::read_picture(path).map(|picture| pixels::to_screen(&picture, EXAMPLE_SIDE_PX));
            paths.iter().map(|path| path.as_ref().map(read).transpose()).collect::<Result<Vec<_>, _>>()
        },
        move |looks, features, context| {
            let examples = &mut features.create.examples;
            if !examples.is_of(&of) {
                return;
            }
            examples.is_reading = false;
            match looks {
                Ok(looks) => {
                    let texture = |look| context.egui.load_texture("example", look, TextureOptions::LINEAR);
                    examples.looks = looks.into_iter().map(|look| look.map(texture)).collect();
                }
                Err(error) => tracing::warn!("the example pictures were not read: {error}"),
            }
        },
    );
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
