//! Access of a feature's `update` to everything beside its own state.
//!
//! Invariant: nothing reachable from here waits; disks, dialogs and pixels have threads of their own, the engine and the library too.

use eframe::egui;

use crate::gui::command::{Command, Commands};
use crate::gui::files::DialogKind;
use crate::gui::notices::Notices;
use crate::gui::shared::Shared;
use crate::gui::workers::Workers;
use atelier_engine::{Busy, Handle};
use atelier_studio::gallery_service::GalleryService;
use atelier_studio::library_service::LibraryService;
use atelier_studio::queue::QueueService;

/// Everything that a feature's `update` may use and change beside its own state.
pub(crate) struct Context<'a> {
    pub(crate) egui: &'a egui::Context,
    pub(crate) engine: &'a Handle,
    pub(crate) workers: &'a Workers,
    pub(crate) queue: &'a QueueService,
    /// `None` where this person has no library.
    pub(crate) library: Option<&'a LibraryService>,
    /// `None` where this person has no folders.
    pub(crate) gallery: Option<&'a GalleryService>,
    pub(crate) notices: &'a mut Notices,
    pub(crate) shared: &'a mut Shared,
    /// Commands for other features, carried out after this one.
    pub(crate) commands: &'a mut Commands,
}

impl Context<'_> {
    /// Shows a short line for some seconds.
    pub(crate) fn notice(&mut self, text: impl Into<String>) {
        self.notices.show(self.egui.time(), text);
        self.egui.request_repaint();
    }

    /// Has another feature do something after this command.
    pub(crate) fn follow_up(&mut self, command: impl Into<Command>) {
        self.commands.push(command);
    }

    /// Opens a file dialog; `Report::DialogClosed` brings its result. `file_name`: proposed for a file to write.
    pub(crate) fn open_dialog(&mut self, kind: DialogKind, file_name: String) {
        self.shared.dialog_open = true;
        self.workers.dialog(kind, file_name);
    }
}

/// Logs a request that the engine did not take. Returns true if it was sent.
pub(crate) fn log_if_busy(request: Result<(), Busy>) -> bool {
    request.inspect_err(|busy| tracing::warn!("the engine did not accept the request: {busy}")).is_ok()
}
