//! Wakes the window for what the engine has sent, as soon as that is worth a frame.

use std::sync::{Arc, OnceLock};

use atelier_engine::UnreadEvents;
use eframe::egui::Context;

use crate::gui::due;
use crate::gui::pace::Urgency;

/// The way from the engine's threads to the window; clones share it. The engine starts before there
/// is a window, so nothing is woken until it is connected.
#[derive(Clone, Default)]
pub(crate) struct EngineWaker(Arc<OnceLock<(Context, UnreadEvents)>>);

impl EngineWaker {
    /// Wakes this window from now on, for what is not read of the engine's events. Only the first
    /// window of a process is connected; there is never another.
    pub(crate) fn connect(&self, ctx: &Context, unread: UnreadEvents) {
        let _ = self.0.set((ctx.clone(), unread));
    }

    /// An event can be read. May be called from any thread.
    pub(crate) fn wake(&self) {
        if let Some((ctx, unread)) = self.0.get() {
            due::wake_for(ctx, if unread.are_parts() { Urgency::Part } else { Urgency::Soon });
        }
    }
}
