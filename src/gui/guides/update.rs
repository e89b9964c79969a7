//! Effects of the commands of the guides. Nothing here waits.

use std::path::{Path, PathBuf};

use crate::gui::context::Context;
use crate::gui::create;
use crate::gui::files::{DialogKind, DialogResult, GuideKind};
use crate::gui::guides::command::Command;
use crate::gui::guides::state::State;
use atelier_core::recipe::{ImageSource, InitImage};

/// Starts the next picture from this one.
pub(crate) fn start_from(image: ImageSource, context: &mut Context<'_>) {
    let init = &mut context.shared.next.recipe.init;
    let strength = init.as_ref().map_or(InitImage::USUAL_STRENGTH, |init| init.strength);
    *init = Some(InitImage { image, strength });
}

/// Carries out a command.
pub(crate) fn update(_: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::ChooseStart => context.open_dialog(DialogKind::Guide(GuideKind::Start), String::new()),
        Command::ClearStart => context.shared.next.recipe.remove_init(),
        Command::ChooseMask => context.open_dialog(DialogKind::Guide(GuideKind::Mask), String::new()),
        Command::ClearMask => (context.shared.next.recipe.mask, context.shared.next.recipe.area) = (None, None),
        Command::AddReference => context.open_dialog(DialogKind::Guide(GuideKind::Reference), String::new()),
        Command::RemoveReference(index) => {
            let references = &mut context.shared.next.recipe.reference_images;
            if index < references.len() {
                references.remove(index);
            }
        }
        Command::ChooseControl => context.open_dialog(DialogKind::Guide(GuideKind::Control), String::new()),
        Command::ClearControl => context.shared.next.recipe.control = None,
        Command::AddPerson => context.open_dialog(DialogKind::Guide(GuideKind::Person), String::new()),
        Command::RemovePerson(index) => context.shared.remove_person_picture(index),
        Command::StartFromFile(path) => start_from(ImageSource::File(path), context),
    }
}

/// The folder of a pasted command has been listed: its pictures are those of the person.
pub(crate) fn person_listed(folder: &Path, files: Result<Vec<PathBuf>, String>, context: &mut Context<'_>) {
    match files {
        Ok(files) if files.is_empty() => context.notice(format!("{} contains no pictures.", folder.display())),
        Ok(files) => {
            context.shared.next.recipe.person.images.clear();
            context.shared.add_person_pictures(files.into_iter().map(ImageSource::File));
        }
        Err(reason) => context.notice(format!("The pictures of the person in {} cannot be read: {reason}.", folder.display())),
    }
}

/// A file dialog of the guides was closed.
pub(crate) fn dialog_closed(kind: GuideKind, result: DialogResult, context: &mut Context<'_>) {
    let paths = match result {
        DialogResult::Paths(paths) => paths,
        DialogResult::Cancelled => return,
        DialogResult::NoDialog => {
            context.follow_up(create::Command::TypePath(Some(String::new())));
            context.notice("This system has no file dialog. Type a path instead, or drop files on the window.");
            return;
        }
    };
    let recipe = &mut context.shared.next.recipe;
    let mut images = paths.into_iter().map(ImageSource::File);
    match kind {
        GuideKind::Reference => recipe.reference_images.extend(images),
        GuideKind::Person => context.shared.add_person_pictures(images),
        GuideKind::Start => images.next().into_iter().for_each(|image| start_from(image, context)),
        GuideKind::Mask => recipe.mask = images.next().or(recipe.mask.take()),
        GuideKind::Control => images.next().into_iter().for_each(|image| recipe.set_control_picture(image)),
    }
}
