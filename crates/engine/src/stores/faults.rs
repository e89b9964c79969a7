//! Settings that broke pictures, by model and device.
//!
//! A setting is suspected where a picture of one colour was made with it and with nothing else that
//! may be the cause. The next picture of the same files is made without it: where there is a
//! picture then, the setting is avoided with that file from then on; where there is none either, it
//! is never suspected with these files again. Files are known by their content, and a setting that
//! somebody insists on is left alone.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use atelier_core::device::Device;
use atelier_core::picture_note::PictureNote;
use atelier_core::placement::{Change, Module, Placement};
use atelier_core::recipe::{FileRole, Recipe};
use atelier_language::tr;
use atelier_library::Family;

/// Settings that are remembered.
const MAX_FAULTS: usize = 200;
/// Bytes that are read of a file at each place, and the number of places: models that were trained
/// differ nearly everywhere.
const SAMPLE_BYTES: usize = 16 << 10;
const SAMPLES: u64 = 16;

/// A setting that may break pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FaultySetting {
    /// Flash attention on the diffusion module's device.
    FlashAttention,
    /// Half precision in a VAE of SDXL without scaled convolutions.
    VaeRange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    /// The next picture of the same files is made without it.
    Suspected,
    /// Without it there was a picture.
    Guilty,
    /// Without it there was none either.
    Innocent,
}

/// A setting with a model on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Fault {
    setting: FaultySetting,
    /// Content of the file that computed.
    file: String,
    /// Content of all files of the model.
    files: String,
    device: String,
    /// What its maker calls the device: another card may get the name.
    description: String,
    verdict: Verdict,
}

/// Settings that broke pictures or were suspected, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Faults(Vec<Fault>);

/// What an earlier version kept, which knew files by their names, is left out.
impl<'de> Deserialize<'de> for Faults {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = Vec::<serde_json::Value>::deserialize(deserializer)?;
        Ok(Self(values.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect()))
    }
}

impl FaultySetting {
    const ALL: [Self; 2] = [Self::FlashAttention, Self::VaeRange];

    /// The setting that most probably broke a picture of this recipe; `None` where it is the model
    /// itself, or a file that somebody added to it.
    pub(crate) fn of(recipe: &Recipe, family: Family) -> Option<Self> {
        let is_plain = recipe.loras.is_empty() && recipe.earlier_steps.is_empty() && recipe.used_embeddings().next().is_none();
        Self::ALL.into_iter().find(|setting| is_plain && setting.is_used(recipe, family))
    }

    const fn module(self) -> Module {
        match self {
            Self::FlashAttention => Module::Diffusion,
            Self::VaeRange => Module::Vae,
        }
    }

    /// True where pictures are made with it, and nobody insists on it.
    fn is_used(self, recipe: &Recipe, family: Family) -> bool {
        match self {
            Self::FlashAttention => recipe.flash_attention && !recipe.insists_on_flash_attention,
            Self::VaeRange => is_vae_at_risk(recipe, family),
        }
    }

    /// True where a picture was made without it that could have been made with it.
    fn is_left_out(self, recipe: &Recipe, family: Family) -> bool {
        match self {
            Self::FlashAttention => !recipe.flash_attention,
            Self::VaeRange => has_own_vae(recipe, family) && recipe.vae_conv_scale,
        }
    }

    const fn change(self) -> Change {
        match self {
            Self::FlashAttention => Change::FlashAttentionOff,
            Self::VaeRange => Change::VaeConvScale,
        }
    }
}

/// Changes that may mend a picture of one colour, the most likely first. `in_tiles`: it is decoded
/// in tiles, or cannot be.
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

/// True where SDXL has a VAE in a file of its own, which overflows in half precision. The engine
/// scales the convolutions of one inside the model's file by itself.
fn has_own_vae(recipe: &Recipe, family: Family) -> bool {
    family == Family::Sdxl && recipe.files.get(FileRole::Vae).is_some()
}

fn is_vae_at_risk(recipe: &Recipe, family: Family) -> bool {
    has_own_vae(recipe, family) && !recipe.vae_conv_scale
}

impl Faults {
    /// Has the next picture of these files made without this setting. Returns false where it is
    /// innocent.
    pub(crate) fn suspect(&mut self, setting: FaultySetting, recipe: &Recipe, placement: &Placement, devices: &[Device]) -> bool {
        let Some(fault) = Fault::new(setting, recipe, placement, devices) else { return false };
        if self.0.iter().any(|known| known.is_of_same_files(&fault) && known.verdict != Verdict::Guilty) {
            return false;
        }
        if self.0.len() >= MAX_FAULTS {
            self.0.remove(0);
        }
        self.0.push(fault);
        true
    }

    /// Settles suspicions against settings that a picture was made without. Returns true if there
    /// were any.
    pub(crate) fn judge(&mut self, recipe: &Recipe, family: Family, placement: &Placement, devices: &[Device], is_broken: bool) -> bool {
        let mut has_judged = false;
        if self.0.iter().all(|known| known.verdict != Verdict::Suspected) {
            return false;
        }
        for setting in FaultySetting::ALL.into_iter().filter(|setting| setting.is_left_out(recipe, family)) {
            let Some(fault) = Fault::new(setting, recipe, placement, devices) else { continue };
            let suspected = |known: &&mut Fault| known.verdict == Verdict::Suspected && known.is_of_same_files(&fault);
            if let Some(known) = self.0.iter_mut().find(suspected) {
                known.verdict = if is_broken { Verdict::Innocent } else { Verdict::Guilty };
                has_judged = true;
            }
        }
        has_judged
    }

    /// Changes a recipe so that nothing is used that broke its model on its device before, or is
    /// suspected of it; a note says what was changed.
    pub(crate) fn avoid(&self, recipe: &mut Recipe, family: Family, placement: &Placement, devices: &[Device]) -> Vec<PictureNote> {
        let mut notes = Vec::new();
        for setting in FaultySetting::ALL {
            // Files are read only where something is known of the device.
            let (device, description) = place(setting, placement, devices);
            let is_known = |it: &Fault| it.setting == setting && it.device == device && it.description == description;
            if !setting.is_used(recipe, family) || !self.0.iter().any(is_known) {
                continue;
            }
            let Some(fault) = Fault::new(setting, recipe, placement, devices) else { continue };
            let is_guilty = self.0.iter().any(|known| known.verdict == Verdict::Guilty && known.is_of_same_file(&fault));
            let is_suspected = self.0.iter().any(|known| known.verdict == Verdict::Suspected && known.is_of_same_files(&fault));
            let is_on_trial = is_suspected && FaultySetting::of(recipe, family).is_some();
            if !is_guilty && !is_on_trial {
                continue;
            }
            let what = match setting {
                FaultySetting::FlashAttention => tr!("engine-flash-attention-is-off-2"),
                FaultySetting::VaeRange => tr!("engine-the-vaes-convolutions-are"),
            };
            let why = match (setting, is_guilty) {
                (FaultySetting::FlashAttention, true) => tr!("engine-this-model-made-a", device),
                (FaultySetting::VaeRange, true) => tr!("engine-it-made-a-single", device),
                (_, false) => tr!("engine-the-last-picture-of", device),
            };
            setting.change().apply(recipe);
            notes.push(PictureNote::of_change(setting.change(), format!("{what}: {why}")));
        }
        notes
    }
}

impl Fault {
    /// A suspicion; `None` where a file cannot be read.
    fn new(setting: FaultySetting, recipe: &Recipe, placement: &Placement, devices: &[Device]) -> Option<Self> {
        let path = match setting {
            FaultySetting::FlashAttention => recipe.files.main(),
            FaultySetting::VaeRange => recipe.files.get(FileRole::Vae),
        }?;
        let (device, description) = place(setting, placement, devices);
        let (mut file, mut all) = (String::new(), Sha256::new());
        for (role, of_role) in recipe.files.iter() {
            let content = content(of_role).ok()?;
            all.update(role.key().as_bytes());
            all.update(&content);
            if of_role == path {
                file = content;
            }
        }
        let files = format!("{:x}", all.finalize());
        Some(Self { setting, file, files, device, description, verdict: Verdict::Suspected })
    }

    fn is_of_same_file(&self, other: &Self) -> bool {
        (self.setting, &self.file, &self.device, &self.description) == (other.setting, &other.file, &other.device, &other.description)
    }

    fn is_of_same_files(&self, other: &Self) -> bool {
        self.is_of_same_file(other) && self.files == other.files
    }
}

/// Name and description of the device on which a setting matters.
fn place(setting: FaultySetting, placement: &Placement, devices: &[Device]) -> (String, String) {
    let device = placement.assignment(setting.module()).runs_on.clone();
    let description = devices.iter().find(|it| it.name == device).map(|it| it.description.clone()).unwrap_or_default();
    (device, description)
}

/// Digest of a file's size and of samples of its bytes, which take milliseconds where the whole
/// file takes minutes.
fn content(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let mut hasher = Sha256::new();
    hasher.update(bytes.to_le_bytes());
    let mut sample = Vec::with_capacity(SAMPLE_BYTES);
    for index in 0..SAMPLES {
        file.seek(SeekFrom::Start(bytes / SAMPLES * index))?;
        sample.clear();
        file.by_ref().take(SAMPLE_BYTES as u64).read_to_end(&mut sample)?;
        hasher.update(&sample);
    }
    Ok(format!("{:x}", hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::Lora;
    use std::fs;

    /// A model of these bytes, with a VAE beside it.
    fn recipe(dir: &Path, name: &str, bytes: &[u8]) -> Recipe {
        let mut recipe = Recipe::default();
        for (role, name, bytes) in [(FileRole::Model, name, bytes), (FileRole::Vae, "vae.safetensors", b"vae".as_slice())] {
            let path = dir.join(name);
            fs::write(&path, bytes).unwrap();
            recipe.files.set(role, path);
        }
        recipe
    }

    struct Court {
        faults: Faults,
        placement: Placement,
    }

    impl Court {
        fn new() -> Self {
            Self { faults: Faults::default(), placement: Placement::all_on("GPU0") }
        }

        /// Makes a picture, and returns whether flash attention was used, and the VAE's own range.
        fn make(&mut self, asked: &Recipe, is_broken: impl Fn(&Recipe) -> bool) -> (bool, bool) {
            let mut used = asked.clone();
            let notes = self.faults.avoid(&mut used, Family::Sdxl, &self.placement, &[]);
            assert_eq!(notes.is_empty(), used == *asked);
            self.faults.judge(&used, Family::Sdxl, &self.placement, &[], is_broken(&used));
            if let Some(setting) = FaultySetting::of(&used, Family::Sdxl).filter(|_| is_broken(&used)) {
                self.faults.suspect(setting, &used, &self.placement, &[]);
            }
            (used.flash_attention, !used.vae_conv_scale)
        }
    }

    #[test]
    fn a_setting_without_which_there_is_a_picture_is_avoided_there_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let model = recipe(dir.path(), "xl.safetensors", &vec![7; 100_000]);
        let mut court = Court::new();
        let breaks = |used: &Recipe| used.flash_attention;
        assert_eq!([(); 3].map(|()| court.make(&model, breaks).0), [true, false, false]);
        let with_lora = Recipe { loras: vec![Lora::new("a".into(), 1.0)], ..model.clone() };
        assert!(!court.make(&with_lora, breaks).0, "it is the model's");
        assert!(court.make(&Recipe { insists_on_flash_attention: true, ..model.clone() }, breaks).0, "somebody insists on it");
        court.placement = Placement::all_on("CPU");
        assert!(court.make(&model, |_| false).0);
        court.placement = Placement::all_on("GPU0");
        // The same name and size, and one byte in a hundred thousand.
        let mut other = vec![7; 100_000];
        other[50_000] = 8;
        assert!(court.make(&recipe(dir.path(), "xl.safetensors", &other), |_| false).0);
    }

    #[test]
    fn nothing_is_remembered_against_the_innocent() {
        let dir = tempfile::tempdir().unwrap();
        let model = recipe(dir.path(), "xl.safetensors", &[7; 1000]);
        let mut court = Court::new();
        let with_lora = Recipe { loras: vec![Lora::new("a".into(), 1.0)], ..model.clone() };
        court.make(&with_lora, |_| true);
        assert_eq!(court.make(&model, |_| false), (true, true), "the LoRA was the cause");
        // Another VAE breaks every picture, whatever is left out; the model with its own stays as
        // it was.
        let mut wrong = model.clone();
        fs::write(dir.path().join("wrong.safetensors"), b"another").unwrap();
        wrong.files.set(FileRole::Vae, dir.path().join("wrong.safetensors"));
        let tried = [(); 5].map(|()| court.make(&wrong, |_| true));
        assert_eq!(tried, [(true, true), (false, true), (true, false), (true, true), (true, true)], "each is tried once");
        assert_eq!(court.make(&model, |_| false), (true, true));
        let json = serde_json::to_string(&court.faults).unwrap();
        assert_eq!(serde_json::from_str::<Faults>(&json).unwrap(), court.faults);
        let of_before = r#"[{"setting":"flash_attention","file":"xl.safetensors","file_bytes":1,"device":"GPU0","description":""}]"#;
        assert_eq!(serde_json::from_str::<Faults>(of_before).unwrap(), Faults::default());
    }

    #[test]
    fn without_flash_attention_the_vae_of_sdxl_is_next_and_then_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let model = Recipe { flash_attention: false, ..recipe(dir.path(), "xl.safetensors", b"xl") };
        assert_eq!(FaultySetting::of(&model, Family::Sdxl), Some(FaultySetting::VaeRange));
        assert_eq!(FaultySetting::of(&model, Family::Flux), None);
        let mut court = Court::new();
        assert_eq!([(); 3].map(|()| court.make(&model, |used| !used.vae_conv_scale).1), [true, false, false]);
        let safe = Recipe { vae_conv_scale: true, ..model.clone() };
        assert_eq!(remedies(&safe, Family::Sdxl, true, Vec::new()), []);
        let all = remedies(&Recipe { flash_attention: true, ..model }, Family::Sdxl, false, Vec::new());
        assert_eq!(all, [Change::FlashAttentionOff, Change::VaeConvScale, Change::VaeTiling]);
    }
}
