//! Files that come from outside: dropped, pasted, or opened by the command line, a file manager or
//! a second start. A picture that Atelier made and that is opened is shown and brings its settings;
//! of every other picture the person is asked what it is for. Nothing here waits.

use std::path::PathBuf;

use crate::gui::context::Context;
use crate::gui::create::added_files::identified;
use crate::gui::create::dropped::{DroppedPictures, DroppedUse};
use crate::gui::create::own_models::OwnModels;
use crate::gui::create::pictures::{self, Conversion};
use crate::gui::create::state::State;
use crate::gui::create::work::{self, Opened};
use crate::gui::gallery;
use crate::gui::guides::update::start_from;
use crate::gui::workers::Worker;
use atelier_core::recipe::{ImageSource, Rgb8};
use atelier_language::tr;
use atelier_media::Tool;
use atelier_studio::opened_picture::OpenedPicture;

/// Reads these files, and takes them over. `dropped`: the person is asked about every picture.
pub(crate) fn open(paths: Vec<PathBuf>, dropped: bool, context: &Context<'_>) {
    let known = OwnModels::of(context.shared);
    context.run(
        Worker::Files,
        move || work::open_all(paths, &known.known()),
        move |files, features, context| {
            context.name_change(if dropped { tr!("create-add-files") } else { tr!("create-open-files") });
            opened(features.create, files, dropped, context);
        },
    );
}

fn opened(state: &mut State, files: Vec<(PathBuf, Opened)>, dropped: bool, context: &mut Context<'_>) {
    let (mut others, mut pictures) = (Vec::new(), Vec::new());
    for (path, what) in files {
        match what {
            Opened::Picture(Some(picture)) if !dropped && picture.tool == Tool::Atelier => use_settings(state, path, *picture, context),
            Opened::Picture(picture) => pictures.push((path, picture)),
            Opened::Other(kind) => others.push((path, kind)),
        }
    }
    offer(state, pictures, context);
    identified(others, context);
}

/// Takes the settings of a picture over. One that Atelier made is shown too.
fn use_settings(state: &mut State, path: PathBuf, picture: OpenedPicture, context: &mut Context<'_>) {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let is_own = picture.tool == Tool::Atelier;
    let mut words = if is_own { tr!("create-loaded-prompt-seed-and", name) } else { tr!("create-loaded-the-recognised-settings", name) };
    for sentence in picture.sentences() {
        words.push(' ');
        words.push_str(&sentence);
    }
    context.shared.next.apply_settings(&picture.settings.clone().with_words_as_letters());
    if is_own {
        let id = state.session.push_file(picture, path.clone());
        // The thumbnail; what the canvas shows it asks for itself.
        pictures::load(Conversion::whole(id), path, context);
        state.session.show(id);
    }
    context.notice(words);
}

/// Asks what these pictures are for.
fn offer(state: &mut State, pictures: Vec<(PathBuf, Option<Box<OpenedPicture>>)>, context: &Context<'_>) {
    // One with settings is the one to be asked about.
    let first = pictures.iter().position(|(_, opened)| opened.is_some()).unwrap_or_default();
    let mut pictures = pictures;
    if pictures.is_empty() {
        return;
    }
    let (path, opened) = pictures.remove(first);
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let images = std::iter::once(path).chain(pictures.into_iter().map(|(path, _)| path)).map(ImageSource::File).collect();
    state.dropped = Some(DroppedPictures { images, name, opened });
    state.focus_dialog = true;
    context.egui.request_repaint();
}

/// Asks what a pasted picture is for.
pub(crate) fn offer_pasted(state: &mut State, image: Rgb8, context: &Context<'_>) {
    let name = tr!("create-picture-of-pixels", width = image.width(), height = image.height());
    state.dropped = Some(DroppedPictures { images: vec![ImageSource::Pixels(image)], name, opened: None });
    state.focus_dialog = true;
    context.egui.request_repaint();
}

/// Uses the pictures that wait, and asks no more.
pub(crate) fn use_dropped(state: &mut State, purpose: DroppedUse, context: &mut Context<'_>) {
    let Some(DroppedPictures { images, name, opened }) = state.dropped.take() else { return };
    match purpose {
        DroppedUse::Settings => {
            if let (Some(opened), Some(ImageSource::File(path))) = (opened, images.into_iter().next()) {
                use_settings(state, path, *opened, context);
            }
        }
        DroppedUse::Start => {
            let count = images.len();
            if start_from(images, context) {
                context.notice(match count {
                    1 => tr!("create-is-the-start-picture", name),
                    count => tr!("create-start-pictures-a-picture", count),
                });
            }
        }
        DroppedUse::Gallery => {
            let files = images.into_iter().filter_map(|image| match image {
                ImageSource::File(path) => Some(path),
                ImageSource::Pixels(_) => None,
            });
            context.follow_up(gallery::command::Command::AddPaths(files.collect()));
        }
        DroppedUse::Control => {
            if let Some(image) = images.into_iter().next() {
                context.shared.next.recipe.set_control_picture(image);
                context.notice(tr!("create-is-the-control-picture", name));
            }
        }
        DroppedUse::Person => {
            context.shared.add_person_pictures(images);
            context.notice(tr!("create-shows-the-person-of", name));
        }
        DroppedUse::Reference => {
            context.shared.next.recipe.reference_images.extend(images);
            context.notice(tr!("create-is-a-reference-of", name));
        }
    }
}
