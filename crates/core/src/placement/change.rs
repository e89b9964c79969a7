//! Changes to a recipe or a placement, as the planner proposes them.

use std::fmt;
use std::path::PathBuf;

use atelier_language::tr;
use serde::{Deserialize, Serialize};

use super::needs::Needs;
use super::value::WeightLocation;
use crate::format::memory_size;
use crate::module::Module;
use crate::recipe::{FamilySetting, FileRole, Recipe, TensorType, TensorTypeRules};

/// A change to a recipe or a placement. Its text is an instruction: "Decode in tiles".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Decode in tiles.
    VaeTiling,
    /// Move pinned weights.
    Weights {
        /// Module of the weights.
        module: Module,
        /// New location.
        location: WeightLocation,
    },
    /// Move pinned weights to RAM, from where they are copied piece by piece.
    Pieces {
        /// Module of the weights.
        module: Module,
    },
    /// Raise a budget.
    Budget {
        /// Whole name of the device.
        device: String,
        /// New budget in GiB.
        gib: f64,
    },
    /// Run a pinned module on another device.
    RunsOn {
        /// The module.
        module: Module,
        /// Whole name of the new device.
        device: String,
    },
    /// Another file for a module, with smaller weights.
    Quantisation {
        /// Module of the file.
        module: Module,
        /// Name of the other file.
        name: String,
    },
    /// Convert a module's weights as they are loaded.
    WeightType {
        /// Module of the weights: one whose weights have a pattern
        /// ([`TensorTypeRules::pattern_of`]).
        module: Module,
        /// Their type in memory.
        weight_type: TensorType,
        /// What they take then.
        bytes: u64,
    },
    /// Scale the convolutions of SDXL's VAE.
    VaeConvScale,
    /// No flash attention.
    FlashAttentionOff,
    /// The model's own noise schedule.
    OwnSchedule,
    /// Without a setting that the model does not use.
    Unset {
        /// The setting.
        setting: FamilySetting,
    },
    /// Without the LoRA whose file has this name.
    WithoutLora {
        /// Name of the file.
        name: String,
    },
    /// A smaller picture.
    Size {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
}

impl Change {
    /// Applies the change to a recipe; changes of the placement leave it as it is.
    pub fn apply(&self, recipe: &mut Recipe) {
        match self {
            Self::VaeTiling => recipe.vae_tiling = true,
            Self::VaeConvScale => recipe.vae_conv_scale = true,
            Self::FlashAttentionOff => recipe.flash_attention = false,
            Self::OwnSchedule => recipe.scheduler = None,
            Self::Unset { setting } => {
                setting.unset(recipe);
            }
            Self::WithoutLora { name } => recipe.loras.retain(|lora| lora.path.file_name().is_none_or(|it| it != name.as_str())),
            Self::Size { width, height } => (recipe.width, recipe.height) = (*width, *height),
            Self::Quantisation { module, name } => {
                if let Some((role, path)) = alternative_file(recipe, *module, name) {
                    recipe.files.set(role, path);
                }
            }
            Self::WeightType { module, weight_type, .. } => {
                if let Some(pattern) = TensorTypeRules::pattern_of(*module) {
                    recipe.tensor_type_rules.set(pattern, *weight_type);
                }
            }
            Self::Weights { .. } | Self::Pieces { .. } | Self::Budget { .. } | Self::RunsOn { .. } => {}
        }
    }

    /// True where it is about the machine: devices and what is on them.
    #[must_use]
    pub const fn is_placement(&self) -> bool {
        matches!(self, Self::Weights { .. } | Self::Pieces { .. } | Self::Budget { .. } | Self::RunsOn { .. })
    }

    /// Rank by loss: first invisible changes, then slower ones, then those that make another
    /// picture.
    pub(super) const fn loss(&self) -> u32 {
        match self {
            Self::VaeTiling => 1,
            Self::Weights { location: WeightLocation::Device(_), .. } => 2,
            Self::Budget { .. } => 3,
            Self::Pieces { .. } => 4,
            Self::RunsOn { .. } => 5,
            Self::Weights { location: WeightLocation::Disk, .. } => 6,
            Self::Quantisation { .. }
            | Self::WeightType { .. }
            | Self::VaeConvScale
            | Self::FlashAttentionOff
            | Self::OwnSchedule
            | Self::Unset { .. } => 7,
            Self::Size { .. } | Self::WithoutLora { .. } => 8,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VaeTiling => f.write_str(tr!("core-decode-in-tiles-vae")),
            Self::Weights { module, location: WeightLocation::Disk } => {
                write!(f, "{}", tr!("core-read-the-weights-of", noun = module.noun()))
            }
            Self::Weights { module, location: WeightLocation::Device(name) } => {
                write!(f, "{}", tr!("core-keep-the-weights-of", noun = module.noun(), name))
            }
            Self::Pieces { module } => write!(f, "{}", tr!("core-stream-the-weights-of", noun = module.noun())),
            Self::Budget { device, gib } => write!(f, "{}", tr!("core-raise-the-budget-of", device, gib)),
            Self::RunsOn { module, device } => write!(f, "{}", tr!("core-run-the-on", noun = module.noun(), device)),
            Self::Quantisation { module, name } => write!(f, "{}", tr!("core-use-for-the", name, noun = module.noun())),
            Self::WeightType { module, weight_type, bytes } => {
                let loss = if *weight_type == TensorType::Q8_0 { tr!("core-a-little-less-exact") } else { tr!("core-less-exact") };
                write!(f, "{}", tr!("core-load-the-as", noun = module.noun(), weight_type, bytes = memory_size(*bytes), loss))
            }
            Self::VaeConvScale => f.write_str(tr!("core-scale-the-vaes-convolutions")),
            Self::FlashAttentionOff => f.write_str(tr!("core-turn-off-flash-attention")),
            Self::OwnSchedule => f.write_str(tr!("core-use-the-models-own")),
            Self::Unset { setting } => write!(f, "{}", tr!("core-turn-off", name = setting.name())),
            Self::WithoutLora { name } => write!(f, "{}", tr!("core-remove", name)),
            Self::Size { width, height } => write!(f, "{}", tr!("core-make-the-picture", width, height)),
        }
    }
}

/// Role and path of the file `name` in the folder of the module's file that it replaces: the one
/// with the longest common beginning of the name.
fn alternative_file(recipe: &Recipe, module: Module, name: &str) -> Option<(FileRole, PathBuf)> {
    let common = |other: &str| other.chars().zip(name.chars()).take_while(|(one, other)| one == other).count();
    let files = recipe.files.iter().filter(|(role, _)| role.module() == module);
    let named = files.filter_map(|(role, path)| Some((role, path, path.file_name()?.to_str()?)));
    let (role, path, _) = named.max_by_key(|(_, _, other)| common(other))?;
    Some((role, path.with_file_name(name)))
}

/// A variant of the recipe that needs other memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Differences from the recipe.
    pub changes: Vec<Change>,
    /// Memory needs of the variant.
    pub needs: Needs,
}
