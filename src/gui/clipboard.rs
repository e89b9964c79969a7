//! Pictures for the clipboard. Nothing here waits.

use std::path::PathBuf;
use std::sync::Arc;

use crate::gui::context::Context;
use crate::gui::shared::ErrorCard;
use crate::gui::workers::Worker;
use crate::gui::{files, pixels};
use atelier_core::recipe::Rgb8;
use atelier_language::tr;

/// Copies a picture of a file.
pub(crate) fn copy_file(path: PathBuf, context: &Context<'_>) {
    context.run(
        Worker::Files,
        move || files::read_picture(&path).map(|picture| pixels::to_screen(&picture, usize::MAX)),
        |image, _, context| match image {
            Ok(image) => {
                context.egui.copy_image(image);
                context.notice(tr!("common-copied"));
            }
            Err(error) => {
                context.shared.error = Some(ErrorCard::new(error.to_string(), tr!("window-the-file-may-have")));
            }
        },
    );
}

/// Copies a picture of the memory.
pub(crate) fn copy_pixels(picture: Arc<Rgb8>, context: &Context<'_>) {
    context.run(
        Worker::Pixels,
        move || pixels::to_screen(&picture, usize::MAX),
        |image, _, context| {
            context.egui.copy_image(image);
            context.notice(tr!("common-copied"));
        },
    );
}
