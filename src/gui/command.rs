//! Everything that a person can ask of the window: the features' commands, and those of the window
//! itself.
//!
//! A command owns its label, tooltip, shortcut and when it is enabled, so that buttons, menus and
//! keys cannot drift apart. Its effect is in its feature's `update`; nothing here changes anything.

use atelier_language::tr;
use eframe::egui::{Context, Key, KeyboardShortcut, Modifiers};

use crate::gui::create::command::PICTURE_KEYS;
use crate::gui::create::panel_setting::{PANEL_SETTINGS, PanelSetting};
use crate::gui::feature_command::FeatureCommand as _;
use crate::gui::gallery::command::PLAIN_KEYS;
use crate::gui::screen::Screen;
use crate::gui::shortcut::Shortcut;
use crate::gui::state::State;
use crate::gui::window_command::WindowCommand;
use crate::gui::{
    canvas, create, devices, gallery, grid, guides, live, memory, models, palette, phrases, program, queue, sharing, studios, styles,
};

/// A command to the window.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    Create(create::Command),
    Devices(devices::Command),
    Models(models::Command),
    Gallery(gallery::Command),
    Canvas(canvas::Command),
    Grid(grid::Command),
    Guides(guides::Command),
    Styles(styles::Command),
    Live(live::Command),
    Memory(memory::Command),
    Palette(palette::Command),
    Phrases(phrases::Command),
    Program(program::Command),
    Queue(queue::Command),
    Sharing(sharing::Command),
    Studios(studios::Command),
    Window(WindowCommand),
}

/// What is the same for each feature: its name here, and its module.
macro_rules! features {
    ($($Feature:ident $module:ident),*) => {
        $(impl From<$module::Command> for Command {
            fn from(command: $module::Command) -> Self {
                Self::$Feature(command)
            }
        })*

        impl Command {
            /// Commands without a key that features offer in the command palette.
            fn offered_by_features() -> impl Iterator<Item = Self> {
                std::iter::empty()$(.chain($module::Command::OFFERED.iter().cloned().map(Self::$Feature)))*
            }

            /// Commands of features that have a key.
            fn keys_of_features() -> impl Iterator<Item = (Self, Shortcut)> + Clone {
                std::iter::empty()$(.chain($module::Command::KEYS.iter().map(|(command, key)| (Self::$Feature(command.clone()), *key))))*
            }

            /// The words on its button or menu entry, which are its accessible name too.
            #[must_use]
            pub(crate) fn label(&self) -> &'static str {
                match self {
                    $(Self::$Feature(command) => command.label(),)*
                    Self::Window(command) => command.label(),
                }
            }

            /// Its effect, in a sentence.
            #[must_use]
            pub(crate) fn tooltip(&self) -> &'static str {
                match self {
                    $(Self::$Feature(command) => command.tooltip(),)*
                    Self::Window(command) => command.tooltip(),
                }
            }

            /// `Ok` if it can be done now.
            ///
            /// # Errors
            /// The sentence about the first thing that is missing.
            pub(crate) fn enabled(&self, state: &State) -> Result<(), &'static str> {
                match self {
                    $(Self::$Feature(command) => command.enabled(&state.$module, &state.shared),)*
                    Self::Window(command) => command.enabled(&state.shared),
                }
            }
        }
    };
}

features!(Create create, Devices devices, Models models, Gallery gallery, Canvas canvas, Grid grid, Guides guides, Styles styles, Live live, Memory memory, Palette palette, Phrases phrases, Program program, Queue queue, Sharing sharing, Studios studios);

impl From<WindowCommand> for Command {
    fn from(command: WindowCommand) -> Self {
        Self::Window(command)
    }
}

impl Command {
    /// Every command that needs nothing more to be said: those with a key first.
    pub(crate) fn all() -> Vec<Self> {
        let keys = Self::with_keys().map(|(command, _)| command);
        let gallery = PLAIN_KEYS.iter().map(|(_, command)| Self::Gallery(command.clone()));
        let pictures = PICTURE_KEYS.iter().map(|(.., command)| Self::Create(command.clone()));
        let window = WindowCommand::OFFERED.iter().copied().map(Self::Window);
        let mut all: Vec<Self> = Vec::new();
        let settings = (0..PANEL_SETTINGS.len()).map(|number| Self::Create(create::Command::ShowSetting(number)));
        for command in keys.chain(pictures).chain(gallery).chain(Self::offered_by_features()).chain(window).chain(settings) {
            if !all.contains(&command) {
                all.push(command);
            }
        }
        all
    }

    /// The name by which it is remembered over a restart, in no language. A version that names it
    /// otherwise has forgotten it.
    pub(crate) fn remembered_name(&self) -> String {
        let setting = match self {
            // Rows come and go between versions, and numbers with them.
            Self::Create(create::Command::ShowSetting(number)) => PANEL_SETTINGS.get(*number).map(PanelSetting::id),
            _ => None,
        };
        setting.map_or_else(|| format!("{self:?}"), str::to_owned)
    }

    /// Every command that has a key, in the order of the program.
    fn with_keys() -> impl Iterator<Item = (Self, Shortcut)> + Clone {
        let screens = Screen::ALL.iter().map(|screen| (WindowCommand::SetScreen(*screen).into(), screen.shortcut()));
        let window = WindowCommand::KEYS.iter().map(|(command, key)| (Self::Window(*command), *key));
        screens.chain(window).chain(Self::keys_of_features())
    }

    /// Every command that has a key. Those with more modifiers come before those with fewer.
    pub(crate) fn keys() -> impl Iterator<Item = (Self, Shortcut)> {
        let all = Self::with_keys();
        let has_several = |(_, shortcut): &(Self, Shortcut)| {
            let Modifiers { alt, ctrl, shift, command, .. } = shortcut.keys.modifiers;
            shift && (alt || ctrl || command)
        };
        all.clone().filter(has_several).chain(all.filter(move |key| !has_several(key)))
    }

    /// The part of the program that it belongs to.
    #[must_use]
    pub(crate) fn group(&self) -> &'static str {
        match self {
            Self::Window(_) | Self::Palette(_) | Self::Program(_) | Self::Sharing(_) | Self::Studios(_) => tr!("window-window"),
            Self::Create(_) | Self::Grid(_) | Self::Guides(_) | Self::Styles(_) | Self::Live(_) | Self::Phrases(_) => tr!("window-create"),
            Self::Canvas(_) => tr!("window-canvas"),
            Self::Devices(_) | Self::Memory(_) => tr!("window-devices"),
            Self::Models(_) => tr!("window-models"),
            Self::Gallery(_) => tr!("window-gallery"),
            Self::Queue(_) => tr!("window-queue"),
        }
    }

    /// Its key, where it has one.
    #[must_use]
    pub(crate) fn shortcut(&self) -> Option<Shortcut> {
        Self::keys().find(|(command, _)| command == self).map(|(_, key)| key)
    }

    /// Its key in words; empty where it has none.
    #[must_use]
    pub(crate) fn key_text(&self, ctx: &Context) -> String {
        if let Some(shortcut) = self.shortcut() {
            return keys_text(ctx, shortcut.keys);
        }
        // What a key of the window means on a canvas has that key.
        match self {
            Self::Canvas(canvas::Command::Undo) => return Self::from(WindowCommand::Undo).key_text(ctx),
            Self::Canvas(canvas::Command::Redo) => return Self::from(WindowCommand::Redo).key_text(ctx),
            Self::Canvas(canvas::Command::Save) => return Self::from(create::Command::SaveAs).key_text(ctx),
            _ => {}
        }
        if let Self::Create(command) = self {
            let key = PICTURE_KEYS.iter().find(|(.., it)| it == command);
            return key.map(|(modifiers, key, _)| keys_text(ctx, KeyboardShortcut::new(*modifiers, *key))).unwrap_or_default();
        }
        let Self::Gallery(command) = self else { return String::new() };
        PLAIN_KEYS.iter().find(|(_, it)| it == command).map(|(key, _)| key.name().to_owned()).unwrap_or_default()
    }

    /// The command that this one means now: while a canvas is shown, some mean the canvas; while
    /// the picture follows, some mean that.
    #[must_use]
    pub(crate) fn redirected(self, state: &State) -> Self {
        let is_create = state.shared.screen == Screen::Create;
        match self {
            Self::Window(WindowCommand::Find) => {
                return match state.shared.screen {
                    Screen::Models => models::Command::FocusSearch.into(),
                    Screen::Gallery => gallery::Command::FocusSearch.into(),
                    Screen::Create | Screen::Devices => palette::Command::Open.into(),
                };
            }
            // The settings are those of a job that waits, and not of a further picture.
            Self::Create(create::Command::Generate) if is_saving_job(state) => return queue::Command::SaveEdit.into(),
            Self::Create(create::Command::Generate) if is_create && state.live.is_on => return live::Command::Follow.into(),
            Self::Create(create::Command::Generate) if state.shared.is_queue_standing() => return queue::Command::Resume.into(),
            _ if !is_create => return self,
            Self::Canvas(canvas::Command::Accept) if state.live.has_result() => return live::Command::Accept.into(),
            Self::Window(WindowCommand::Undo) if state.create.trash_is_last => return create::Command::BringBack.into(),
            _ => {}
        }
        if state.canvas.in_sight().is_some() && self == create::Command::SaveAs.into() {
            return canvas::Command::Save.into();
        }
        if state.canvas.edited().is_none() {
            return self;
        }
        match self {
            Self::Window(WindowCommand::Undo) => canvas::Command::Undo.into(),
            Self::Window(WindowCommand::Redo) => canvas::Command::Redo.into(),
            Self::Create(create::Command::Generate) => canvas::Command::Generate.into(),
            other => other,
        }
    }
}

impl Command {
    /// True where it means the picture that Create shows, and a canvas is looked at in its place.
    #[must_use]
    pub(crate) fn is_of_hidden_picture(&self, state: &State) -> bool {
        let is_of_picture = matches!(self, Self::Create(command) if create::Command::OF_PICTURE.contains(command));
        is_of_picture && state.shared.screen == Screen::Create && state.canvas.looked_at().is_some()
    }
}

/// True while the settings are those of a job of the queue that can still be changed.
fn is_saving_job(state: &State) -> bool {
    queue::Command::SaveEdit.enabled(&state.queue, &state.shared).is_ok()
}

/// Keys in the words of the person's language, with signs as they are on the keyboard.
#[must_use]
pub(crate) fn keys_text(ctx: &Context, keys: KeyboardShortcut) -> String {
    engraved(&english_keys(ctx, keys))
}

/// Keys by their English names, as they are engraved where the person's language is written.
#[must_use]
pub(crate) fn engraved(keys: &str) -> String {
    fn key(name: &str) -> &str {
        match name {
            "Ctrl" => tr!("window-key-ctrl"),
            "Shift" => tr!("window-key-shift"),
            "Delete" => tr!("window-key-delete"),
            "Escape" => tr!("window-key-escape"),
            "Space" => tr!("window-key-space"),
            "Backspace" => tr!("window-key-backspace"),
            "Up" => tr!("window-key-up"),
            "Down" => tr!("window-key-down"),
            "Left" => tr!("window-key-left"),
            "Right" => tr!("window-key-right"),
            other => other,
        }
    }
    keys.split('+').map(key).collect::<Vec<_>>().join("+")
}

fn english_keys(ctx: &Context, keys: KeyboardShortcut) -> String {
    let (name, sign) = (keys.logical_key.name(), keys.logical_key.symbol_or_name());
    let text = ctx.format_shortcut(&keys);
    // The signs of arrows are in no font of ours.
    if matches!(keys.logical_key, Key::ArrowUp | Key::ArrowDown | Key::ArrowLeft | Key::ArrowRight) {
        return text;
    }
    text.strip_suffix(name).map_or_else(|| text.clone(), |before| format!("{before}{sign}"))
}

/// The commands of one frame, in order.
#[derive(Debug, Default)]
pub(crate) struct Commands(Vec<Command>);

impl Commands {
    pub(crate) fn push(&mut self, command: impl Into<Command>) {
        self.0.push(command.into());
    }

    /// Adds these behind the others.
    pub(crate) fn append(&mut self, commands: Self) {
        self.0.extend(commands.0);
    }

    /// The commands, in order.
    #[must_use]
    pub(crate) fn into_vec(self) -> Vec<Command> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_used_twice() {
        let mut keys = Vec::new();
        for (command, shortcut) in Command::keys() {
            assert!(!keys.contains(&shortcut.keys), "{} shares its key", command.label());
            keys.push(shortcut.keys);
        }
        assert_eq!(keys.len(), 85);
    }

    #[test]
    fn a_key_of_a_plus_sign_stays_one() {
        for keys in ["Ctrl++", "Ctrl+Shift+Delete", "+", "A–Z", "F1"] {
            assert_eq!(engraved(keys), keys);
        }
    }

    #[test]
    fn the_palette_offers_each_command_once_and_every_one_with_a_key() {
        let all = Command::all();
        assert!(Command::keys().all(|(command, _)| all.contains(&command)));
        for (at, command) in all.iter().enumerate() {
            assert!(!command.label().is_empty() && !all[..at].contains(command), "{command:?}");
        }
        assert!(all.len() > 110, "{}", all.len());
    }

    #[test]
    fn each_command_is_remembered_by_a_name_of_its_own_which_for_settings_is_no_number() {
        let mut names: Vec<String> = Command::all().iter().map(Command::remembered_name).collect();
        assert!(names.iter().any(|it| it == "create-setting-sampler") && !names.iter().any(|it| it.contains("ShowSetting")));
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn keys_that_write_text_do_nothing_while_typing() {
        for (command, shortcut) in Command::keys() {
            let writes = shortcut.keys.modifiers == Modifiers::NONE
                && ![Key::Escape, Key::F1, Key::F7, Key::F11].contains(&shortcut.keys.logical_key);
            assert!(!(writes && shortcut.while_typing), "{}", command.label());
        }
    }
}
