//! Settings that broke pictures, by model and device: once is enough for them to be avoided there.

use serde::{Deserialize, Serialize};

use atelier_core::device::Device;
use atelier_core::picture_note::PictureNote;
use atelier_core::placement::{Change, Module, Placement};
use atelier_core::recipe::{FileRole, Recipe};
use atelier_library::Family;

/// Pairs that are remembered.
const MAX_FAULTS: usize = 200;

/// A setting that broke a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FaultySetting {
    /// Flash attention on the diffusion module's device.
    FlashAttention,
    /// Half precision in a VAE of SDXL without scaled convolutions.
    VaeRange,
}

/// A setting that broke a picture of a model on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Fault {
    setting: FaultySetting,
    /// Name of the file that computed, without folders.
    file: String,
    file_bytes: u64,
    device: String,
    /// What its maker calls the device: another card may get the name.
    description: String,
}

/// Settings that broke pictures, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Faults(Vec<Fault>);

impl FaultySetting {
    /// The setting that most probably broke a picture of this recipe; `None` where it is the model itself.
    pub(crate) fn of(recipe: &Recipe, family: Family) -> Option<Self> {
        if recipe.flash_attention { Some(Self::FlashAttention) } else { is_vae_at_risk(recipe, family).then_some(Self::VaeRange) }
    }

    const fn module(self) -> Module {
        match self {
            Self::FlashAttention => Module::Diffusion,
            Self::VaeRange => Module::Vae,
        }
    }
}

/// Changes that may mend a picture of one colour, the most likely first. `in_tiles`: it is decoded in tiles, or cannot be.
pub(crate) fn remedies(recipe: &Recipe, family: Family, in_tiles: bool, other_files: Vec<Change>) -> Vec<Change> {
    let mut remedies = Vec::new();
    if recipe.flash_attention {
        remedies.push(Change::FlashAttentionOff);
    }
    if is_vae_at_risk(recipe, family) {
        remedies.push(Change::VaeConvScale);
    }
    remedies.extend(other_files);
    if !in_tiles {
        remedies.push(Change::VaeTiling);
    }
    remedies
}

/// SDXL's own VAE overflows in half precision. The engine scales the convolutions of one inside the model's file by itself.
fn is_vae_at_risk(recipe: &Recipe, family: Family) -> bool {
    family == Family::Sdxl && recipe.files.get(FileRole::Vae).is_some() && !recipe.vae_conv_scale
}

impl Faults {
    /// Remembers that this setting broke a picture. Returns true if it was not known.
    pub(crate) fn add(&mut self, setting: FaultySetting, recipe: &Recipe, placement: &Placement, devices: &[Device]) -> bool {
        let Some(fault) = fault(setting, recipe, placement, devices).filter(|fault| !self.0.contains(fault)) else { return false };
        if self.0.len() >= MAX_FAULTS {
            self.0.remove(0);
        }
        self.0.push(fault);
        true
    }

    /// Changes a recipe so that nothing is used that broke its model on its device before; a note says what was changed.
    pub(crate) fn avoid(&self, recipe: &mut Recipe, family: Family, placement: &Placement, devices: &[Device]) -> Vec<PictureNote> {
        let known = |setting, recipe: &Recipe| fault(setting, recipe, placement, devices).is_some_and(|fault| self.0.contains(&fault));
        let device = |setting: FaultySetting| &placement.assignment(setting.module()).runs_on;
        let mut notes = Vec::new();
        if recipe.flash_attention && known(FaultySetting::FlashAttention, recipe) {
            recipe.flash_attention = false;
            let device = device(FaultySetting::FlashAttention);
            notes.push(PictureNote::changed(format!(
                "Flash attention is off: this model made a single-colour picture with it on {device} before."
            )));
        }
        if is_vae_at_risk(recipe, family) && known(FaultySetting::VaeRange, recipe) {
            recipe.vae_conv_scale = true;
            let device = device(FaultySetting::VaeRange);
            notes.push(PictureNote::changed(format!(
                "The VAE's convolutions are scaled (safe range): it made a single-colour picture on {device} before."
            )));
        }
        notes
    }
}

fn fault(setting: FaultySetting, recipe: &Recipe, placement: &Placement, devices: &[Device]) -> Option<Fault> {
    let path = match setting {
        FaultySetting::FlashAttention => recipe.files.main(),
        FaultySetting::VaeRange => recipe.files.get(FileRole::Vae),
    }?;
    let device = placement.assignment(setting.module()).runs_on.clone();
    let description = devices.iter().find(|it| it.name == device).map(|it| it.description.clone()).unwrap_or_default();
    Some(Fault {
        setting,
        file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        file_bytes: path.metadata().map_or(0, |file| file.len()),
        device,
        description,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe() -> Recipe {
        let mut recipe = Recipe::default();
        recipe.files.set(FileRole::Model, "/m/xl.safetensors");
        recipe.files.set(FileRole::Vae, "/m/vae.safetensors");
        recipe
    }

    #[test]
    fn a_setting_that_broke_a_model_on_a_device_is_avoided_there_and_nowhere_else() {
        let (gpu, cpu) = (Placement::all_on("GPU0"), Placement::all_on("CPU"));
        let mut faults = Faults::default();
        assert_eq!(FaultySetting::of(&recipe(), Family::Sdxl), Some(FaultySetting::FlashAttention));
        assert!(faults.add(FaultySetting::FlashAttention, &recipe(), &gpu, &[]));
        assert!(!faults.add(FaultySetting::FlashAttention, &recipe(), &gpu, &[]), "once is enough");
        let avoid = |recipe: &mut Recipe, placement: &Placement| faults.avoid(recipe, Family::Sdxl, placement, &[]).len();
        let mut here = recipe();
        assert_eq!((avoid(&mut here, &gpu), here.flash_attention), (1, false));
        assert_eq!(avoid(&mut here, &gpu), 0, "it is off already");
        assert_eq!(avoid(&mut recipe(), &cpu), 0);
        let mut other = recipe();
        other.files.set(FileRole::Model, "/m/other.safetensors");
        assert_eq!(avoid(&mut other, &gpu), 0);
    }

    #[test]
    fn without_flash_attention_the_vae_of_sdxl_is_next_and_then_nothing() {
        let mut recipe = Recipe { flash_attention: false, ..recipe() };
        assert_eq!(FaultySetting::of(&recipe, Family::Sdxl), Some(FaultySetting::VaeRange));
        assert_eq!(FaultySetting::of(&recipe, Family::Flux), None);
        let mut faults = Faults::default();
        faults.add(FaultySetting::VaeRange, &recipe, &Placement::all_on("GPU0"), &[]);
        assert_eq!(faults.avoid(&mut recipe, Family::Sdxl, &Placement::all_on("GPU0"), &[]).len(), 1);
        assert!(recipe.vae_conv_scale);
        assert_eq!(FaultySetting::of(&recipe, Family::Sdxl), None);
        assert_eq!(remedies(&recipe, Family::Sdxl, true, Vec::new()), []);
        let all = remedies(&self::recipe(), Family::Sdxl, false, Vec::new());
        assert_eq!(all, [Change::FlashAttentionOff, Change::VaeConvScale, Change::VaeTiling]);
    }
}
