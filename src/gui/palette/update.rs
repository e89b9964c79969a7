//! Effects of the command palette's commands.

use crate::gui::command;
use crate::gui::context::Context;
use crate::gui::palette::command::Command;
use crate::gui::palette::state::State;

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::Open => (state.is_open, state.search, state.chosen) = (true, String::new(), 0),
        Command::Close => state.is_open = false,
        Command::Search(search) => (state.search, state.chosen) = (search, 0),
        Command::Choose(chosen) => state.chosen = chosen,
        Command::Run(index) => {
            state.is_open = false;
            if let Some(command) = command::Command::all().into_iter().nth(index) {
                state.remember(command.remembered_name());
                context.follow_up(command);
            }
        }
        Command::ShowShortcuts(shows) => state.shows_shortcuts = shows,
    }
}
