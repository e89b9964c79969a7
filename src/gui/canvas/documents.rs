//! Documents: opened, put aside, gone back to, and put away.

use crate::gui::canvas::autosave::{autosave, discard_autosave};
use crate::gui::canvas::state::{OpenDocument, ShownPicture, State};
use crate::gui::canvas::tool::Tool;
use crate::gui::canvas::work::DocumentNumber;
use crate::gui::canvas::{pointer, text, work};
use crate::gui::context::Context;
use crate::gui::shared::ErrorCard;
use crate::gui::workers::Worker;
use atelier_core::canvas::{Document, DocumentContent, LayerError, LayerId, LayerKind, LayerText, PixelRect};
use atelier_language::tr;
use atelier_media::PictureError;
use atelier_media::canvas_file::CANVAS_ENDING;

/// Bytes that documents beside the one that is edited may hold, with what they can undo.
const MAX_BYTES_ASIDE: usize = 1 << 30;
/// Part of the height that new words have, and of the width that lies before them.
const TEXT_PART: u32 = 8;
/// Documents that can be opened again, however small.
const MAX_CLOSED: usize = 16;

/// Takes a tool, with a document to use it on.
pub(crate) fn take_tool(state: &mut State, tool: Tool, context: &mut Context<'_>) {
    if state.is_editing {
        state.tool = tool;
        prepare_layer(state, tool, context);
        return;
    }
    if state.looked_at().is_some() {
        return show(state, tool, context);
    }
    let shown = state.shown.as_ref().map(|(id, _)| *id);
    let is_of_shown = |document: &OpenDocument| document.origin.is_none() || document.origin == shown;
    if state.document.as_ref().is_some_and(|document| shown.is_none() || document.origin == shown) {
        return show(state, tool, context);
    }
    if let Some(at) = state.parked.iter().position(|document| document.origin.is_some() && is_of_shown(document)) {
        let document = state.parked.remove(at);
        park(state, context);
        state.document = Some(document);
        return show(state, tool, context);
    }
    let made_on = state.shown_origin.and_then(|origin| state.open_documents().find(|it| it.made.contains(&origin)));
    if let Some(number) = made_on.map(|document| document.number) {
        state.tool = tool;
        go_to(state, number, context);
        return context.notice(tr!("canvas-this-picture-was-made-on"));
    }
    if let Some((id, source)) = state.shown.clone() {
        state.opening = Some((id, tool));
        context.run(
            Worker::Files,
            move || work::open_picture(&source),
            move |content, features, context| match content {
                Ok((content, note)) => {
                    opened(features.canvas, id, content, context);
                    if let Some(note) = note {
                        context.notice(note);
                    }
                }
                Err(error) => not_opened(features.canvas, &error, context),
            },
        );
    }
}

/// Shows the document in the place of the picture.
pub(crate) fn show(state: &mut State, tool: Tool, context: &mut Context<'_>) {
    (state.is_editing, state.is_looked_at) = (true, false);
    state.tool = tool;
    prepare_layer(state, tool, context);
}

/// Makes a layer that suits the tool the current one.
fn prepare_layer(state: &mut State, tool: Tool, context: &mut Context<'_>) {
    let Some(document) = state.edited_mut() else { return };
    let content = document.document.content();
    match tool {
        // A region is selected like a mask.
        Tool::Wand if matches!(content.current_layer().kind, LayerKind::Region { .. }) => {}
        Tool::Mask | Tool::Wand => {
            if let Some(mask) = content.mask_layer() {
                document.document.select_layer(mask);
                if !document.document.content().current_layer().visible {
                    change(document, context, |document| document.set_visible(mask, true));
                }
                return;
            }
            // Above everything, so that nothing hides it.
            if let Some(top) = content.layers().last().map(|layer| layer.id) {
                document.document.select_layer(top);
            }
            change(document, context, |document| {
                document.add_layer(LayerKind::Mask, tr!("canvas-mask"), None).map(|_| PixelRect::default())
            });
        }
        // A layer of another kind was chosen to be painted on; a mask has a brush of its own.
        Tool::Brush if content.current_layer().kind == LayerKind::Mask => {
            let paint = content.layers().iter().rev().find(|layer| layer.kind.is_picture() && !layer.locked && layer.visible);
            if let Some(id) = paint.map(|layer| layer.id) {
                document.document.select_layer(id);
            }
        }
        _ => {}
    }
}

/// Makes a change of the document, and says what was in its way.
pub(crate) fn change(
    document: &mut OpenDocument,
    context: &mut Context<'_>,
    change: impl FnOnce(&mut Document) -> Result<PixelRect, LayerError>,
) {
    match change(&mut document.document) {
        Ok(dirty) => document.surface.mark(dirty),
        Err(error) => context.notice(error.to_string()),
    }
}

/// Has a layer added above the current one, with a tool in hand that paints on it.
pub(crate) fn add_layer(state: &mut State, kind: LayerKind, context: &mut Context<'_>) {
    let Some(document) = state.edited_mut() else { return };
    let name = match kind {
        LayerKind::Paint => tr!("canvas-layer", layers = document.document.content().layers().len() + 1),
        _ => kind.label().to_owned(),
    };
    let is_mask = kind == LayerKind::Mask;
    let is_region = matches!(kind, LayerKind::Region { .. });
    change(document, context, |document| document.add_layer(kind, &name, None).map(|_| PixelRect::default()));
    // Its words are typed there.
    state.shows_layers |= is_region;
    let paints = state.tool.fills() || matches!(state.tool, Tool::Brush | Tool::Mask | Tool::Eraser);
    if is_mask {
        state.tool = Tool::Mask;
    } else if !paints || state.tool == Tool::Mask || state.tool == Tool::Eraser {
        state.tool = Tool::Brush;
    }
}

/// Has a layer of text added above the current one.
pub(crate) fn add_text(state: &mut State, context: &Context<'_>) {
    let colour = state.options.colour;
    let Some(document) = state.edited() else { return };
    let (width, height) = (document.document.content().width(), document.document.content().height());
    let size = (height / TEXT_PART).clamp(LayerText::SIZES.0, LayerText::SIZES.1);
    let (left, top) = ((width / TEXT_PART).cast_signed(), (height.saturating_sub(size) / 2).cast_signed());
    let new = LayerText { words: tr!("canvas-text").to_owned(), size, colour, left, top };
    let number = document.number;
    context.run(
        Worker::Pixels,
        move || (text::draw(&new, width, height), new),
        move |(pixels, text), features, context| {
            let Some(document) = features.canvas.open_document_mut(number) else { return };
            change(document, context, |document| {
                let bounds = pixels.content_bounds();
                document.add_text(tr!("canvas-text"), text, pixels).map(|_| bounds)
            });
            (features.canvas.shows_layers, features.canvas.tool) = (true, Tool::Move);
        },
    );
}

/// Has a layer show other words; of those that come while some are being drawn, the newest.
pub(crate) fn set_text(document: &mut OpenDocument, id: LayerId, text: LayerText, context: &Context<'_>) {
    document.wanted_text = Some((id, text.checked()));
    draw_text(document, context);
}

fn draw_text(document: &mut OpenDocument, context: &Context<'_>) {
    let Some((id, text)) = document.wanted_text.clone().filter(|_| !document.is_drawing_text) else { return };
    document.is_drawing_text = true;
    let (width, height, number) = (document.document.content().width(), document.document.content().height(), document.number);
    context.run(
        Worker::Pixels,
        move || (text::draw(&text, width, height), text),
        move |(pixels, text), features, context| {
            let Some(document) = features.canvas.open_document_mut(number) else { return };
            document.is_drawing_text = false;
            document.wanted_text.take_if(|(wanted, words)| (*wanted, &*words) == (id, &text));
            change(document, context, |document| document.set_text(id, text, pixels));
            draw_text(document, context);
        },
    );
}

/// A picture or canvas could not be read.
pub(crate) fn not_opened(state: &mut State, error: &PictureError, context: &mut Context<'_>) {
    state.opening = None;
    // It may have been dropped on any view.
    let card = ErrorCard::new(error.to_string(), tr!("canvas-the-file-may-have"));
    context.shared.error = Some(card.at(context.shared.screen));
}

/// A picture has been read.
pub(crate) fn opened(state: &mut State, origin: ShownPicture, content: DocumentContent, context: &mut Context<'_>) {
    let tool = match state.opening.take() {
        Some((asked, tool)) if asked == origin => tool,
        // Something else was asked for meanwhile.
        other => {
            state.opening = other;
            return;
        }
    };
    open_document(state, Some(origin), content, context);
    show(state, tool, context);
}

/// Makes a content a document, in the place of the one that is edited.
pub(crate) fn open_document<'a>(
    state: &'a mut State,
    origin: Option<ShownPicture>,
    content: DocumentContent,
    context: &mut Context<'_>,
) -> &'a mut OpenDocument {
    park(state, context);
    state.options.suit(content.width().max(content.height()));
    let number = state.next_number;
    state.next_number += 1;
    let autosave = state.folder.as_ref().map(|folder| folder.join(format!("{:032x}.{CANVAS_ENDING}", rand::random::<u128>())));
    state.document.insert(OpenDocument::new(number, content, origin, autosave))
}

/// Puts the document aside; what was changed is autosaved.
pub(crate) fn park(state: &mut State, context: &mut Context<'_>) {
    leave(state, context);
    if let Some(document) = state.document.take() {
        // One that was only looked at holds nothing of anybody's.
        if document.document.version() > 0 || document.file.is_some() || document.is_recovered {
            state.parked.push(document.without_textures());
        }
    }
    limit_bytes(&mut state.parked, &mut state.closed, MAX_BYTES_ASIDE);
}

/// Brings the documents that are not edited below a number of bytes: closed ones go first, the
/// oldest before others, then what the others can undo. What was painted on those that are open
/// stays.
fn limit_bytes(parked: &mut [OpenDocument], closed: &mut Vec<OpenDocument>, most: usize) {
    let bytes = |documents: &[OpenDocument]| -> usize {
        documents.iter().map(|it| it.document.content().bytes() + it.document.history_bytes()).sum()
    };
    while closed.len() > MAX_CLOSED || (!closed.is_empty() && bytes(parked) + bytes(closed) > most) {
        closed.remove(0);
    }
    for at in 0..parked.len() {
        if bytes(parked) <= most {
            break;
        }
        parked[at].document.forget_history();
    }
}

/// Shows pictures again; what was changed is autosaved.
pub(crate) fn leave(state: &mut State, context: &mut Context<'_>) {
    if let Some(document) = state.edited_mut() {
        if let Some(gesture) = document.gesture.take() {
            pointer::finish(document, gesture, context);
        }
        autosave(document, context.background);
    }
    (state.is_editing, state.is_looked_at) = (false, false);
    state.renaming = None;
}

/// Shows the document as a picture, without its tools; one that is shown so already makes place for
/// pictures.
pub(crate) fn look_at(state: &mut State, context: &mut Context<'_>) {
    let was_edited = state.edited().is_some();
    leave(state, context);
    state.is_looked_at = was_edited;
}

/// Goes on with this document.
pub(crate) fn go_to(state: &mut State, number: DocumentNumber, context: &mut Context<'_>) {
    let tool = state.tool;
    if state.document.as_ref().is_some_and(|document| document.number == number) {
        return show(state, tool, context);
    }
    let Some(at) = state.parked.iter().position(|document| document.number == number) else { return };
    let document = state.parked.remove(at);
    park(state, context);
    state.document = Some(document);
    show(state, tool, context);
}

/// Goes on with the next of the documents that were put aside.
pub(crate) fn next(state: &mut State, context: &mut Context<'_>) {
    if state.parked.is_empty() {
        return;
    }
    let document = state.parked.remove(0);
    park(state, context);
    state.document = Some(document);
    show(state, state.tool, context);
}

/// Puts a document away.
pub(crate) fn close(state: &mut State, number: DocumentNumber, context: &mut Context<'_>) {
    let is_current = state.document.as_ref().is_some_and(|document| document.number == number);
    let document = if is_current {
        (state.is_editing, state.is_looked_at) = (false, false);
        state.renaming = None;
        let next = state.parked.pop();
        std::mem::replace(&mut state.document, next)
    } else {
        state.parked.iter().position(|document| document.number == number).map(|at| state.parked.remove(at))
    };
    if let Some(mut document) = document {
        discard_autosave(&mut document, context);
        if document.document.version() > 0 || document.file.is_some() || document.is_recovered {
            document.runs.clear();
            document.wanted_parts.clear();
            document.gesture = None;
            state.closed.push(document.without_textures());
        }
    }
    limit_bytes(&mut state.parked, &mut state.closed, MAX_BYTES_ASIDE);
}

/// Goes on with the document that was put away last.
pub(crate) fn reopen(state: &mut State, context: &mut Context<'_>) {
    let Some(document) = state.closed.pop() else { return };
    park(state, context);
    state.document = Some(document);
    show(state, state.tool, context);
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::canvas::TileImage;
    use atelier_core::recipe::Rgb8;

    /// A document of so many tiles, with a layer that can be undone.
    fn document(number: u64, tiles: u32) -> OpenDocument {
        let (width, height) = (256 * tiles, 256);
        let picture = Rgb8::new(width, height, vec![number as u8; (width * height * 3) as usize]).unwrap();
        let mut open = OpenDocument::new(number, DocumentContent::new("Picture", TileImage::of_picture(&picture)).unwrap(), None, None);
        open.document.add_layer(LayerKind::Paint, "Layer", None).unwrap();
        let base = open.document.content().layers()[0].id;
        open.document.remove_layer(base).unwrap();
        open
    }

    #[test]
    fn closed_documents_go_first_then_what_others_can_undo_and_never_what_was_painted() {
        let tile = document(1, 1).document.history_bytes();
        assert!(tile > 0);
        let numbers = |all: &[OpenDocument]| all.iter().map(|it| it.number).collect::<Vec<_>>();
        let (mut parked, mut closed) = (vec![document(1, 2), document(2, 2)], vec![document(3, 2), document(4, 2)]);
        limit_bytes(&mut parked, &mut closed, 100 * tile);
        assert_eq!((numbers(&parked), numbers(&closed)), (vec![1, 2], vec![3, 4]), "all have room");
        limit_bytes(&mut parked, &mut closed, 7 * tile);
        assert_eq!((numbers(&parked), numbers(&closed)), (vec![1, 2], vec![4]));
        limit_bytes(&mut parked, &mut closed, 3 * tile);
        assert_eq!((numbers(&parked), numbers(&closed)), (vec![1, 2], vec![]));
        assert!(parked[0].document.next_undo().is_none() && parked[1].document.next_undo().is_some());
        limit_bytes(&mut parked, &mut closed, 0);
        assert_eq!(numbers(&parked), [1, 2]);
        let mut many = (0..40).map(|number| document(number, 1)).collect();
        limit_bytes(&mut [], &mut many, usize::MAX);
        assert_eq!((many.len(), many[0].number), (MAX_CLOSED, 24));
    }
}
