//! Commands for resident models, each with its label, tooltip and enabled state. Their effects are
//! in [`crate::gui::memory::update`].

use crate::gui::feature_command::FeatureCommand;
use crate::gui::memory::state::State;
use crate::gui::shared::Shared;
use atelier_core::cpu_math::CpuMath;
use atelier_core::placement::Reserve;
use atelier_engine::ResidentId;
use atelier_language::tr;

/// Command for resident models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Choose this model for the next picture.
    Use(ResidentId),
    /// Choose the model of this place among those that were used before.
    UseRecent(usize),
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
            Self::Use(_) | Self::UseRecent(_) => (tr!("memory-use-this-model"), tr!("memory-switch-to-this-model")),
            Self::Keep(_, true) => (tr!("memory-keep-in-memory"), tr!("memory-keep-this-model-in")),
            Self::Keep(_, false) => (tr!("memory-no-longer-keep-in"), tr!("memory-kept-in-memory-press")),
            Self::Unload(_) => (tr!("memory-unload"), tr!("memory-free-the-memory-of")),
            Self::UnloadAll => (tr!("memory-unload-all"), tr!("memory-free-the-memory-of-all-models")),
            Self::SetPreload(_) => (tr!("memory-load-ahead"), tr!("memory-load-the-chosen-model")),
            Self::SetReserve(_) => (tr!("memory-leave-free"), tr!("memory-memory-of-each-gpu")),
            Self::SetCpuMath(_) => (tr!("memory-cpu-arithmetic"), tr!("memory-cpu-arithmetic-from-the")),
        }
    }

    fn enabled(&self, _: &State, shared: &Shared) -> Result<(), &'static str> {
        let resident =
            |id: &ResidentId| shared.residency.models.iter().find(|model| model.id == *id).ok_or(tr!("memory-no-longer-in-memory"));
        match self {
            Self::Use(id) => (!shared.next.is_chosen(&resident(id)?.files)).then_some(()).ok_or(tr!("memory-already-in-use-for")),
            Self::UseRecent(at) => {
                let recent = shared.next.recent_recipes.recipes().get(*at);
                recent.filter(|it| !shared.next.is_chosen(&it.files)).map(drop).ok_or(tr!("memory-already-in-use-for"))
            }
            Self::Keep(id, _) => resident(id).map(drop),
            Self::Unload(id) => (!resident(id)?.in_use).then_some(()).ok_or(tr!("memory-a-picture-is-being")),
            Self::UnloadAll => {
                shared.residency.models.iter().any(|model| !model.in_use).then_some(()).ok_or(tr!("memory-there-is-nothing-to"))
            }
            Self::SetPreload(_) | Self::SetReserve(_) | Self::SetCpuMath(_) => Ok(()),
        }
    }
}
