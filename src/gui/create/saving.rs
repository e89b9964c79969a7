//! Saving the picture shown somewhere else: the ending of the name decides the format. Where the
//! system has no file dialog, a person types the place. Nothing here waits.

use std::path::{Path, PathBuf};

use atelier_language::tr;
use atelier_media::ExportLoss;

use crate::gui::context::Context;
use crate::gui::create::save_dialog::{SaveDialog, USUAL_QUALITY};
use crate::gui::create::session::{PictureFile, SessionPictureId};
use crate::gui::create::state::State;
use crate::gui::create::work::{self, SaveResult, SavedPicture};
use crate::gui::dialog::FileDialog;
use crate::gui::features::Features;
use crate::gui::shared::ErrorCard;
use crate::gui::typed_path::parse_path;
use crate::gui::workers::Worker;
use atelier_core::recipe::SeedNumber;

/// Asks where the picture shown goes.
pub(super) fn ask(state: &State, context: &mut Context<'_>) {
    let Some(id) = state.session.shown().map(|picture| picture.id) else { return };
    let dialog = FileDialog::target(tr!("create-save-picture-as"), file_name(state, id))
        .filter(tr!("common-png-picture"), &["png"])
        .filter(tr!("create-jpeg-picture"), &["jpg", "jpeg"])
        .filter(tr!("create-webp-picture"), &["webp"]);
    let without = |features: Features<'_>, _: &mut Context<'_>| {
        let state = features.create;
        if let Some(id) = state.session.shown().map(|picture| picture.id) {
            let path = state.pictures_folder.join(file_name(state, id)).display().to_string();
            let replaced = None;
            state.save_dialog = Some(Box::new(SaveDialog { id, path, is_typed: true, quality: USUAL_QUALITY, replaced }));
            state.focus_dialog = true;
        }
    };
    context.choose(dialog, without, move |paths, features, context| {
        let Some(path) = paths.into_iter().next() else { return };
        // The system's dialog has asked about a file that is there.
        let replaced = Some(path.clone());
        let dialog = SaveDialog { id, path: path.display().to_string(), is_typed: false, quality: USUAL_QUALITY, replaced };
        if dialog.has_quality() {
            features.create.save_dialog = Some(Box::new(dialog));
        } else {
            write(features.create, &dialog, path, context);
        }
    });
}

/// Saves as the dialog says.
pub(super) fn save(state: &mut State, context: &mut Context<'_>) {
    let Some(dialog) = state.save_dialog.take() else { return };
    let target = state.pictures_folder.join(parse_path(Path::new(&dialog.path)));
    write(state, &dialog, target, context);
}

fn write(state: &State, dialog: &SaveDialog, target: PathBuf, context: &mut Context<'_>) {
    let Some(picture) = state.session.get(dialog.id) else { return };
    let kept = match &picture.stored {
        PictureFile::At(path) => Some(path.clone()),
        PictureFile::Writing | PictureFile::Failed => None,
    };
    let (recipe, notes, pixels) = (picture.recipe.clone(), picture.notes.clone(), picture.pixels.clone());
    let picture = SavedPicture { kept, recipe, notes, pixels };
    let (quality, replaces) = (dialog.quality, dialog.replaced.as_ref() == Some(&target));
    let dialog = dialog.clone();
    context.run(
        Worker::Files,
        move || work::save_as(&target, &picture, quality, replaces),
        move |saved, features, context| match saved {
            Ok(SaveResult::Saved(path, losses)) if losses.is_empty() => context.notice(tr!("create-saved-as", path = path.display())),
            Ok(SaveResult::Saved(path, losses)) => {
                context.notice(tr!("create-saved-as-with-losses", path = path.display(), losses = ExportLoss::clauses(&losses)));
            }
            Ok(SaveResult::Exists(path)) => {
                let asked = SaveDialog { path: path.display().to_string(), is_typed: true, replaced: Some(path), ..dialog };
                features.create.save_dialog = Some(Box::new(asked));
                features.create.focus_dialog = true;
            }
            Err(error) => {
                context.shared.error = Some(ErrorCard::new(error.to_string(), tr!("create-choose-another-folder-or")));
            }
        },
    );
}

/// The file name proposed for a picture: the first words of its prompt and its seed.
fn file_name(state: &State, id: SessionPictureId) -> String {
    state.session.get(id).map_or_else(String::new, |picture| {
        let words: String = picture.recipe.prompt.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
        let words: Vec<_> = words.split_whitespace().take(6).collect();
        let words = if words.is_empty() { "picture".into() } else { words.join(" ") };
        format!("{} {}.png", words.chars().take(48).collect::<String>(), SeedNumber(picture.info.seed))
    })
}
