//! Effects of the command palette's commands.

use crate::gui::context::Context;
use crate::gui::palette::command::Command;
use crate::gui::palette::state::State;

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, _: &mut Context<'_>) {
    match command {
        Command::Open => *state = State { is_open: true, ..State::default() },
        Command::Close => *state = State::default(),
        Command::Search(search) => (state.search, state.chosen) = (search, 0),
        Command::Choose(chosen) => state.chosen = chosen,
    }
}
