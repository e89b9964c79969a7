//! Small looks of documents are made on another thread whenever nothing is being drawn. Nothing here
//! waits.

use eframe::egui::{ColorImage, TextureHandle, TextureOptions};

use crate::gui::canvas::looks::PreparedLooks;
use crate::gui::canvas::state::{Gesture, OpenDocument, State};
use crate::gui::canvas::work::{self, DocumentNumber};
use crate::gui::context::Context;
use crate::gui::workers::Worker;
use atelier_core::canvas::LayerId;

/// Has small looks made of the documents that have changed: called once a frame.
pub(crate) fn refresh(state: &mut State, context: &Context<'_>) {
    for document in state.open_documents_mut() {
        let version = document.document.version();
        let is_drawing = matches!(document.gesture, Some(Gesture::Stroke(_)));
        if document.looks.is_making || document.looks.version == Some(version) || is_drawing || document.pending_edits > 0 {
            continue;
        }
        document.looks.is_making = true;
        let (number, content) = (document.number, document.document.content().clone());
        context.run(
            Worker::Pixels,
            move || work::small_looks(&content),
            move |looks, features, context| show(features.canvas, number, version, looks, context),
        );
    }
}

fn show(state: &mut State, number: DocumentNumber, version: u64, made: PreparedLooks, context: &Context<'_>) {
    // One that was put away meanwhile has none.
    let Some(OpenDocument { looks, .. }) = state.open_document_mut(number) else { return };
    let texture = |before: Option<TextureHandle>, image: ColorImage| match before {
        Some(mut texture) => {
            texture.set(image, TextureOptions::LINEAR);
            texture
        }
        None => context.egui.load_texture("canvas look", image, TextureOptions::LINEAR),
    };
    looks.whole = Some(texture(looks.whole.take(), made.whole));
    let mut before = std::mem::take(&mut looks.layers);
    let mut take = |id: LayerId| before.iter().position(|(of, _)| *of == id).map(|at| before.swap_remove(at).1);
    looks.layers = made.layers.into_iter().map(|(id, image)| (id, texture(take(id), image))).collect();
    (looks.bounds, looks.version, looks.is_making) = (made.bounds, Some(version), false);
    context.egui.request_repaint();
}
