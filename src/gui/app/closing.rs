//! Closing the window: what was made is written first, and who would lose something is asked.

use std::time::Duration;

use eframe::egui;

use crate::gui::app::App;
use crate::gui::canvas::vision_run::VisionRun;
use crate::gui::due;
use crate::gui::shared::Closing;
use crate::gui::{canvas, grid, memory};
use atelier_studio::queue::QueueRequest;

/// Longest time that closing waits for files to be written, for the engine to stop, and for an
/// answer where the system ends the program.
const CLOSE_WITHIN_SECS: f64 = 10.0;

impl App {
    /// Lets the window close once nothing holds it.
    pub(super) fn closing(&mut self, ctx: &egui::Context) {
        let asked = ctx.input(|input| input.viewport().close_requested());
        let has_jobs = !self.state.shared.jobs.is_empty();
        let done = !has_jobs && self.state.create.session.writing() == 0;
        let now = ctx.time();
        let is_held = || !done || self.is_saving() || !self.unsaved().is_empty();
        match self.state.closing {
            // It closes by itself.
            Closing::No if !asked || !is_held() => {}
            Closing::No if has_jobs => self.state.closing = Closing::Confirming,
            Closing::No => self.save_and_close(ctx, false),
            Closing::Confirming if !has_jobs && !asked => self.state.closing = Closing::No,
            Closing::Saving { until_secs, is_ending } => {
                // An edit that was under way may have changed something since.
                self.save(false);
                if self.is_saving() && now < until_secs {
                    due::wake_in(ctx, until_secs - now);
                } else {
                    self.judge_saving(ctx, is_ending);
                }
            }
            Closing::Unsaved { until_secs } => {
                // What could not be written is tried again meanwhile.
                self.state.unsaved = self.unsaved();
                let left = until_secs.map(|until_secs| until_secs - now);
                if self.state.unsaved.is_empty() {
                    self.stop(ctx);
                } else if left.is_some_and(|left| left <= 0.0) {
                    tracing::error!("Atelier had to quit before everything was saved: {}", self.state.unsaved.join(" "));
                    self.stop(ctx);
                } else if let Some(left) = left {
                    due::wake_in(ctx, left);
                }
            }
            Closing::Stopping { until_secs } if done || now >= until_secs => {
                self.state.closing = Closing::Now;
                ctx.send_viewport_cmd(egui::ViewportCommand::Close);
            }
            Closing::Stopping { until_secs } => due::wake_in(ctx, until_secs - now),
            Closing::Confirming | Closing::Now => {}
        }
        if asked && !matches!(self.state.closing, Closing::No | Closing::Now) {
            ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
        }
        self.offer_to_take_files();
    }

    /// Lets later starts hand their files over, or wait.
    fn offer_to_take_files(&self) {
        if let Some(instance) = &self.instance {
            instance.set_taking_files(self.takes_files());
        }
    }

    /// True where a later start may hand its files over: this window stays, or asks whether it
    /// should.
    const fn takes_files(&self) -> bool {
        match self.state.closing {
            Closing::No | Closing::Confirming | Closing::Unsaved { until_secs: None } => true,
            Closing::Saving { .. } | Closing::Unsaved { until_secs: Some(_) } | Closing::Stopping { .. } | Closing::Now => false,
        }
    }

    /// Closes where everything is saved; else asks. `is_ending`: the system asks for the end, so
    /// the question does not wait for ever.
    fn judge_saving(&mut self, ctx: &egui::Context, is_ending: bool) {
        self.state.unsaved = self.unsaved();
        if self.state.unsaved.is_empty() {
            self.stop(ctx);
        } else {
            self.state.closing = Closing::Unsaved { until_secs: is_ending.then_some(ctx.time() + CLOSE_WITHIN_SECS) };
            ctx.request_repaint();
        }
    }

    /// Writes what is not in a file, and closes the window once that is done. `is_ending`: the
    /// system asks for it.
    pub(super) fn save_and_close(&mut self, ctx: &egui::Context, is_ending: bool) {
        self.with(ctx, |features, context| canvas::update::finish_gesture(features.canvas, context));
        self.save(true);
        self.state.closing = Closing::Saving { until_secs: ctx.time() + CLOSE_WITHIN_SECS, is_ending };
        self.offer_to_take_files();
        ctx.request_repaint();
    }

    /// Hands what is not in a file to the thread that writes. `retries`: also what could not be
    /// written the last time.
    fn save(&mut self, retries: bool) {
        if let Some(write) = self.autosave.save(&self.state, retries) {
            self.write_settings(write);
        }
        canvas::update::save(&mut self.state.canvas, &self.background, retries);
        grid::update::save(&mut self.state.grid, &self.background, retries);
    }

    /// True while something is on its way to a file.
    fn is_saving(&self) -> bool {
        self.autosave.is_saving() || canvas::update::is_saving(&self.state.canvas) || grid::update::is_saving(&self.state.grid)
    }

    /// What is in no file, in sentences with the reasons.
    fn unsaved(&self) -> Vec<String> {
        canvas::update::unsaved(&self.state.canvas).chain(self.autosave.unsaved(&self.state)).collect()
    }

    pub(super) fn stop(&mut self, ctx: &egui::Context) {
        // Before the engine's answers: what runs goes on at the next start.
        self.queue.send(QueueRequest::StopForEnd);
        self.engine.cancel_all();
        // Its process would go on by itself.
        self.state.canvas.vision.iter().for_each(VisionRun::cancel);
        self.state.closing = Closing::Stopping { until_secs: ctx.time() + CLOSE_WITHIN_SECS };
        ctx.request_repaint();
    }

    /// Writes what is left to write, but not for longer than a few seconds.
    pub fn finish(mut self) {
        if let Some(instance) = &self.instance {
            instance.close();
        }
        self.queue.send(QueueRequest::StopForEnd);
        self.engine.cancel_all();
        memory::update::end_preloading(&mut self.state.memory, &self.background);
        self.save(true);
        // Downloads resume at the next start.
        if !self.library.take().is_none_or(|it| it.finish(Duration::from_secs_f64(CLOSE_WITHIN_SECS))) {
            tracing::error!("the downloads did not stop before the window closed");
        }
        if !self.gallery.take().is_none_or(|it| it.finish(Duration::from_secs_f64(CLOSE_WITHIN_SECS))) {
            tracing::error!("the gallery did not stop before the window closed");
        }
        if !self.queue.finish(Duration::from_secs_f64(CLOSE_WITHIN_SECS)) {
            tracing::error!("the queue did not end before the window closed");
        }
        if !self.background.finish(Duration::from_secs_f64(CLOSE_WITHIN_SECS)) {
            tracing::error!("some files could not be written before the window closed");
        }
        if let Some(watch) = &self.state.program.watch {
            watch.end();
        }
    }
}
