//! Commands of the window itself. Their effect is in [`crate::gui::app`].

use atelier_language::{Language, tr};
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
    /// Use this language; `None`: the one of the system.
    SetLanguage(Option<Language>),
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
        Self::SetLanguage(None),
        Self::SetLanguage(Some(Language::English)),
        Self::SetLanguage(Some(Language::German)),
        Self::SetLanguage(Some(Language::Japanese)),
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
            Self::SetLanguage(language) => match language {
                None => (tr!("window-language-of-the-system"), tr!("window-follow-the-language-of")),
                Some(Language::English) => (tr!("window-language-english"), tr!("window-use-english-for-the")),
                Some(Language::German) => (tr!("window-language-german-deutsch"), tr!("window-use-german-its")),
                Some(Language::Japanese) => (tr!("window-language-japanese"), tr!("window-use-japanese-its")),
            },
            Self::Find => (tr!("window-find"), tr!("window-search-the-models-the")),
            Self::Undo => (tr!("window-undo"), tr!("window-undo-the-last-change")),
            Self::Redo => (tr!("window-redo"), tr!("window-redo-the-last-undone")),
            Self::DismissError => (tr!("window-dismiss"), tr!("window-dismiss-this-message")),
            Self::CopyError => (tr!("window-copy-details"), tr!("window-copy-this-message-and")),
            Self::Larger => (tr!("window-larger-text"), tr!("window-make-text-and-controls")),
            Self::Smaller => (tr!("window-smaller-text"), tr!("window-make-text-and-controls-smaller")),
            Self::UsualSize => (tr!("window-default-text-size"), tr!("window-use-the-systems-size")),
            Self::ToggleSidePanel => (tr!("window-hide-or-show-the"), tr!("window-give-the-whole-window")),
            Self::Quit => (tr!("window-quit-atelier"), tr!("window-close-atelier-what-is")),
            Self::StopAndClose => (tr!("window-stop-and-close"), tr!("window-stop-the-current-picture")),
            Self::StayOpen => (tr!("window-keep-going"), tr!("window-keep-atelier-open-and")),
            Self::SaveAndClose => (tr!("common-try-again"), tr!("window-save-everything-then-close")),
            Self::CloseUnsaved => (tr!("window-close-anyway"), tr!("window-close-atelier-unsaved-changes")),
            Self::CloseBeside => (tr!("window-close-this-window"), tr!("window-close-this-window-and")),
            Self::StayBeside => (tr!("window-use-a-second-window"), tr!("window-work-in-this-window")),
            Self::KeepUnsaved => (tr!("window-stay-open"), tr!("window-keep-atelier-open")),
        }
    }

    /// `Ok` if it can be done now.
    ///
    /// # Errors
    /// The sentence about the first thing that is missing.
    pub(crate) fn enabled(self, shared: &Shared) -> Result<(), &'static str> {
        match self {
            Self::CopyError | Self::DismissError => shared.error.as_ref().map(drop).ok_or(tr!("window-there-is-no-message")),
            Self::Undo => shared.history.next_undo().map(drop).ok_or(tr!("window-nothing-was-changed-yet")),
            Self::Redo => shared.history.next_redo().map(drop).ok_or(tr!("window-nothing-was-undone")),
            Self::Larger => (shared.zoom != Zoom::MAX).then_some(()).ok_or(tr!("window-already-the-largest-size")),
            Self::Smaller => (shared.zoom != Zoom::MIN).then_some(()).ok_or(tr!("window-already-the-smallest-size")),
            Self::UsualSize => (shared.zoom != Zoom::default()).then_some(()).ok_or(tr!("window-already-the-default-size")),
            Self::SetScreen(_)
            | Self::SetTheme(_)
            | Self::SetLanguage(_)
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
