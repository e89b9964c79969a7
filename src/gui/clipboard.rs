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
use atelier_media::ExportLoss;

/// Copies a picture of a file.
pub(crate) fn copy_file(path: PathBuf, context: &Context<'_>) {
    context.run(
        Worker::Files,
        move || {
            let picture = atelier_media::read_fine_image(&ImageSource::File(path));
            picture.map(|picture| (screen(&picture), atelier_media::plain_losses(&picture)))
        },
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
    context.run(Worker::Pixels, move || (screen(&picture), atelier_media::plain_losses(&picture)), |copy, _, context| put(copy, context));
}

/// A picture as the clipboard takes it.
fn screen(picture: &Rgb8) -> ColorImage {
    pixels::to_screen(picture, usize::MAX)
}

fn put((image, losses): (ColorImage, Vec<ExportLoss>), context: &mut Context<'_>) {
    context.egui.copy_image(image);
    if losses.is_empty() {
        context.notice(tr!("common-copied"));
    } else {
        context.notice(tr!("common-copied-with-losses", losses = ExportLoss::clauses(&losses)));
    }
}
