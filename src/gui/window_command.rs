//! Commands of the window itself. Their effect is in [`crate::gui::app`].

use eframe::egui::{Key, Modifiers};

use crate::gui::screen::Screen;
use crate::gui::shared::Shared;
use crate::gui::shortcut::Shortcut;
use crate::settings::{ThemeChoice, Zoom};

/// A command of the window itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum WindowCommand {
    SetScreen(Screen),
    SetTheme(ThemeChoice),
    /// Search what the view shows: models, pictures, else commands and settings.
    Find,
    /// Undo the last change of the settings.
    Undo,
    /// Make the change again that was undone last.
    Redo,
    /// Put the error card away.
    DismissError,
    /// Put the error, with its log lines, on the clipboard.
    CopyError,
    /// Make everything in the window larger.
    Larger,
    /// Make everything in the window smaller.
    Smaller,
    /// Make everything in the window as large as the system has it.
    UsualSize,
    /// Put the panel at the left away, or show it again.
    ToggleSidePanel,
    /// Close the window.
    Quit,
    /// Stop the forming picture and close.
    StopAndClose,
    StayOpen,
    /// Write what could not be written, and close.
    SaveAndClose,
    /// Close although something could not be written.
    CloseUnsaved,
    /// Do not close before everything is written.
    KeepUnsaved,
    /// Close the window that was opened beside another one.
    CloseBeside,
    /// Use the window that was opened beside another one.
    StayBeside,
}

impl WindowCommand {
    /// The keys, which browsers have too.
    pub(crate) const KEYS: &[(Self, Shortcut)] = &[
        (Self::Redo, Shortcut::while_typing(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z)),
        (Self::Undo, Shortcut::while_typing(Modifiers::COMMAND, Key::Z)),
        (Self::Redo, Shortcut::while_typing(Modifiers::COMMAND, Key::Y)),
        (Self::Find, Shortcut::while_typing(Modifiers::COMMAND, Key::F)),
        (Self::ToggleSidePanel, Shortcut::while_typing(Modifiers::COMMAND, Key::B)),
        (Self::Quit, Shortcut::while_typing(Modifiers::COMMAND, Key::Q)),
        (Self::Larger, Shortcut::while_typing(Modifiers::COMMAND, Key::Plus)),
        (Self::Smaller, Shortcut::while_typing(Modifiers::COMMAND, Key::Minus)),
        (Self::UsualSize, Shortcut::while_typing(Modifiers::COMMAND, Key::Num0)),
    ];

    /// Commands without a key that the command palette offers.
    pub(crate) const OFFERED: &[Self] = &[
        Self::SetTheme(ThemeChoice::System),
        Self::SetTheme(ThemeChoice::Light),
        Self::SetTheme(ThemeChoice::Dark),
        Self::DismissError,
        Self::CopyError,
    ];

    /// The words on its button or menu entry, which are its accessible name too.
    pub(crate) fn label(self) -> &'static str {
        self.words().0
    }

    /// Its effect, in a sentence.
    pub(crate) fn tooltip(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::SetScreen(screen) => (screen.label(), screen.tooltip()),
            Self::SetTheme(choice) => (choice.label(), choice.tooltip()),
            Self::Find => ("Find", "Search the models, the pictures, or commands and settings: what is in sight."),
            Self::Undo => ("Undo", "Undo the last change of the settings."),
            Self::Redo => ("Redo", "Redo the last undone change."),
            Self::DismissError => ("Dismiss", "Dismiss this message."),
            Self::CopyError => ("Copy details", "Copy this message and the engine's last log lines, for support."),
            Self::Larger => ("Larger", "Make text and controls larger."),
            Self::Smaller => ("Smaller", "Make text and controls smaller."),
            Self::UsualSize => ("Default size", "Use the system's size of text and controls."),
            Self::ToggleSidePanel => ("Hide or show the settings", "Give the whole window to the pictures, or show the settings again."),
            Self::Quit => ("Quit Atelier", "Close Atelier. What is being made continues next time."),
            Self::StopAndClose => ("Stop and close", "Stop the current picture and close Atelier. Finished pictures are kept."),
            Self::StayOpen => ("Keep going", "Keep Atelier open and finish the picture."),
            Self::SaveAndClose => ("Try again", "Save everything, then close Atelier."),
            Self::CloseUnsaved => ("Close anyway", "Close Atelier. Unsaved changes are lost."),
            Self::CloseBeside => ("Close this window", "Close this window and wait for the other one."),
            Self::StayBeside => ("Use a second window", "Work in this window. It saves no settings and has separate canvases."),
            Self::KeepUnsaved => ("Stay open", "Keep Atelier open."),
        }
    }

    /// `Ok` if it can be done now.
    ///
    /// # Errors
    /// The sentence about the first thing that is missing.
    pub(crate) fn enabled(self, shared: &Shared) -> Result<(), &'static str> {
        match self {
            Self::CopyError | Self::DismissError => shared.error.as_ref().map(drop).ok_or("There is no message."),
            Self::Undo => shared.history.next_undo().map(drop).ok_or("Nothing was changed yet."),
            Self::Redo => shared.history.next_redo().map(drop).ok_or("Nothing was undone."),
            Self::Larger => (shared.zoom != Zoom::MAX).then_some(()).ok_or("Already the largest size."),
            Self::Smaller => (shared.zoom != Zoom::MIN).then_some(()).ok_or("Already the smallest size."),
            Self::UsualSize => (shared.zoom != Zoom::default()).then_some(()).ok_or("Already the default size."),
            Self::SetScreen(_)
            | Self::SetTheme(_)
            | Self::Find
            | Self::Quit
            | Self::ToggleSidePanel
            | Self::StopAndClose
            | Self::StayOpen
            | Self::SaveAndClose
            | Self::CloseUnsaved
            | Self::KeepUnsaved
            | Self::CloseBeside
            | Self::StayBeside => Ok(()),
        }
    }
}
