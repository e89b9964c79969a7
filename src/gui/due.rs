//! Moments at which something happens though nobody touches anything.
//!
//! `egui` draws no frame without a reason, and each frame forgets the wake-ups that were asked for
//! before it. So whoever waits asks in every frame again, for the time that is left. Here is the
//! only place that asks for later frames; a test holds that.

use std::time::Duration;

use eframe::egui;

use crate::gui::pace::{self, Urgency};

/// `egui` wakes up to a frame early, since drawing takes time; a moment later there is nothing left
/// to wait for.
const MARGIN_SECS: f32 = 0.02;
/// Asking for a frame "now" paints two; a millisecond paints one.
const SOON: Duration = Duration::from_millis(1);

/// Asks for a frame as soon as there may be one. May be called from any thread.
pub(crate) fn wake(ctx: &egui::Context) {
    wake_for(ctx, Urgency::Soon);
}

/// Asks for a frame for something of this urgency. May be called from any thread.
pub(crate) fn wake_for(ctx: &egui::Context, urgency: Urgency) {
    ctx.request_repaint_after(SOON.max(Duration::from_secs_f64(pace::wait_secs(ctx, urgency))));
}

/// Asks for a frame once the second of `egui`'s clock is another: for what counts seconds, or only
/// shows that it lives.
pub(crate) fn wake_next_second(ctx: &egui::Context) {
    let left = 1.0 - ctx.time().fract();
    wake_in(ctx, left.max(pace::wait_secs(ctx, Urgency::Soon)));
}

/// Asks for a frame in these seconds. Who waits for a moment calls it in every frame until then;
/// for a moment that is kept, use [`Due`].
pub(crate) fn wake_in(ctx: &egui::Context, secs: f64) {
    ctx.request_repaint_after_secs(secs.max(0.0) as f32 + MARGIN_SECS);
}

/// A moment that is waited for, in seconds of `egui`'s clock; none where nothing is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Due(Option<f64>);

impl Due {
    /// The moment is in these seconds, in place of any that was waited for.
    pub(crate) fn set_in(&mut self, ctx: &egui::Context, secs: f64) {
        self.0 = Some(ctx.time() + secs);
    }

    /// The moment is in these seconds, unless one is waited for already.
    pub(crate) fn begin_in(&mut self, ctx: &egui::Context, secs: f64) {
        if self.0.is_none() {
            self.set_in(ctx, secs);
        }
    }

    /// Nothing is waited for any more.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }

    /// True once the moment has come, until it is cleared or set anew. Before, it asks for a frame
    /// at that moment: call it once a frame.
    #[must_use]
    pub(crate) fn has_come(&self, ctx: &egui::Context) -> bool {
        let Some(at) = self.0 else { return false };
        let left = at - ctx.time();
        if left > 0.0 {
            wake_in(ctx, left);
        }
        left <= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws a frame at this time; the seconds until the next one.
    fn frame(ctx: &egui::Context, secs: f64, draw: impl Fn(&egui::Context)) -> f64 {
        let input = egui::RawInput { time: Some(secs), ..egui::RawInput::default() };
        let mut output = ctx.run_ui(input, |ui| draw(ui.ctx()));
        // There is no graphics card.
        output.textures_delta.clear();
        output.viewport_output[&egui::ViewportId::ROOT].repaint_delay.as_secs_f64()
    }

    #[test]
    fn a_frame_in_between_does_not_take_the_wake_up_away() {
        let ctx = egui::Context::default();
        // The first frames ask for others by themselves.
        for n in 0..4 {
            frame(&ctx, f64::from(n) * 0.1, |_| {});
        }
        let mut due = Due::default();
        frame(&ctx, 1.0, |_| {});
        due.set_in(&ctx, 20.0);
        due.begin_in(&ctx, 5.0);
        for (now, left) in [(2.0, 19.0), (6.5, 14.5), (20.0, 1.0)] {
            let delay = frame(&ctx, now, |ctx| assert!(!due.has_come(ctx)));
            assert!((delay - left).abs() < 0.2, "at {now}: {delay}");
        }
        frame(&ctx, 21.01, |ctx| assert!(due.has_come(ctx)));
        due.clear();
        assert!(frame(&ctx, 22.0, |ctx| assert!(!due.has_come(ctx))) > 1000.0, "nothing is waited for");
    }
}
