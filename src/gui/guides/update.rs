//! Effects of the commands of the guides. Nothing here waits.

use std::path::{Path, PathBuf};

use eframe::egui::TextureOptions;

use crate::gui::context::Context;
use crate::gui::create::choose::{choose, choose_one};
use crate::gui::dialog::FileDialog;
use crate::gui::guides::command::Command;
use crate::gui::guides::state::{ControlLook, State, WantedLook};
use crate::gui::guides::work;
use crate::gui::workers::Worker;
use atelier_core::recipe::{ImageSource, Recipe, shaped_as};
use atelier_language::tr;

/// Endings of files with features of faces.
const FACES: &[&str] = &["bin"];

/// Starts the next picture from this one, or of several one from each. False, with a notice, where
/// there was no room for all of them.
pub(crate) fn start_from(images: Vec<ImageSource>, context: &mut Context<'_>) -> bool {
    let Some(image) = images.first().cloned() else { return true };
    let left_out = context.shared.next.recipe.set_starts(images);
    if left_out > 0 {
        context.notice(tr!("guides-start-pictures-at-most", most = Recipe::MAX_STARTS, left_out));
    }
    context.run(
        Worker::Files,
        // One that cannot be read says so as soon as it is used.
        move || atelier_media::image_size(&image).ok(),
        |own, features, context| own.into_iter().for_each(|own| take_shape(features.guides, own, context)),
    );
    left_out == 0
}

/// Gives the next picture the shape of its start picture, of this size in pixels, unless the person
/// has chosen a size.
fn take_shape(state: &mut State, own: (u32, u32), context: &mut Context<'_>) {
    let usual = context.shared.usual_size();
    let recipe = &mut context.shared.next.recipe;
    let size = (recipe.width, recipe.height);
    if size == usual || state.size_of_start == Some(size) {
        (recipe.width, recipe.height) = shaped_as(own, usual, (None, None));
        state.size_of_start = Some((recipe.width, recipe.height));
    }
}

/// Carries out a command.
pub(crate) fn update(_: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::ChooseStart => {
            choose(FileDialog::files(tr!("guides-choose-start-pictures")).pictures(), context, |paths, _, context| {
                start_from(paths.into_iter().map(ImageSource::File).collect(), context);
            });
        }
        Command::ClearStart => context.shared.next.recipe.remove_init(),
        Command::RemoveStart(index) => context.shared.next.recipe.remove_start(index),
        Command::ChooseMask => choose(FileDialog::file(tr!("guides-choose-a-mask")).pictures(), context, |paths, _, context| {
            let mask = &mut context.shared.next.recipe.mask;
            *mask = paths.into_iter().next().map(ImageSource::File).or(mask.take());
        }),
        Command::ClearMask => (context.shared.next.recipe.mask, context.shared.next.recipe.area) = (None, None),
        Command::AddReference => {
            choose(FileDialog::files(tr!("guides-add-reference-pictures")).pictures(), context, |paths, _, context| {
                context.shared.next.recipe.reference_images.extend(paths.into_iter().map(ImageSource::File));
            });
        }
        Command::RemoveReference(index) => {
            let references = &mut context.shared.next.recipe.reference_images;
            if index < references.len() {
                references.remove(index);
            }
        }
        Command::ChooseControl => {
            choose(FileDialog::file(tr!("guides-choose-a-control-picture")).pictures(), context, |paths, _, context| {
                let recipe = &mut context.shared.next.recipe;
                paths.into_iter().next().into_iter().for_each(|path| recipe.set_control_picture(ImageSource::File(path)));
            });
        }
        Command::ClearControl => context.shared.next.recipe.control = None,
        Command::AddPerson => choose(FileDialog::files(tr!("guides-add-pictures-of-the")).pictures(), context, |paths, _, context| {
            context.shared.add_person_pictures(paths.into_iter().map(ImageSource::File));
        }),
        Command::ChooseFaces => {
            let dialog = FileDialog::file(tr!("guides-choose-a-face-embedding")).filter(tr!("guides-face-embedding"), FACES);
            choose_one(dialog, context, |path, _, context| context.shared.next.recipe.person.id_embedding = Some(path));
        }
        Command::RemovePerson(index) => context.shared.remove_person_picture(index),
        Command::StartFromFile(path) => {
            start_from(vec![ImageSource::File(path)], context);
        }
    }
}

/// Has what a preprocessor makes of the control picture made anew, where it is another one.
pub(crate) fn refresh(state: &mut State, context: &Context<'_>) {
    let wanted = WantedLook::of(&context.shared.next.recipe);
    if state.is_looking || state.look.as_ref().map(|look| &look.wanted) == wanted.as_ref() {
        return;
    }
    state.look = wanted.clone().map(|wanted| ControlLook { wanted, made: None });
    let Some(wanted) = wanted else { return };
    state.is_looking = true;
    let marks = context.background.reading_marks();
    context.run(
        Worker::Files,
        move || (work::look(&wanted, marks.as_ref().as_ref()), wanted),
        |(made, wanted), features, context| {
            features.guides.is_looking = false;
            let made = made.map(|look| context.egui.load_texture("control", look, TextureOptions::LINEAR));
            features.guides.look = Some(ControlLook { wanted, made: Some(made) });
        },
    );
}

/// Takes the pictures of a person from the folder that a pasted command names.
pub(crate) fn list_person(folder: PathBuf, context: &Context<'_>) {
    context.run(
        Worker::Files,
        move || (atelier_media::picture_files(&folder).map_err(|error| error.to_string()), folder),
        |(files, folder), _, context| person_listed(&folder, files, context),
    );
}

fn person_listed(folder: &Path, files: Result<Vec<PathBuf>, String>, context: &mut Context<'_>) {
    match files {
        Ok(files) if files.is_empty() => context.notice(tr!("guides-contains-no-pictures", folder = folder.display())),
        Ok(files) => {
            context.shared.next.recipe.person.images.clear();
            context.shared.add_person_pictures(files.into_iter().map(ImageSource::File));
        }
        Err(reason) => context.notice(tr!("guides-the-pictures-of-the", folder = folder.display(), reason)),
    }
}
