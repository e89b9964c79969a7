//! Commands for resident models, each with its label, tooltip and enabled state. Their effects are
//! in [`crate::gui::memory::update`].

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
            Self::Use(_) => ("Use this model", "Switch to this model. It is in memory, so generating starts immediately."),
            Self::Keep(_, true) => ("Keep in memory", "Keep this model in memory, even if others need the memory."),
            Self::Keep(_, false) => ("No longer keep in memory", "Kept in memory. Press to allow unloading when others need the memory."),
            Self::Unload(_) => ("Unload", "Free the memory of this model. It is loaded again when needed."),
            Self::UnloadAll => ("Unload all", "Free the memory of all models that are not in use."),
            Self::SetPreload(_) => ("Load ahead", "Load the chosen model in advance, so that generating starts sooner."),
            Self::SetReserve(_) => {
                ("Leave free", "Memory of each GPU to leave to other programs. Of RAM, 2 GiB or a tenth always stays free.")
            }
            Self::SetCpuMath(_) => (
                "CPU arithmetic",
                "CPU arithmetic, from the next start of Atelier. Exact is the engine's own code; f32 and bf16 are up to several \
                 times as fast, and their pictures differ invisibly.",
            ),
        }
    }

    fn enabled(&self, _: &State, shared: &Shared) -> Result<(), &'static str> {
        let resident = |id: &ResidentId| shared.residency.models.iter().find(|model| model.id == *id).ok_or("No longer in memory.");
        match self {
            Self::Use(id) => (!shared.next.is_chosen(&resident(id)?.files)).then_some(()).ok_or("Already in use for the next picture."),
            Self::Keep(id, _) => resident(id).map(drop),
            Self::Unload(id) => {
                (!resident(id)?.in_use).then_some(()).ok_or("A picture is being generated with this model. Cancel that job first, or wait.")
            }
            Self::UnloadAll => shared.residency.models.iter().any(|model| !model.in_use).then_some(()).ok_or("There is nothing to unload."),
            Self::SetPreload(_) | Self::SetReserve(_) | Self::SetCpuMath(_) => Ok(()),
        }
    }
}
