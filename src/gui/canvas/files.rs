//! Canvases and files: saving, opening, exporting. Nothing here waits.

use std::path::{Path, PathBuf};

use atelier_language::tr;
use atelier_media::canvas_file::CANVAS_ENDING;

use crate::gui::canvas::documents;
use crate::gui::canvas::state::State;
use crate::gui::canvas::work::{self, CanvasExport, DocumentNumber};
use crate::gui::context::Context;
use crate::gui::dialog::FileDialog;
use crate::gui::features::Features;
use crate::gui::shared::{ErrorCard, Screen};
use crate::gui::workers::Worker;

/// Writes a document to its file, or asks where to.
pub(crate) fn save(state: &mut State, number: DocumentNumber, context: &mut Context<'_>) {
    match state.open_document_mut(number).and_then(|document| document.file.clone()) {
        Some(path) => save_to(state, number, path, context),
        None => save_as(number, context),
    }
}

/// True for a file that is named as canvases are.
pub(crate) fn is_canvas(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(CANVAS_ENDING))
}

/// Asks where to write a document.
pub(crate) fn save_as(number: DocumentNumber, context: &mut Context<'_>) {
    let dialog = FileDialog::target(tr!("canvas-save-canvas-as"), "Canvas.atelier").filter(tr!("canvas-canvas"), &[CANVAS_ENDING]);
    choose(dialog, context, move |path, features, context| save_to(features.canvas, number, path, context));
}

fn save_to(state: &mut State, number: DocumentNumber, path: PathBuf, context: &Context<'_>) {
    let Some(document) = state.open_document_mut(number) else { return };
    let (version, content) = (document.document.version(), document.document.content().clone());
    context.run(
        Worker::Files,
        move || work::save(&path, &content),
        move |saved, features, context| match saved {
            Ok(path) => {
                context.notice(tr!("canvas-saved-as", path = path.display()));
                if let Some(document) = features.canvas.open_document_mut(number) {
                    (document.file, document.version_in_file) = (Some(path), Some(version));
                }
            }
            Err(error) => {
                let sentence = tr!("canvas-the-canvas-could-not", cause = error.cause());
                context.shared.error = Some(ErrorCard::new(sentence, tr!("canvas-choose-another-folder-or")));
            }
        },
    );
}

/// Asks where to export a document to.
pub(crate) fn export(number: DocumentNumber, export: CanvasExport, context: &mut Context<'_>) {
    let dialog = match export {
        CanvasExport::Png => FileDialog::target(tr!("canvas-export-as-png-2"), "Canvas.png").filter(tr!("common-png-picture"), &["png"]),
        CanvasExport::OpenRaster => FileDialog::target(tr!("canvas-export-as-openraster-2"), "Canvas.ora").filter("OpenRaster", &["ora"]),
        CanvasExport::Layers => FileDialog::folder(tr!("canvas-choose-the-folder-for")),
    };
    choose(dialog, context, move |path, features, context| export_to(features.canvas, number, export, path, context));
}

fn export_to(state: &mut State, number: DocumentNumber, export: CanvasExport, path: PathBuf, context: &Context<'_>) {
    let Some(content) = state.open_document_mut(number).map(|document| document.document.content().clone()) else { return };
    context.run(
        Worker::Files,
        move || work::export(export, &path, &content),
        |exported, _, context| match exported {
            Ok(path) => context.notice(tr!("canvas-exported-to", path = path.display())),
            Err(error) => {
                let sentence = tr!("canvas-the-canvas-could-not-be-exported", cause = error.cause());
                context.shared.error = Some(ErrorCard::new(sentence, tr!("canvas-choose-another-folder-or")));
            }
        },
    );
}

/// Asks for a canvas to open.
pub(crate) fn choose_canvas(context: &mut Context<'_>) {
    let dialog = FileDialog::file(tr!("canvas-open-a-canvas-2")).filter(tr!("canvas-canvases"), &[CANVAS_ENDING]);
    choose(dialog, context, |path, features, context| open(features.canvas, path, context));
}

/// Opens a canvas of a file; one that is open already is shown.
pub(crate) fn open(state: &mut State, path: PathBuf, context: &mut Context<'_>) {
    context.shared.screen = Screen::Create;
    let open = state.open_documents().find(|document| document.file.as_ref() == Some(&path)).map(|document| document.number);
    if let Some(number) = open {
        return documents::go_to(state, number, context);
    }
    context.run(
        Worker::Files,
        move || (work::open(&path), path),
        |(content, path), features, context| match content {
            Ok(content) => {
                let tool = features.canvas.tool;
                let document = documents::open_document(features.canvas, None, content, context);
                (document.file, document.version_in_file) = (Some(path), Some(document.document.version()));
                documents::show(features.canvas, tool, context);
            }
            Err(error) => documents::not_opened(features.canvas, &error, context),
        },
    );
}

fn choose(dialog: FileDialog, context: &mut Context<'_>, apply: impl FnOnce(PathBuf, Features<'_>, &mut Context<'_>) + Send + 'static) {
    let without = |_: Features<'_>, context: &mut Context<'_>| {
        context.notice(tr!("canvas-this-system-has-no"));
    };
    context.choose(dialog, without, |paths, features, context| {
        if let Some(path) = paths.into_iter().next() {
            apply(path, features, context);
        }
    });
}
