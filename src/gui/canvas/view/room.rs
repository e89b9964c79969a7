//! The room of a picture, with the tools of the canvas and without them.

use eframe::egui::Rect;

use super::options::height as options_height;
use crate::gui::state::State;

/// Space round a whole picture, in points.
pub(super) const MARGIN: f32 = 14.0;
/// Width of the rail of tools, in points.
pub(super) const RAIL_WIDTH: f32 = 38.0;

/// The room of a picture in the view that lies here: the same with the tools of the canvas and
/// without them, so that one that becomes a canvas keeps its size and place.
pub(crate) fn picture_room(state: &State, whole: Rect) -> Rect {
    if state.canvas.hides_panels {
        return whole.shrink(MARGIN);
    }
    let beside_rail = whole.with_min_x(whole.left() + RAIL_WIDTH);
    beside_rail.with_min_y(beside_rail.top() + options_height(beside_rail.width())).shrink(MARGIN)
}
