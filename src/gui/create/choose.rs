//! File dialogs of this view and of the guides: where the system has none, a person types a path.
//! Nothing here waits.

use std::path::PathBuf;

use atelier_language::tr;

use crate::gui::context::Context;
use crate::gui::dialog::FileDialog;
use crate::gui::features::Features;

/// Asks for files, then calls `apply` with those that were chosen.
pub(crate) fn choose(
    dialog: FileDialog,
    context: &mut Context<'_>,
    apply: impl FnOnce(Vec<PathBuf>, Features<'_>, &mut Context<'_>) + Send + 'static,
) {
    let without = |features: Features<'_>, context: &mut Context<'_>| {
        features.create.typed_path.get_or_insert_default();
        context.notice(tr!("create-this-system-has-no"));
    };
    context.choose(dialog, without, apply);
}

/// Asks for one file.
pub(crate) fn choose_one(
    dialog: FileDialog,
    context: &mut Context<'_>,
    apply: impl FnOnce(PathBuf, Features<'_>, &mut Context<'_>) + Send + 'static,
) {
    choose(dialog, context, |paths, features, context| {
        if let Some(path) = paths.into_iter().next() {
            apply(path, features, context);
        }
    });
}
