//! Files that are opened from outside, by the command line, a file manager or a second start. A picture that Atelier made is shown and
//! brings its settings; everything else is taken as if it were dropped. Nothing here waits.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::gui::context::Context;
use crate::gui::create::state::State;
use crate::gui::create::update;
use crate::gui::files::{FileTask, Opened};
use crate::gui::shared::Shared;
use crate::studio::opened_picture::OpenedPicture;
use atelier_core::recipe::{ModelFiles, RecallPart, Recipe};

/// Reads these files; `Report::Opened` follows.
pub(crate) fn open(paths: Vec<PathBuf>, context: &mut Context<'_>) {
    context.workers.file(FileTask::Open { paths, known: known_files(context.shared) });
}

/// Model files of this machine, those in use first.
pub(crate) fn known_files(shared: &Shared) -> Vec<PathBuf> {
    let builtin = shared.builtin.as_ref().ok().map(|builtin| builtin.files());
    let own = shared.custom_recipe.as_ref().map(|recipe| &recipe.files);
    let files = [Some(&shared.recipe.files), builtin, own].into_iter().flatten().flat_map(ModelFiles::iter);
    let loras = shared.recipe.loras.iter().map(|lora| lora.path.as_path());
    files.map(|(_, path)| path).chain(loras).map(Path::to_owned).chain(shared.library_files.iter().cloned()).collect()
}

/// Files that were opened have been read.
pub(crate) fn opened(state: &mut State, files: Vec<(PathBuf, Opened)>, context: &mut Context<'_>) {
    let mut others = Vec::new();
    for (path, what) in files {
        match what {
            Opened::Picture(picture) => show(state, path, *picture, context),
            Opened::Other(kind) => others.push((path, kind)),
        }
    }
    update::identified(others, context);
}

fn show(state: &mut State, path: PathBuf, picture: OpenedPicture, context: &mut Context<'_>) {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    // Writing into a text never fails.
    let mut words = format!("Prompt, seed and settings of {name} are set.");
    if !picture.missing_files.is_empty() {
        let _ = write!(words, " Its model is not on this machine ({}): the one you chose stays.", picture.missing_files.join(", "));
    }
    if !picture.missing_extras.is_empty() {
        let _ = write!(words, " Not found: {}.", picture.missing_extras.join(", "));
    }
    let keeps_model = !picture.missing_files.is_empty() || picture.recipe.files.is_empty();
    let id = state.session.push_file(picture.clone(), path.clone());
    // The thumbnail; what the canvas shows it asks for itself.
    context.workers.file(FileTask::Load(id, path));
    state.session.show(id);
    let files = if keeps_model { ModelFiles::default() } else { picture.recipe.files };
    context.shared.recall(RecallPart::All, &Recipe { files, ..picture.recipe });
    context.notice(words);
}
