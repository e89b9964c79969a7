//! The menu of a picture: what can be done with it, in groups.

use eframe::egui::{Response, Ui};

use crate::gui::canvas;
use crate::gui::canvas::tool::Tool;
use crate::gui::command::{self, Commands};
use crate::gui::create::Command;
use crate::gui::create::session::SessionPictureId;
use crate::gui::state::State;
use crate::gui::widgets::menu_entry;

/// What can be done with a picture, on a right click. `of`: the picture that is meant; `None`: the
/// one shown.
pub(super) fn picture_menu(state: &State, commands: &mut Commands, response: &Response, of: Option<SessionPictureId>) {
    response.context_menu(|ui| {
        let mut chosen = Commands::default();
        picture_entries(ui, state, &mut chosen, of);
        let tools = [Tool::Brush, Tool::Mask, Tool::Frame].map(|tool| canvas::Command::SetTool(tool).into());
        more_entries(ui, state, &mut chosen, tools);
        if of.is_none() {
            more_entries(ui, state, &mut chosen, [Command::ZoomFit, Command::ZoomActual].map(command::Command::from));
        }
        let chosen = chosen.into_vec();
        if !chosen.is_empty() {
            commands.push(Command::PointAt(of));
        }
        for command in chosen {
            commands.push(command);
        }
    });
}

/// Draws the entries of this picture, or of the one shown. Those that were chosen go into
/// `commands`.
pub(super) fn picture_entries(ui: &mut Ui, state: &State, commands: &mut Commands, of: Option<SessionPictureId>) {
    let mut before = None;
    let session = &state.create.session;
    let picture = of.map_or_else(|| session.shown(), |id| session.get(id));
    let is_draft = picture.is_some_and(|it| it.recipe.draft_step().is_some());
    for command in Command::OF_PICTURE.into_iter().filter(|it| is_draft || *it != Command::FinishDraft) {
        let group = group(&command);
        if before.replace(group).is_some_and(|before| before != group) {
            ui.separator();
        }
        menu_entry(ui, state, commands, command);
    }
}

/// Draws these entries below a line.
pub(super) fn more_entries(ui: &mut Ui, state: &State, commands: &mut Commands, entries: impl IntoIterator<Item = command::Command>) {
    ui.separator();
    for command in entries {
        menu_entry(ui, state, commands, command);
    }
}

/// Number of the group of an entry; neighbours of one number have no line between them.
const fn group(command: &Command) -> u8 {
    match command {
        Command::Recall(_) => 1,
        Command::StartFromShown | Command::ReferenceShown => 2,
        Command::Upscale(_) | Command::FinishDraft => 3,
        Command::CopyPicture | Command::SaveAs | Command::OpenFolder => 4,
        Command::Trash => 5,
        _ => 0,
    }
}
