//! Commands for resident models, each with its label, tooltip and enabled state. Their effects are in [`crate::gui::memory::update`].

use crate::gui::feature_command::FeatureCommand;
use crate::gui::memory::state::State;
use crate::gui::shared::Shared;
use atelier_core::cpu_math::CpuMath;
use atelier_core::placement::Reserve;
use atelier_engine::ResidentId;

/// Command for resident models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Choose this model for the next picture.
    Use(ResidentId),
    /// Protect a model from eviction, or no longer.
    Keep(ResidentId, bool),
    /// Free a model's memory.
    Unload(ResidentId),
    /// Free the memory of every model that no picture uses.
    UnloadAll,
    /// Switch preloading on or off.
    SetPreload(bool),
    /// Set the memory of each device that is left to other programs.
    SetReserve(Reserve),
    /// Set how the processor computes.
    SetCpuMath(Option<CpuMath>),
}

impl FeatureCommand for Command {
    type State = State;

    const OFFERED: &'static [Self] = &[Self::UnloadAll];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Use(_) => ("Use this model", "Go on with this model. It is in memory, so its next picture waits for nothing."),
            Self::Keep(_, true) => ("Keep in memory", "Keep this model in memory, whatever others need."),
            Self::Keep(_, false) => ("No longer keep in memory", "Kept in memory. Press to let it go when others need the room."),
            Self::Unload(_) => ("Unload", "Give its memory back. It is loaded again when a picture needs it."),
            Self::UnloadAll => ("Unload all", "Give back the memory of every model that no picture is being made with."),
            Self::SetPreload(_) => ("Load ahead", "Load the chosen model before a picture is asked for, so that Generate waits less."),
            Self::SetReserve(_) => {
                ("Leave free", "How much of each graphics card is left to other programs. Of RAM, 2 GiB or a tenth always stay free.")
            }
            Self::SetCpuMath(_) => (
                "Processor",
                "How the processor computes, from the next start of Atelier on. Exact is the engine's own code; the others are up to several \
                 times as fast, and their pictures differ by what nobody sees.",
            ),
        }
    }

    fn enabled(&self, _: &State, shared: &Shared) -> Result<(), &'static str> {
        let resident =
            |id: &ResidentId| shared.residency.models.iter().find(|model| model.id == *id).ok_or("It is not in memory any more.");
        match self {
            Self::Use(id) => (!shared.next.is_chosen(&resident(id)?.files)).then_some(()).ok_or("It is in use for the next picture."),
            Self::Keep(id, _) => resident(id).map(drop),
            Self::Unload(id) => (!resident(id)?.in_use).then_some(()).ok_or("A picture is being made with it. Cancel that first, or wait."),
            Self::UnloadAll => shared.residency.models.iter().any(|model| !model.in_use).then_some(()).ok_or("There is nothing to unload."),
            Self::SetPreload(_) | Self::SetReserve(_) | Self::SetCpuMath(_) => Ok(()),
        }
    }
}
