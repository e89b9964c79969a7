//! Access of a feature's `update` to everything beside its own state, and work in the background.
//!
//! Work is a closure for another thread and a closure for what it comes to, both written where it
//! is asked for: `context.run(worker, work, apply)`. Invariant: nothing waits here but what is
//! written in the closure `work`; files, dialogs and pixels have threads of their own, the engine
//! and the library too.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui;

use crate::gui::command::{Command, Commands};
use crate::gui::dialog::{self, Choice, FileDialog};
use crate::gui::features::Features;
use crate::gui::files::{self, FileError};
use crate::gui::history::ChangeCause;
use crate::gui::notices::{Notices, Offer};
use crate::gui::shared::{ErrorCard, Shared};
use crate::gui::workers::{Worker, Workers};
use atelier_engine::{Busy, Handle};
use atelier_language::tr;
use atelier_studio::gallery_service::GalleryService;
use atelier_studio::library_service::LibraryService;
use atelier_studio::queue::QueueService;

/// Everything that a feature's `update` may use and change beside its own state.
pub(crate) struct Context<'a> {
    pub(crate) egui: &'a egui::Context,
    pub(crate) engine: &'a Arc<Handle>,
    pub(crate) background: &'a Background,
    pub(crate) queue: &'a QueueService,
    /// `None` where this person has no library.
    pub(crate) library: Option<&'a LibraryService>,
    /// `None` where this person has no folders.
    pub(crate) gallery: Option<&'a GalleryService>,
    pub(crate) notices: &'a mut Notices,
    pub(crate) shared: &'a mut Shared,
    /// Name of the changes of the settings that are being made.
    pub(crate) cause: &'a mut ChangeCause,
    /// Commands for other features, carried out after this one.
    pub(crate) commands: &'a mut Commands,
}

impl Context<'_> {
    /// Shows a short line for some seconds.
    pub(crate) fn notice(&mut self, text: impl Into<String>) {
        self.notices.show(self.egui.time(), text, None);
        self.egui.request_repaint();
    }

    /// Shows a short line for some seconds, with a button.
    pub(crate) fn offer(&mut self, text: impl Into<String>, offer: Offer) {
        self.notices.show(self.egui.time(), text, Some(offer));
        self.egui.request_repaint();
    }

    /// Has another feature do something after this command.
    pub(crate) fn follow_up(&mut self, command: impl Into<Command>) {
        self.commands.push(command);
    }

    /// Names the changes of the settings that follow, for undo.
    pub(crate) const fn name_change(&mut self, name: &'static str) {
        *self.cause = ChangeCause::Step(name);
    }

    /// Has `work` done in the background, then `apply` with its output on the window's thread.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        worker: Worker,
        work: impl FnOnce() -> T + Send + 'static,
        apply: impl FnOnce(T, Features<'_>, &mut Context<'_>) + Send + 'static,
    ) {
        self.background.run(worker, work, apply);
    }

    /// Has `work` done that may take long, on a thread of its own with this name. `apply` gets an
    /// error where there can be no such thread.
    pub(crate) fn run_alone<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
        apply: impl FnOnce(io::Result<T>, Features<'_>, &mut Context<'_>) + Send + 'static,
    ) {
        self.background.spawn(name, work, |done| Answer::new(move |features, context| apply(done, features, context)));
    }

    /// Opens a file dialog, then calls `apply` with what was chosen. `without`: told where the
    /// system has no file dialog.
    pub(crate) fn choose(
        &mut self,
        dialog: FileDialog,
        without: fn(Features<'_>, &mut Context<'_>),
        apply: impl FnOnce(Vec<PathBuf>, Features<'_>, &mut Context<'_>) + Send + 'static,
    ) {
        self.shared.dialog_open = true;
        self.run_alone(
            "dialog",
            move || dialog::show(dialog),
            move |choice, features, context| {
                context.shared.dialog_open = false;
                context.name_change(tr!("window-choose-a-file"));
                match choice {
                    Ok(Choice::Paths(paths)) => apply(paths, features, context),
                    Ok(Choice::Cancelled) => {}
                    Ok(Choice::NoDialog) | Err(_) => without(features, context),
                }
            },
        );
    }

    /// Shows a folder in the system's file manager, with this file marked where there is one.
    pub(crate) fn show_folder(&self, folder: PathBuf, file: Option<PathBuf>) {
        self.run(Worker::Files, move || files::open_folder(&folder, file.as_deref()), |opened, _, context| context.tell_unopened(opened));
    }

    /// Opens a file with the system's program for it.
    pub(crate) fn show_file(&self, path: PathBuf) {
        self.run(Worker::Files, move || files::open_file(&path), |opened, _, context| context.tell_unopened(opened));
    }

    fn tell_unopened(&mut self, opened: Result<(), FileError>) {
        if let Err(error) = opened {
            self.shared.error = Some(ErrorCard::new(error.to_string(), tr!("window-open-the-folder-in")).at(self.shared.screen));
        }
    }
}

type Apply = dyn FnOnce(Features<'_>, &mut Context<'_>) + Send;

/// What work in the background comes to: it is applied on the window's thread.
pub(crate) struct Answer(Box<Apply>);

impl Answer {
    fn new(apply: impl FnOnce(Features<'_>, &mut Context<'_>) + Send + 'static) -> Self {
        Self(Box::new(apply))
    }

    /// The answer of work that panicked; the log says more.
    pub(crate) fn panicked() -> Self {
        Self::new(|_, context| {
            let hint = tr!("window-try-again-if-it");
            let card = ErrorCard::new(tr!("window-internal-error-in-background"), hint);
            context.shared.error = Some(card.at(context.shared.screen));
        })
    }

    /// Applies it.
    pub(crate) fn apply(self, features: Features<'_>, context: &mut Context<'_>) {
        (self.0)(features, context);
    }
}

/// The threads behind the window.
pub(crate) type Background = Workers<Answer>;

impl Background {
    /// Has `work` done in the background, then `apply` with its output on the window's thread.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        worker: Worker,
        work: impl FnOnce() -> T + Send + 'static,
        apply: impl FnOnce(T, Features<'_>, &mut Context<'_>) + Send + 'static,
    ) {
        self.push(worker, move || {
            let output = work();
            Some(Answer::new(move |features, context| apply(output, features, context)))
        });
    }

    /// Has `work` done in the background; nothing comes of it.
    pub(crate) fn run_silently(&self, worker: Worker, work: impl FnOnce() + Send + 'static) {
        self.push(worker, move || {
            work();
            None
        });
    }
}

/// Logs a request that the engine did not take. Returns true if it was sent.
pub(crate) fn log_if_busy(request: Result<(), Busy>) -> bool {
    request.inspect_err(|busy| tracing::warn!("the engine did not accept the request: {busy}")).is_ok()
}
