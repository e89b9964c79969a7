//! What is kept of a document by itself, so that it is there again after a crash. Nothing here
//! waits.

use crate::gui::canvas::state::{KeptDocument, OpenDocument, State};
use crate::gui::canvas::work::{self, DocumentNumber};
use crate::gui::context::{Background, Context};
use crate::gui::saver::{RETRY_SECS, SaveAttempt, SaveEnd};
use crate::gui::shared::ErrorCard;
use crate::gui::workers::Worker;
use atelier_language::tr;
use atelier_media::PictureError;

/// Seconds of change until a canvas is autosaved.
const AUTOSAVE_SECS: f64 = 20.0;

/// Autosaves the documents that have been changed for a while: called once a frame.
pub(crate) fn refresh(state: &mut State, context: &Context<'_>) {
    for document in state.open_documents_mut().filter(|document| document.autosave.is_some()) {
        let kept = document.backup_content();
        if document.saver.is_due(context.egui, &kept, AUTOSAVE_SECS) {
            autosave(document, context.background);
        }
    }
}

/// Autosaves the document now, where it has changed.
pub(crate) fn autosave(document: &mut OpenDocument, background: &Background) {
    let kept = document.backup_content();
    let Some(path) = document.autosave.clone().filter(|_| document.saver.is_waiting(&kept)) else { return };
    let home = kept.home.clone();
    let attempt = document.saver.begin(kept);
    let content = document.document.content().clone();
    let number = document.number;
    background.run(
        Worker::Files,
        move || work::autosave(&path, &content, home.as_ref()).inspect_err(|error| tracing::warn!("{error}")),
        move |result, features, context| ended(features.canvas, number, attempt, result, context),
    );
}

/// A document was autosaved, or not.
fn ended(state: &mut State, number: DocumentNumber, attempt: SaveAttempt, result: Result<(), PictureError>, context: &mut Context<'_>) {
    // One that was put away meanwhile has no file.
    let Some(document) = state.open_document_mut(number) else { return };
    match document.saver.ended(context.egui, attempt, result.map_err(|error| error.cause())) {
        SaveEnd::Failed => {
            let sentence = tr!("canvas-the-backup-of-your", failure = document.saver.failure().unwrap_or_default());
            let hint = tr!("canvas-your-canvas-is-still", retry_secs = RETRY_SECS);
            context.shared.error = Some(ErrorCard::new(sentence, hint));
        }
        SaveEnd::WrittenAgain => context.notice(tr!("canvas-the-backup-of-your-canvas-is")),
        SaveEnd::Written | SaveEnd::FailedAgain | SaveEnd::Overtaken => {}
    }
}

/// Removes what was autosaved of a document.
pub(crate) fn discard_autosave(document: &mut OpenDocument, context: &Context<'_>) {
    let has_file = document.is_recovered || *document.saver.written() != KeptDocument::default() || document.saver.is_writing();
    // Opened again, it is written anew; one of an earlier session also where nothing was changed.
    let version = if document.is_recovered { u64::MAX } else { 0 };
    document.saver.reset(KeptDocument { version, home: None });
    if let Some(path) = document.autosave.clone().filter(|_| has_file) {
        context.background.run_silently(Worker::Files, move || work::discard(&path));
    }
}
