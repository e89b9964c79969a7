//! Canvases of earlier sessions: the newest is opened by itself, the others one by one as the
//! person asks. Nothing here waits.

use std::path::PathBuf;

use crate::gui::canvas::documents;
use crate::gui::canvas::state::{KeptDocument, OpenDocument, State};
use crate::gui::canvas::work;
use crate::gui::context::Context;
use crate::gui::shared::Screen;
use crate::gui::workers::Worker;
use atelier_core::canvas::DocumentContent;
use atelier_language::tr;
use atelier_media::canvas_file::CanvasHome;
use atelier_studio::canvas_backups::Waiting;

/// Looks for canvases of earlier sessions.
pub(crate) fn start(state: &State, context: &Context<'_>) {
    if let Some(paths) = state.recovery.paths.clone() {
        context.run(
            Worker::Files,
            move || work::find_backups(&paths),
            |waiting, features, context| found(features.canvas, waiting, context),
        );
    }
}

/// The canvases that wait are known.
fn found(state: &mut State, waiting: Waiting, context: &Context<'_>) {
    let recovery = &mut state.recovery;
    recovery.waiting = waiting.files;
    recovery.problems.extend(waiting.problems);
    recovery.is_offered = true;
    read_next(state, true, context);
}

/// Opens the newest of those that wait, as the person asks.
pub(crate) fn open_next(state: &mut State, context: &mut Context<'_>) {
    context.shared.screen = Screen::Create;
    read_next(state, false, context);
}

fn read_next(state: &mut State, by_itself: bool, context: &Context<'_>) {
    let recovery = &mut state.recovery;
    let Some(paths) = recovery.paths.clone().filter(|_| recovery.reading.is_none()) else { return };
    let Some(path) = recovery.waiting.pop() else { return };
    recovery.reading = Some((path.clone(), by_itself));
    context.run(
        Worker::Files,
        move || (work::read_backup(&paths, &path), path),
        |(content, path), features, context| read(features.canvas, path, content, context),
    );
}

/// A canvas of an earlier session was read, or not.
fn read(state: &mut State, path: PathBuf, content: Result<(DocumentContent, Option<CanvasHome>), String>, context: &mut Context<'_>) {
    let Some((_, by_itself)) = state.recovery.reading.take_if(|(reading, _)| *reading == path) else { return };
    let (content, home) = match content {
        Ok(read) => read,
        Err(reason) => {
            state.recovery.problems.push((path, reason));
            return read_next(state, by_itself, context);
        }
    };
    let number = state.next_number;
    state.next_number += 1;
    let mut document = OpenDocument::new(number, content, None, Some(path));
    document.is_recovered = true;
    if let Some(CanvasHome { file, is_unchanged }) = home.clone() {
        (document.file, document.version_in_file) = (Some(file), is_unchanged.then_some(0));
    }
    document.saver.reset(KeptDocument { version: 0, home });
    if !by_itself {
        documents::park(state, context);
        state.document = Some(document);
        documents::show(state, state.tool, context);
    } else if state.document.is_none() && state.opening.is_none() {
        state.document = Some(document);
        documents::show(state, state.tool, context);
        context.notice(tr!("canvas-your-last-canvas-was"));
    } else {
        // A person who has begun something else goes on with that.
        state.parked.push(document);
    }
}

/// Shows where the canvases are that could not be opened.
pub(crate) fn show_folder(state: &State, context: &Context<'_>) {
    let file = state.recovery.problems.first().map(|(path, _)| path.clone());
    if let Some(folder) = file.as_ref().and_then(|file| file.parent()) {
        context.show_folder(folder.to_owned(), file.clone());
    }
}
