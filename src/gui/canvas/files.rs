//! Canvases and files: saving, opening, exporting, and what is kept by itself. Nothing here waits.

use std::path::PathBuf;

use crate::gui::canvas::state::State;
use crate::gui::canvas::tasks::{CanvasExport, CanvasFileTask, CanvasReport};
use crate::gui::canvas::{autosave, candidates, documents, generate, pointer, recovery};
use crate::gui::context::Context;
use crate::gui::files::{DialogKind, DialogResult, FileTask};
use crate::gui::shared::ErrorCard;

/// Writes the document to its file, or asks where to.
pub(crate) fn save(state: &State, context: &mut Context<'_>) {
    match state.edited().and_then(|document| document.file.clone()) {
        Some(path) => save_to(state, path, context),
        None => context.open_dialog(DialogKind::SaveCanvas, "Canvas.atelier".into()),
    }
}

fn save_to(state: &State, path: PathBuf, context: &Context<'_>) {
    let Some(document) = state.edited() else { return };
    context.workers.file(FileTask::Canvas(CanvasFileTask::Save {
        document: document.number,
        version: document.document.version(),
        content: document.document.content().clone(),
        path,
    }));
}

/// Asks where to export to.
pub(crate) fn export(export: CanvasExport, context: &mut Context<'_>) {
    let name = match export {
        CanvasExport::Png => "Canvas.png",
        CanvasExport::OpenRaster => "Canvas.ora",
        CanvasExport::Layers => "",
    };
    context.open_dialog(DialogKind::ExportCanvas(export), name.into());
}

/// Opens a canvas of a file.
pub(crate) fn open(state: &mut State, path: PathBuf, context: &Context<'_>) {
    state.opening = Some((None, state.tool));
    context.workers.file(FileTask::Canvas(CanvasFileTask::Open(path)));
}

/// A file dialog of the canvas was closed.
pub(crate) fn dialog_closed(state: &mut State, kind: DialogKind, result: DialogResult, context: &mut Context<'_>) {
    let path = match result {
        DialogResult::Paths(paths) => paths.into_iter().next(),
        DialogResult::Cancelled => None,
        DialogResult::NoDialog => {
            context
                .notice("This system has no file dialog. Your canvas is saved automatically; drop a file on the window to open a canvas.");
            None
        }
    };
    let Some(path) = path else { return };
    match kind {
        DialogKind::OpenCanvas => open(state, path, context),
        DialogKind::SaveCanvas => save_to(state, path, context),
        DialogKind::ExportCanvas(export) => {
            if let Some(document) = state.edited() {
                let content = document.document.content().clone();
                context.workers.file(FileTask::Canvas(CanvasFileTask::Export(export, path, content)));
            }
        }
        _ => {}
    }
}

/// Folds in what another thread did.
pub(crate) fn report(state: &mut State, report: CanvasReport, context: &mut Context<'_>) {
    match report {
        CanvasReport::Edited { document, version, edit, result } => {
            if let Some(document) = state.open_document_mut(document) {
                pointer::edited(document, version, edit, result, context);
            }
        }
        CanvasReport::Analysed(document, analysis) => {
            if let Some(document) = state.open_document_mut(document) {
                generate::analysed(document, analysis);
            }
        }
        CanvasReport::Candidate { document, candidate, live: _ } => candidates::prepared(state, document, candidate, context),
        CanvasReport::Opened(origin, file, Ok(content)) => {
            documents::opened(state, origin, content, context);
            if let Some(document) = state.edited_mut().filter(|_| file.is_some()) {
                document.file = file;
            }
        }
        CanvasReport::Opened(_, _, Err(error)) => {
            state.opening = None;
            context.shared.error = Some(ErrorCard::new(error.to_string(), "The file may have been moved or deleted."));
        }
        CanvasReport::Saved(number, version, Ok(path)) => {
            context.notice(format!("Saved as {}", path.display()));
            if let Some(document) = state.open_document_mut(number) {
                (document.file, document.version_in_file) = (Some(path), Some(version));
            }
        }
        CanvasReport::Exported(Ok(path)) => context.notice(format!("Exported to {}", path.display())),
        CanvasReport::Saved(_, _, Err(error)) => {
            let sentence = format!("The canvas could not be saved: {}.", error.cause());
            context.shared.error = Some(ErrorCard::new(sentence, "Choose another folder, or free some disk space."));
        }
        CanvasReport::Exported(Err(error)) => {
            let sentence = format!("The canvas could not be exported: {}.", error.cause());
            context.shared.error = Some(ErrorCard::new(sentence, "Choose another folder, or free some disk space."));
        }
        CanvasReport::Autosaved(number, attempt, result) => autosave::ended(state, number, attempt, result, context),
        CanvasReport::BackupsFound(waiting) => recovery::found(state, waiting, context),
        CanvasReport::BackupRead(path, content) => recovery::read(state, path, content, context),
    }
}
