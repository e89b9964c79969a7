//! Whether the panel on the left is shown: as a person wants it, else where the window has room.

use eframe::egui::Context;

/// Width of the panel on the left, in points.
pub(crate) const SIDE_WIDTH: f32 = 344.0;
/// In a window of fewer points it would take more than half, and folds by itself.
const MIN_WINDOW_WIDTH: f32 = 2.0 * SIDE_WIDTH;

/// What a person wants of the panel on the left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SidePanel {
    /// Shown where the window has room for it.
    #[default]
    WhereRoom,
    /// Shown, until the window has room for it again.
    Shown,
    /// Hidden, also over a restart.
    Hidden,
}

impl SidePanel {
    /// True where it is drawn.
    pub(crate) fn is_shown(self, ctx: &Context) -> bool {
        match self {
            Self::WhereRoom => has_room(ctx),
            Self::Shown => true,
            Self::Hidden => false,
        }
    }

    /// Shows it, because something in it is asked for.
    pub(crate) fn show(&mut self, ctx: &Context) {
        if !self.is_shown(ctx) {
            self.toggle(ctx);
        }
    }

    /// Hides it, or shows it again. What folds by itself is not hidden for the next start.
    pub(crate) fn toggle(&mut self, ctx: &Context) {
        *self = match (self.is_shown(ctx), has_room(ctx)) {
            (true, true) => Self::Hidden,
            (true, false) | (false, true) => Self::WhereRoom,
            (false, false) => Self::Shown,
        };
    }

    /// Follows the width of the window, once a frame: in a window that gets narrow again it folds
    /// again.
    pub(crate) fn follow_width(&mut self, ctx: &Context) {
        if *self == Self::Shown && has_room(ctx) {
            *self = Self::WhereRoom;
        }
    }
}

fn has_room(ctx: &Context) -> bool {
    ctx.content_rect().width() >= MIN_WINDOW_WIDTH
}
