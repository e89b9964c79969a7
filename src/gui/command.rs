//! Commands: everything that a person can ask of the window.
//!
//! A command owns its label, tooltip, shortcut and when it is enabled, so that buttons, menus and keys cannot drift apart. What a
//! command does is in `dispatch`; nothing here changes anything.

use std::path::PathBuf;

use eframe::egui::{Key, KeyboardShortcut, Modifiers};

use crate::gui::create::viewport::View;
use crate::gui::devices::board::BoardCommand;
use crate::gui::memory::MemoryCommand;
use crate::gui::models::ModelsCommand;
use crate::gui::state::{PictureId, PreviewChoice, Screen, State, ThemeChoice};
use atelier_core::recipe::{FileRole, Recipe};
use atelier_engine::JobId;

/// Everything that a person can ask of the window.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Show another part of the program.
    Go(Screen),
    /// Something about devices and placement.
    Board(BoardCommand),
    /// Something about the library.
    Models(ModelsCommand),
    /// Make pictures with the recipe shown.
    Generate,
    /// Stop the picture that is forming.
    Cancel,
    /// Stop one of several pictures that form at the same time.
    CancelJob(JobId),
    /// Take every waiting picture out of the queue.
    ClearQueue,
    /// Put the cursor into the prompt.
    FocusPrompt,
    /// The recipe was edited.
    ChangeRecipe(Box<Recipe>),
    /// Exchange width and height.
    SwapSides,
    /// Draw a seed and keep it.
    RollSeed,
    /// Keep the last seed, or draw a new one for each picture again.
    LockSeed,
    /// Put this example into the prompt.
    TryPrompt(&'static str),
    /// Make the built-in model the one in use.
    UseBuiltin,
    /// Go from the built-in model to the person's own files.
    UseOwnFiles,
    /// Show the file dialog for model files of any role.
    AddFiles,
    /// Show the file dialog for this role.
    ChooseFile(FileRole),
    /// Empty this role.
    ClearFile(FileRole),
    /// Move the file from one role to another.
    MoveFile(FileRole, FileRole),
    /// Take files that were dropped or typed, whatever they are.
    TakePaths(Vec<PathBuf>),
    /// Give a file whose role could not be guessed its role; `None` leaves it out.
    PlaceFile(PathBuf, Option<FileRole>),
    /// Open, change or close the field for a typed path.
    TypePath(Option<String>),
    /// Show the file dialog for the picture to start from.
    ChooseStart,
    /// Start from nothing again.
    ClearStart,
    /// Show the file dialog for the mask.
    ChooseMask,
    /// Paint the whole picture anew.
    ClearMask,
    /// Show the file dialog for a LoRA.
    AddLora,
    /// How pictures are shown while they form.
    SetPreview(PreviewChoice),
    /// Show this picture of the session.
    Show(PictureId),
    /// Show the forming picture, then the newest.
    Follow,
    /// Show the picture made after this one.
    Newer,
    /// Show the picture made before this one.
    Older,
    /// Take the settings of the picture shown.
    UseSettings,
    /// Start the next picture from the one shown.
    StartFromShown,
    /// Write the picture shown to a file.
    SaveAs,
    /// Put the picture shown on the clipboard.
    CopyPicture,
    /// Open the folder with the pictures.
    OpenFolder,
    /// Look closer.
    ZoomIn,
    /// Look from farther away.
    ZoomOut,
    /// Show the whole picture.
    ZoomFit,
    /// One pixel of the picture to one of the screen.
    ZoomActual,
    /// The picture was moved or zoomed with the pointer.
    Look(View),
    /// Light, dark, or as the system has it.
    SetTheme(ThemeChoice),
    /// Something about the models in memory.
    Memory(MemoryCommand),
    /// Put the error card away.
    DismissError,
    /// Put the error, with its log lines, on the clipboard.
    CopyError,
    /// Stop the forming picture and close.
    StopAndClose,
    /// Do not close.
    StayOpen,
}

/// A key, and whether it works while text is being typed.
#[derive(Clone, Copy, Debug)]
pub struct Shortcut {
    /// The key.
    pub keys: KeyboardShortcut,
    /// Whether it works while text is being typed; keys that write text do not.
    pub while_typing: bool,
}

impl Command {
    /// The commands that have a shortcut. Those with more modifiers come before those with fewer.
    pub const WITH_SHORTCUT: [Self; 21] = [
        Self::Go(Screen::Create),
        Self::Go(Screen::Devices),
        Self::Go(Screen::Models),
        Self::Models(ModelsCommand::FocusSearch),
        Self::OpenFolder,
        Self::Generate,
        Self::Cancel,
        Self::FocusPrompt,
        Self::SwapSides,
        Self::RollSeed,
        Self::LockSeed,
        Self::AddFiles,
        Self::UseSettings,
        Self::SaveAs,
        Self::CopyPicture,
        Self::Newer,
        Self::Older,
        Self::ZoomIn,
        Self::ZoomOut,
        Self::ZoomFit,
        Self::ZoomActual,
    ];

    /// The words on its button or menu entry, which are its accessible name too.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Go(screen) => screen.label(),
            Self::Board(command) => command.label(),
            Self::Models(command) => command.label(),
            Self::Memory(command) => command.label(),
            Self::Generate => "Generate",
            Self::Cancel | Self::CancelJob(_) => "Cancel",
            Self::ClearQueue => "Clear queue",
            Self::FocusPrompt => "Go to the prompt",
            Self::ChangeRecipe(_) => "Change settings",
            Self::SwapSides => "Swap width and height",
            Self::RollSeed => "Roll a new seed",
            Self::LockSeed => "Keep this seed",
            Self::TryPrompt(example) => example,
            Self::UseBuiltin => "Use the built-in model",
            Self::UseOwnFiles => "Use my own files",
            Self::AddFiles => "Add model files",
            Self::ChooseFile(_) => "Choose another file",
            Self::ClearFile(_) => "Remove this file",
            Self::MoveFile(..) => "Change what this file is for",
            Self::TakePaths(_) => "Add",
            Self::PlaceFile(_, Some(_)) => "Use this file",
            Self::PlaceFile(_, None) => "Leave this file out",
            Self::TypePath(_) => "Type a path",
            Self::ChooseStart => "Choose a picture",
            Self::ClearStart => "Remove start picture",
            Self::ChooseMask => "Choose a mask",
            Self::ClearMask => "Remove mask",
            Self::AddLora => "Add a LoRA",
            Self::SetPreview(choice) => choice.label(),
            Self::Show(_) => "Show this picture",
            Self::Follow => "Show the forming picture",
            Self::Newer => "Newer picture",
            Self::Older => "Older picture",
            Self::UseSettings => "Use these settings",
            Self::StartFromShown => "Start from this picture",
            Self::SaveAs => "Save as…",
            Self::CopyPicture => "Copy picture",
            Self::OpenFolder => "Open pictures folder",
            Self::ZoomIn => "Zoom in",
            Self::ZoomOut => "Zoom out",
            Self::ZoomFit => "Fit to window",
            Self::ZoomActual => "Actual size",
            Self::Look(_) => "Move the picture",
            Self::SetTheme(choice) => choice.label(),
            Self::DismissError => "Dismiss",
            Self::CopyError => "Copy details",
            Self::StopAndClose => "Stop and close",
            Self::StayOpen => "Keep going",
        }
    }

    /// What it does, in a sentence.
    #[must_use]
    pub fn tooltip(&self) -> &'static str {
        match self {
            Self::Go(screen) => screen.tooltip(),
            Self::Board(command) => command.tooltip(),
            Self::Models(command) => command.tooltip(),
            Self::Memory(command) => command.tooltip(),
            Self::Generate => "Make pictures with these settings. While one forms, the next waits its turn.",
            Self::Cancel => "Stop the picture that is forming. Finished pictures are kept.",
            Self::CancelJob(_) => "Stop this picture. Finished ones are kept, and others go on.",
            Self::ClearQueue => "Take every waiting picture out of the queue. The forming one goes on.",
            Self::FocusPrompt => "Put the cursor into the prompt.",
            Self::ChangeRecipe(_) => "Change the settings of the next picture.",
            Self::SwapSides => "Turn portrait into landscape, and back.",
            Self::RollSeed => "Draw a new seed and keep it for the next pictures.",
            Self::LockSeed => "Keep this seed, so that only what you change changes. Unlocked, each picture gets a new one.",
            Self::TryPrompt(_) => "Put these words into the prompt.",
            Self::UseBuiltin => "Use the model that comes with Atelier, with the settings that suit it. Your own files are remembered.",
            Self::UseOwnFiles => "Use model files of your own. The built-in model stays at hand.",
            Self::AddFiles => "Choose model files. Atelier finds out what each one is for.",
            Self::ChooseFile(_) => "Choose another file for this part of the model.",
            Self::ClearFile(_) => "Take this file out of the model. The file itself stays where it is.",
            Self::MoveFile(..) => "Use this file for another part of the model.",
            Self::TakePaths(_) => "Add the file with this path.",
            Self::PlaceFile(_, Some(_)) => "Use this file for this part of the model.",
            Self::PlaceFile(_, None) => "Do not use this file.",
            Self::TypePath(_) => "Type or paste the path of a file.",
            Self::ChooseStart => "Choose a picture to start from.",
            Self::ClearStart => "Start from nothing. The file itself stays where it is.",
            Self::ChooseMask => "Choose a mask: white is painted anew, black is kept.",
            Self::ClearMask => "Paint the whole picture anew.",
            Self::AddLora => "Choose a LoRA, a small file that adds a style or a subject.",
            Self::SetPreview(choice) => choice.tooltip(),
            Self::Show(_) => "Show this picture.",
            Self::Follow => "Show the picture that is forming, then the newest.",
            Self::Newer => "Show the picture that was made after this one.",
            Self::Older => "Show the picture that was made before this one.",
            Self::UseSettings => "Take over prompt, seed and all settings of this picture.",
            Self::StartFromShown => "Use this picture as the start of the next one.",
            Self::SaveAs => "Save this picture where you like. It is already kept in your pictures folder.",
            Self::CopyPicture => "Put this picture on the clipboard.",
            Self::OpenFolder => "Open the folder in which your pictures are kept.",
            Self::ZoomIn => "Look closer.",
            Self::ZoomOut => "Look from farther away.",
            Self::ZoomFit => "Show the whole picture.",
            Self::ZoomActual => "Show one pixel of the picture on one of the screen.",
            Self::Look(_) => "Scroll to zoom, drag to move, double-click to fit.",
            Self::SetTheme(choice) => choice.tooltip(),
            Self::DismissError => "Put this message away.",
            Self::CopyError => "Copy this message and the engine's last lines, to ask somebody for help.",
            Self::StopAndClose => "Stop the forming picture and close Atelier. Finished pictures are kept.",
            Self::StayOpen => "Keep Atelier open and let the picture finish.",
        }
    }

    /// Its key, where it has one.
    #[must_use]
    pub fn shortcut(&self) -> Option<Shortcut> {
        let key =
            |modifiers, logical_key, while_typing| Some(Shortcut { keys: KeyboardShortcut::new(modifiers, logical_key), while_typing });
        match self {
            Self::Go(Screen::Create) => key(Modifiers::COMMAND, Key::Num1, true),
            Self::Go(Screen::Devices) => key(Modifiers::COMMAND, Key::Num2, true),
            Self::Go(Screen::Models) => key(Modifiers::COMMAND, Key::Num3, true),
            Self::Models(ModelsCommand::FocusSearch) => key(Modifiers::COMMAND, Key::F, true),
            Self::Generate => key(Modifiers::COMMAND, Key::Enter, true),
            Self::Cancel => key(Modifiers::NONE, Key::Escape, true),
            Self::FocusPrompt => key(Modifiers::COMMAND, Key::L, true),
            Self::SwapSides => key(Modifiers::COMMAND, Key::I, true),
            Self::RollSeed => key(Modifiers::COMMAND, Key::R, true),
            Self::LockSeed => key(Modifiers::COMMAND, Key::K, true),
            Self::AddFiles => key(Modifiers::COMMAND, Key::O, true),
            Self::OpenFolder => key(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::O, true),
            Self::UseSettings => key(Modifiers::COMMAND, Key::U, true),
            Self::SaveAs => key(Modifiers::COMMAND, Key::S, true),
            Self::CopyPicture => key(Modifiers::COMMAND, Key::C, false),
            Self::Newer => key(Modifiers::NONE, Key::PageUp, false),
            Self::Older => key(Modifiers::NONE, Key::PageDown, false),
            Self::ZoomIn => key(Modifiers::NONE, Key::Plus, false),
            Self::ZoomOut => key(Modifiers::NONE, Key::Minus, false),
            Self::ZoomFit => key(Modifiers::NONE, Key::Num0, false),
            Self::ZoomActual => key(Modifiers::NONE, Key::Num1, false),
            Self::Board(_)
            | Self::Models(_)
            | Self::Memory(_)
            | Self::CancelJob(_)
            | Self::ClearQueue
            | Self::ChangeRecipe(_)
            | Self::TryPrompt(_)
            | Self::UseBuiltin
            | Self::UseOwnFiles
            | Self::ChooseFile(_)
            | Self::ClearFile(_)
            | Self::MoveFile(..)
            | Self::TakePaths(_)
            | Self::PlaceFile(..)
            | Self::TypePath(_)
            | Self::ChooseStart
            | Self::ClearStart
            | Self::ChooseMask
            | Self::ClearMask
            | Self::AddLora
            | Self::SetPreview(_)
            | Self::Show(_)
            | Self::Follow
            | Self::StartFromShown
            | Self::Look(_)
            | Self::SetTheme(_)
            | Self::DismissError
            | Self::CopyError
            | Self::StopAndClose
            | Self::StayOpen => None,
        }
    }

    /// Whether it can be done now; where not, what is missing.
    ///
    /// # Errors
    /// A sentence for a person that says what is missing.
    pub fn enabled(&self, state: &State) -> Result<(), &'static str> {
        match self {
            Self::Board(BoardCommand::RemedyAgain(index)) => {
                let remedy = state.error.as_ref().and_then(|error| error.remedies.get(*index));
                remedy.map(drop).ok_or("This message is gone.")
            }
            Self::Board(command) => command.enabled(&state.board),
            Self::Models(ModelsCommand::ChooseFolder | ModelsCommand::ChooseRoot) if state.dialog_open => {
                Err("A file dialog is open already.")
            }
            Self::Models(command) => command.enabled(&state.models),
            Self::Memory(command) => command.enabled(state),
            Self::Generate => state.ready(),
            Self::Cancel => state.jobs.running().map(drop).ok_or("Nothing is forming now."),
            Self::ClearQueue => state.jobs.waiting().next().map(drop).ok_or("Nothing waits."),
            Self::CancelJob(id) => state.jobs.at_work().find(|job| job.id == *id).map(drop).ok_or("It is over."),
            Self::UseBuiltin if state.builtin.is_err() => Err("The built-in model is not there. Reinstall Atelier to get it back."),
            Self::UseBuiltin => (!state.uses_builtin()).then_some(()).ok_or("The built-in model is in use."),
            Self::UseOwnFiles => state.uses_builtin().then_some(()).ok_or("Your own files are in use."),
            Self::AddFiles | Self::ChooseFile(_) | Self::ChooseStart | Self::ChooseMask | Self::AddLora => {
                (!state.dialog_open).then_some(()).ok_or("A file dialog is open already.")
            }
            Self::SaveAs => {
                state.session.shown().map(drop).ok_or("There is no picture yet.")?;
                (!state.dialog_open).then_some(()).ok_or("A file dialog is open already.")
            }
            Self::UseSettings | Self::StartFromShown | Self::CopyPicture => {
                state.session.shown().map(drop).ok_or("There is no picture yet.")
            }
            Self::Newer => state.session.newer().map(drop).ok_or("This is the newest picture."),
            Self::Older => state.session.older().map(drop).ok_or("This is the oldest picture."),
            Self::ZoomIn | Self::ZoomOut | Self::ZoomFit | Self::ZoomActual => {
                state.canvas_size_px().map(drop).ok_or("There is no picture yet.")
            }
            Self::CopyError | Self::DismissError => state.error.as_ref().map(drop).ok_or("There is no message."),
            Self::Go(_)
            | Self::Follow
            | Self::FocusPrompt
            | Self::ChangeRecipe(_)
            | Self::TryPrompt(_)
            | Self::SwapSides
            | Self::RollSeed
            | Self::LockSeed
            | Self::ClearFile(_)
            | Self::MoveFile(..)
            | Self::TakePaths(_)
            | Self::PlaceFile(..)
            | Self::TypePath(_)
            | Self::ClearStart
            | Self::ClearMask
            | Self::SetPreview(_)
            | Self::Show(_)
            | Self::OpenFolder
            | Self::Look(_)
            | Self::SetTheme(_)
            | Self::StopAndClose
            | Self::StayOpen => Ok(()),
        }
    }
}

/// What the panels ask for in one frame, in order.
#[derive(Debug, Default)]
pub struct Commands(Vec<Command>);

impl Commands {
    /// Asks for this.
    pub fn push(&mut self, command: Command) {
        self.0.push(command);
    }

    /// What was asked, in order.
    #[must_use]
    pub fn into_vec(self) -> Vec<Command> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_shortcuts_is_complete_and_no_key_is_used_twice() {
        let mut keys = Vec::new();
        for command in Command::WITH_SHORTCUT {
            let shortcut = command.shortcut().unwrap_or_else(|| panic!("{} has no shortcut", command.label()));
            assert!(!keys.contains(&shortcut.keys), "{} shares its key", command.label());
            keys.push(shortcut.keys);
        }
    }

    #[test]
    fn keys_that_write_text_do_nothing_while_typing() {
        for command in Command::WITH_SHORTCUT {
            let Some(shortcut) = command.shortcut() else { continue };
            let writes = shortcut.keys.modifiers == Modifiers::NONE && shortcut.keys.logical_key != Key::Escape;
            assert!(!(writes && shortcut.while_typing), "{}", command.label());
        }
    }
}
