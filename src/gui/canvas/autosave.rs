//! What is kept of a document by itself, so that it is there again after a crash. Nothing here waits.

use crate::gui::canvas::state::OpenDocument;
use crate::gui::canvas::tasks::CanvasFileTask;
use crate::gui::context::Context;
use crate::gui::files::FileTask;
use crate::gui::workers::Workers;

/// Seconds of change until a canvas is autosaved.
const AUTOSAVE_SECS: f64 = 20.0;

/// Autosaves the document once it has been changed for a while.
pub(crate) fn refresh(document: &mut OpenDocument, context: &Context<'_>) {
    let now = context.egui.time();
    if document.document.version() == document.autosaved {
        document.changed_at_secs = None;
        return;
    }
    match document.changed_at_secs {
        Some(at) if now - at >= AUTOSAVE_SECS => autosave(document, context.workers),
        Some(_) => {}
        None => {
            document.changed_at_secs = Some(now);
            context.egui.request_repaint_after_secs(AUTOSAVE_SECS as f32 + 0.05);
        }
    }
}

/// Autosaves the document now, where it has changed.
pub(crate) fn autosave(document: &mut OpenDocument, workers: &Workers) {
    document.changed_at_secs = None;
    if document.document.version() == document.autosaved {
        return;
    }
    document.autosaved = document.document.version();
    if let Some(path) = document.autosave.clone() {
        workers.file(FileTask::Canvas(CanvasFileTask::Autosave(path, document.document.content().clone())));
    }
}

/// Removes what was autosaved of a document.
pub(crate) fn discard_autosave(document: &OpenDocument, context: &Context<'_>) {
    if let Some(path) = document.autosave.clone().filter(|_| document.autosaved > 0 || document.is_recovered) {
        context.workers.file(FileTask::Canvas(CanvasFileTask::Discard(path)));
    }
}
