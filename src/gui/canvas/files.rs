//! Canvases and files: saving, opening, exporting. Nothing here waits.

use std::path::PathBuf;

use atelier_media::canvas_file::CANVAS_ENDING;

use crate::gui::canvas::documents;
use crate::gui::canvas::state::State;
use crate::gui::canvas::work::{self, CanvasExport};
use crate::gui::context::Context;
use crate::gui::dialog::FileDialog;
use crate::gui::features::Features;
use crate::gui::shared::ErrorCard;
use crate::gui::workers::Worker;

/// Writes the document to its file, or asks where to.
pub(crate) fn save(state: &State, context: &mut Context<'_>) {
    match state.edited().and_then(|document| document.file.clone()) {
        Some(path) => save_to(state, path, context),
        None => save_as(context),
    }
}

/// Asks where to write the document.
pub(crate) fn save_as(context: &mut Context<'_>) {
    let dialog = FileDialog::target("Save canvas as", "Canvas.atelier").filter("Canvas", &[CANVAS_ENDING]);
    choose(dialog, context, |path, features, context| save_to(features.canvas, path, context));
}

fn save_to(state: &State, path: PathBuf, context: &Context<'_>) {
    let Some(document) = state.edited() else { return };
    let (number, version, content) = (document.number, document.document.version(), document.document.content().clone());
    context.run(
        Worker::Files,
        move || work::save(&path, &content),
        move |saved, features, context| match saved {
            Ok(path) => {
                context.notice(format!("Saved as {}", path.display()));
                if let Some(document) = features.canvas.open_document_mut(number) {
                    (document.file, document.version_in_file) = (Some(path), Some(version));
                }
            }
            Err(error) => {
                let sentence = format!("The canvas could not be saved: {}.", error.cause());
                context.shared.error = Some(ErrorCard::new(sentence, "Choose another folder, or free some disk space."));
            }
        },
    );
}

/// Asks where to export to.
pub(crate) fn export(export: CanvasExport, context: &mut Context<'_>) {
    let dialog = match export {
        CanvasExport::Png => FileDialog::target("Export as PNG", "Canvas.png").filter("PNG picture", &["png"]),
        CanvasExport::OpenRaster => FileDialog::target("Export as OpenRaster", "Canvas.ora").filter("OpenRaster", &["ora"]),
        CanvasExport::Layers => FileDialog::folder("Choose the folder for the layers"),
    };
    choose(dialog, context, move |path, features, context| export_to(features.canvas, export, path, context));
}

fn export_to(state: &State, export: CanvasExport, path: PathBuf, context: &Context<'_>) {
    let Some(content) = state.edited().map(|document| document.document.content().clone()) else { return };
    context.run(
        Worker::Files,
        move || work::export(export, &path, &content),
        |exported, _, context| match exported {
            Ok(path) => context.notice(format!("Exported to {}", path.display())),
            Err(error) => {
                let sentence = format!("The canvas could not be exported: {}.", error.cause());
                context.shared.error = Some(ErrorCard::new(sentence, "Choose another folder, or free some disk space."));
            }
        },
    );
}

/// Asks for a canvas to open.
pub(crate) fn choose_canvas(context: &mut Context<'_>) {
    let dialog = FileDialog::file("Open a canvas").filter("Canvases", &[CANVAS_ENDING]);
    choose(dialog, context, |path, features, context| open(features.canvas, path, context));
}

/// Opens a canvas of a file.
pub(crate) fn open(state: &mut State, path: PathBuf, context: &Context<'_>) {
    state.opening = Some((None, state.tool));
    context.run(
        Worker::Files,
        move || (work::open(&path), path),
        |(content, path), features, context| match content {
            Ok(content) => {
                documents::opened(features.canvas, None, content, context);
                if let Some(document) = features.canvas.edited_mut() {
                    document.file = Some(path);
                }
            }
            Err(error) => documents::not_opened(features.canvas, &error, context),
        },
    );
}

fn choose(dialog: FileDialog, context: &mut Context<'_>, apply: impl FnOnce(PathBuf, Features<'_>, &mut Context<'_>) + Send + 'static) {
    let without = |_: Features<'_>, context: &mut Context<'_>| {
        context.notice("This system has no file dialog. Your canvas is saved automatically; drop a file on the window to open a canvas.");
    };
    context.choose(dialog, without, |paths, features, context| {
        if let Some(path) = paths.into_iter().next() {
            apply(path, features, context);
        }
    });
}
