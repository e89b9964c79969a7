//! Work of the guides that blocks, for the worker of files.

use eframe::egui::ColorImage;

use crate::gui::guides::state::WantedLook;
use crate::gui::pixels;
use atelier_core::reading::ReadingMarks;
use atelier_core::recipe::ImageSource;

/// Longest side of what is shown of a preprocessed picture, in pixels.
const LOOK_PX: usize = 512;

/// What a model is given of a control picture, for the screen.
pub(crate) fn look(wanted: &WantedLook, marks: Option<&ReadingMarks>) -> Result<ColorImage, String> {
    let read = || atelier_engine::read_control(&wanted.control, wanted.size).map(|image| pixels::to_screen(&image, LOOK_PX));
    let read = || read().map_err(|advice| advice.to_string());
    match (marks, &wanted.control.image) {
        (Some(marks), ImageSource::File(path)) => marks.read(path, read).unwrap_or_else(|left_out| Err(left_out.to_string())),
        _ => read(),
    }
}
