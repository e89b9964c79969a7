//! Effects of the canvas' commands. Nothing here waits.

use std::f32::consts::TAU;

use eframe::egui::ViewportCommand;

use crate::gui::canvas::command::{Command, DocumentAction};
use crate::gui::canvas::documents::{self, change};
use crate::gui::canvas::state::{Gesture, OpenDocument, ShownPicture, State};
use crate::gui::canvas::vision_run::VisionRun;
use crate::gui::canvas::work::DocumentNumber;
use crate::gui::canvas::{autosave, candidates, files, generate, looks_update, pointer, recovery, vision};
use crate::gui::context::{Background, Context};
use atelier_core::canvas::{BRUSH_SIZES, DocumentEdit, Ink, LayerChoice, LayerId, LayerKind, MAX_SELECTION_PX, PixelRect, Shape};
use atelier_core::recipe::{ImageSource, Recipe};
use atelier_engine::JobId;
use atelier_language::tr;

/// Factor of one press of a key for the size of the brush.
const SIZE_STEP: f32 = 1.25;
/// One press of a key for the hardness of the brush.
const HARDNESS_STEP: f32 = 0.1;
/// One press of a key for the rotation of the view, in radians.
const TURN: f32 = TAU / 24.0;

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::SetTool(tool) => documents::take_tool(state, tool, context),
        Command::Leave => {
            let is_drawing = state.edited_mut().is_some_and(pointer::cancel);
            if !is_drawing {
                documents::look_at(state, context);
            }
        }
        Command::Resume => documents::show(state, state.tool, context),
        Command::NextDocument => documents::next(state, context),
        Command::ShowDocument(number) => documents::go_to(state, number, context),
        Command::Close => for_document(state, DocumentAction::Close, context),
        Command::ForDocument(number, action) => document_action(state, number, action, context),
        Command::Reopen => documents::reopen(state, context),
        Command::OpenBackup => recovery::open_next(state, context),
        Command::PutBackupsOff => state.recovery.is_offered = false,
        Command::ShowBackups => recovery::show_folder(state, context),
        Command::DismissBackups => state.recovery.problems.clear(),
        Command::Pointer(inputs) => pointer::update(state, inputs, context),
        Command::Smaller => resize_brush(state, 1.0 / SIZE_STEP),
        Command::Larger => resize_brush(state, SIZE_STEP),
        Command::Softer => harden_brush(state, -HARDNESS_STEP),
        Command::Harder => harden_brush(state, HARDNESS_STEP),
        Command::SetOptions(options) => state.options = *options,
        Command::ToggleLayers => state.shows_layers = !state.shows_layers,
        Command::EditName(renaming) => state.renaming = renaming,
        Command::SaveName => {
            if let Some((id, name)) = state.renaming.take()
                && let Some(document) = state.edited_mut()
            {
                change(document, context, |document| document.rename_layer(id, &name));
            }
        }
        Command::TurnLeft => state.rotation -= TURN,
        Command::TurnRight => state.rotation += TURN,
        Command::Upright => state.rotation = 0.0,
        Command::Flip => state.is_flipped = !state.is_flipped,
        Command::ToggleCopies => state.shows_copies = !state.shows_copies,
        Command::Generate => generate::generate(state, context),
        Command::GenerateRegions => generate::generate_regions(state, context),
        Command::Open => files::choose_canvas(context),
        Command::OpenFile(path) => files::open(state, path, context),
        Command::Save => for_document(state, DocumentAction::Save, context),
        Command::SaveAs => for_document(state, DocumentAction::SaveAs, context),
        Command::Export(form) => for_document(state, DocumentAction::Export(form), context),
        Command::AddLayer(kind) => documents::add_layer(state, kind, context),
        Command::AddText => documents::add_text(state, context),
        Command::CutOut => vision::cut_out(state, context),
        Command::FindRegions => vision::find_regions(state, context),
        Command::CancelVision => state.vision.iter().for_each(VisionRun::cancel),
        Command::ChooseCutoutModel(path) => state.vision_choice.cutout = Some(path),
        Command::UseDetector(path, true) => drop(state.vision_choice.unused_detectors.remove(&path)),
        Command::UseDetector(path, false) => drop(state.vision_choice.unused_detectors.insert(path)),
        Command::GetModel(kind) => vision::get_model(kind, context),
        Command::GrowMask | Command::ShrinkMask | Command::FeatherMask => change_selection(state, &command, context),
        Command::HidePanels => state.hides_panels = !state.hides_panels,
        Command::FullScreen => {
            let is_full = context.egui.input(|input| input.viewport().fullscreen) == Some(true);
            context.egui.send_viewport_cmd(ViewportCommand::Fullscreen(!is_full));
        }
        command => {
            if let Some(document) = state.edited_mut() {
                update_document(document, command, context);
            }
        }
    }
    refresh_surface(state, context);
}

/// Does something with the document in sight.
fn for_document(state: &mut State, action: DocumentAction, context: &mut Context<'_>) {
    if let Some(number) = state.in_sight().map(|document| document.number) {
        document_action(state, number, action, context);
    }
}

fn document_action(state: &mut State, number: DocumentNumber, action: DocumentAction, context: &mut Context<'_>) {
    match action {
        DocumentAction::Save => files::save(state, number, context),
        DocumentAction::SaveAs => files::save_as(number, context),
        DocumentAction::Export(form) => files::export(number, form, context),
        DocumentAction::Close => documents::close(state, number, context),
    }
}

/// Carries out a command that changes the document alone.
fn update_document(document: &mut OpenDocument, command: Command, context: &mut Context<'_>) {
    let current = document.document.content().current();
    match command {
        Command::Undo | Command::Redo => {
            // A stroke that is being drawn is the last change.
            if let Some(gesture @ Gesture::Stroke(_)) = document.gesture.take() {
                pointer::finish(document, gesture, context);
            }
            document.fresh = None;
            let dirty = if command == Command::Undo { document.document.undo() } else { document.document.redo() };
            document.surface.mark(dirty.unwrap_or_default());
        }
        Command::SetKind(kind) => change(document, context, |document| document.set_kind(current, kind)),
        Command::SetWords(id, words) => change(document, context, |document| document.set_words(id, &words)),
        Command::RemoveLayer => change(document, context, |document| document.remove_layer(current)),
        Command::DuplicateLayer => change(document, context, |document| document.duplicate_layer(current)),
        Command::SelectLayer(id) => document.document.select_layer(id),
        Command::RaiseLayer => move_layer(document, current, 1, context),
        Command::LowerLayer => move_layer(document, current, -1, context),
        Command::SetVisible(id, visible) => change(document, context, |document| document.set_visible(id, visible)),
        Command::SetLocked(id, locked) => change(document, context, |document| document.set_locked(id, locked)),
        Command::SetOpacity(id, opacity) => change(document, context, |document| document.set_opacity(id, opacity)),
        Command::SetBlend(id, blend) => change(document, context, |document| document.set_blend(id, blend)),
        Command::SetAlphaLocked(id, locked) => change(document, context, |document| document.set_alpha_locked(id, locked)),
        Command::MoveLayer(id, to) => change(document, context, |document| document.move_layer(id, to)),
        Command::MergeDown => pointer::edit(document, DocumentEdit::MergeDown(current), context),
        Command::SetText(id, text) => documents::set_text(document, id, text, context),
        Command::Release => document.document.release(),
        Command::ClearLayer => pointer::fill(document, Shape::All, [0; 3], true, context),
        Command::InvertMask => {
            if let Some(mask) = document.document.content().mask_layer() {
                pointer::edit(document, DocumentEdit::Invert(mask), context);
            }
        }
        Command::MaskAll => {
            if document.document.content().mask_layer().is_none() {
                change(document, context, |document| {
                    document.add_layer(LayerKind::Mask, tr!("canvas-mask"), None).map(|_| PixelRect::default())
                });
            }
            if let Some(layer) = document.document.content().mask_layer().and_then(|id| document.document.content().layer(id)) {
                let ink = Ink::Colour(layer.ink([0; 3]));
                pointer::edit(document, DocumentEdit::Fill { layer: layer.id, shape: Shape::All, ink, opacity: 255 }, context);
            }
        }
        Command::ShowCandidate(at) => document.shown_candidate = (at < document.candidates.len()).then_some(at),
        Command::NextCandidate | Command::PreviousCandidate => {
            let count = document.candidates.len();
            let step = if command == Command::NextCandidate { 1 } else { count.saturating_sub(1) };
            document.shown_candidate = document.shown_candidate.map(|at| (at + step) % count.max(1));
        }
        Command::Accept => candidates::accept(document, context),
        Command::Discard => candidates::discard(document),
        Command::DiscardAll => candidates::discard_all(document),
        _ => {}
    }
}

/// Moves or softens the edge of what is selected.
fn change_selection(state: &mut State, command: &Command, context: &mut Context<'_>) {
    let by = state.options.selection_px.clamp(1, MAX_SELECTION_PX);
    let Some(document) = state.edited_mut() else { return };
    let Some(layer) = document.selection() else { return };
    let edit = match command {
        Command::FeatherMask => DocumentEdit::Feather(layer, by),
        Command::ShrinkMask => DocumentEdit::Grow(layer, -by.cast_signed()),
        _ => DocumentEdit::Grow(layer, by.cast_signed()),
    };
    pointer::edit(document, edit, context);
}

fn resize_brush(state: &mut State, factor: f32) {
    let brush = state.options.brush_of_mut(state.tool);
    brush.size = (brush.size * factor).clamp(BRUSH_SIZES.0, BRUSH_SIZES.1);
}

fn harden_brush(state: &mut State, by: f32) {
    let brush = state.options.brush_of_mut(state.tool);
    brush.hardness = (brush.hardness + by).clamp(0.0, 1.0);
}

fn move_layer(document: &mut OpenDocument, id: LayerId, by: isize, context: &mut Context<'_>) {
    let at = document.document.content().layers().iter().position(|layer| layer.id == id);
    if let Some(to) = at.and_then(|at| at.checked_add_signed(by)) {
        change(document, context, |document| document.move_layer(id, to));
    }
}

/// Create shows a picture, because a person chose it or asked for it: the canvas makes place.
pub(crate) fn picture_chosen(state: &mut State, context: &mut Context<'_>) {
    documents::leave(state, context);
}

/// A job has begun: the picture of one that no canvas asked for is what a person waits for.
pub(crate) fn job_began(state: &mut State, job: JobId, recipe: &Recipe) {
    if !state.open_documents().any(|document| candidates::asked_for(document, job, recipe)) {
        state.is_looked_at = false;
    }
}

/// Follows what happened in other features and threads: called once a frame. `follows`: Create
/// shows the newest picture. `shows_pixels`: it is so near that pixels are squares.
pub(crate) fn refresh(
    state: &mut State,
    shown: Option<(ShownPicture, ImageSource)>,
    follows: bool,
    shows_pixels: bool,
    context: &mut Context<'_>,
) {
    let before = std::mem::replace(&mut state.shown, shown);
    let id = |shown: &Option<(ShownPicture, ImageSource)>| shown.as_ref().map(|(id, _)| *id);
    // A person who chooses a picture wants to see it; one that was just made does not push the
    // canvas aside.
    if state.in_sight().is_some() && !follows && id(&before) != id(&state.shown) {
        documents::leave(state, context);
    }
    if let Some(document) = state.in_sight_mut() {
        document.surface.show_pixels(shows_pixels);
    }
    generate::refresh(state, context);
    autosave::refresh(state, context);
    looks_update::refresh(state, context);
    refresh_surface(state, context);
}

/// Sends what has changed to the graphics card.
fn refresh_surface(state: &mut State, context: &Context<'_>) {
    // One that is looked at shows its picture, without masks and what else guides the model.
    let choice = if state.is_editing { LayerChoice::Visible } else { LayerChoice::Picture };
    let Some(document) = state.in_sight_mut() else { return };
    let is_fresh_sent = document.fresh.as_mut().is_none_or(|fresh| fresh.refresh(context.egui));
    if !document.surface.refresh(context.egui, document.document.content(), choice) || !is_fresh_sent {
        context.egui.request_repaint();
    }
}

/// Looks for canvases of earlier sessions.
pub(crate) fn start(state: &State, context: &Context<'_>) {
    recovery::start(state, context);
}

/// Keeps what was painted, as the window closes. `retries`: also what could not be kept the last
/// time.
pub(crate) fn save(state: &mut State, background: &Background, retries: bool) {
    for document in state.open_documents_mut().filter(|document| retries || document.saver.failure().is_none()) {
        autosave::autosave(document, background);
    }
}

/// Ends what the pointer is doing, as the window closes: a stroke that is being drawn is part of
/// the picture.
pub(crate) fn finish_gesture(state: &mut State, context: &mut Context<'_>) {
    if let Some(document) = state.edited_mut()
        && let Some(gesture) = document.gesture.take()
    {
        pointer::finish(document, gesture, context);
    }
}

/// True while something that was painted is still on its way to a file.
pub(crate) fn is_saving(state: &State) -> bool {
    state.open_documents().any(|document| document.pending_edits > 0 || document.saver.is_writing())
}

/// What was painted and is in no file, in clauses with the reasons.
pub(crate) fn unsaved(state: &State) -> impl Iterator<Item = String> {
    state.open_documents().filter(|document| document.is_unsaved()).map(|document| {
        let content = document.document.content();
        let file = document.file.as_ref().and_then(|file| file.file_name()).map(|name| format!(" ({})", name.to_string_lossy()));
        let reason = match (&document.autosave, document.saver.failure()) {
            (None, _) => tr!("canvas-there-is-no-folder"),
            (Some(_), Some(reason)) => reason,
            (Some(_), None) => tr!("canvas-the-disk-does-not"),
        };
        tr!("canvas-the-canvas-of-x", width = content.width(), height = content.height(), file = file.unwrap_or_default(), reason)
    })
}
