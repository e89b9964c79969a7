//! Pictures for the clipboard, which keeps eight bits of sRGB: what it cannot keep is told. Nothing
//! here waits.

use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui::ColorImage;

use crate::gui::context::Context;
use crate::gui::pixels;
use crate::gui::shared::ErrorCard;
use crate::gui::workers::Worker;
use atelier_core::recipe::{ImageSource, Rgb8};
use atelier_language::tr;
use atelier_media::{ExportLoss, plain_losses, read_fine_image};

/// Copies a picture of a file.
pub(crate) fn copy_file(path: PathBuf, context: &Context<'_>) {
    context.run(
        Worker::Files,
        move || read_fine_image(&ImageSource::File(path)).map(|picture| prepared(&picture)),
        |copy, _, context| match copy {
            Ok(copy) => put(copy, context),
            Err(error) => {
                let card = ErrorCard::new(error.to_string(), tr!("window-the-file-may-have"));
                context.shared.error = Some(card.at(context.shared.screen));
            }
        },
    );
}

/// Copies a picture of the memory.
pub(crate) fn copy_pixels(picture: Arc<Rgb8>, context: &Context<'_>) {
    context.run(Worker::Pixels, move || prepared(&picture), |copy, _, context| put(copy, context));
}

/// A picture as the clipboard takes it, and what is lost.
fn prepared(picture: &Rgb8) -> (ColorImage, Vec<ExportLoss>) {
    (pixels::to_screen(picture, usize::MAX), plain_losses(picture))
}

fn put((image, losses): (ColorImage, Vec<ExportLoss>), context: &mut Context<'_>) {
    context.egui.copy_image(image);
    if losses.is_empty() {
        context.notice(tr!("common-copied"));
    } else {
        context.notice(tr!("common-copied-with-losses", losses = ExportLoss::clauses(&losses)));
    }
}
