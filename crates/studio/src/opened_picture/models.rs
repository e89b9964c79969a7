//! Models and LoRAs that a picture names, found on this machine or in the catalogue: by hash first,
//! then by name. Pure.

use std::path::{Path, PathBuf};

use atelier_core::format::file_size;
use atelier_language::tr;
use atelier_library::{CardFile, ModelCard, ModelKind, Role};

/// Hexadecimal digits of a hash that tell files apart; A1111 writes ten of SHA-256.
const FEWEST_DIGITS: usize = 8;
/// Digits of the whole sum, and of what A1111 writes of a model's. Shorter ones are of early versions,
/// and those of LoRAs leave the header out: neither says that a file is another one.
const WHOLE_DIGITS: usize = 64;
const A1111_DIGITS: usize = 10;
/// Likeness of names, 0 to 1, from which one stands in for the other.
const LIKENESS: f64 = 0.75;
/// Endings of model files.
const ENDINGS: [&str; 7] = ["safetensors", "ckpt", "gguf", "sft", "pth", "pt", "bin"];

/// Models of this machine and of the catalogue, among which a picture finds its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownModels<'a> {
    /// Files of models and LoRAs.
    pub files: &'a [PathBuf],
    pub cards: &'a [ModelCard],
}

/// A model or LoRA that a picture names and that is not on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingModel {
    pub kind: ModelKind,
    /// Its name, as the picture has it.
    pub name: String,
    /// What can be done about it.
    pub remedy: Option<ModelRemedy>,
}

/// Help with a model that is not on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelRemedy {
    /// The same one can be downloaded.
    Download {
        id: String,
        /// Its name for people.
        name: String,
        /// Its bytes, about.
        bytes: Option<u64>,
    },
    /// Another one of this machine has a name like it.
    Nearest {
        id: String,
        /// Its name for people.
        name: String,
    },
}

impl MissingModel {
    /// What is missing, and what can be done, in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let what = self.kind.label();
        let name = &self.name;
        match &self.remedy {
            Some(ModelRemedy::Download { name: offered, bytes, .. }) => {
                let size = bytes.map(|bytes| format!(" ({})", file_size(bytes))).unwrap_or_default();
                tr!("studio-is-not-on-this-machine-download", what, name, offered, size)
            }
            Some(ModelRemedy::Nearest { name: near, .. }) => {
                tr!("studio-is-not-on-this-machine-has", what, name, near)
            }
            None => tr!("studio-is-not-on-this", what, name),
        }
    }
}

/// The card of this machine that is meant; otherwise what can be done.
pub(super) fn find<'a>(
    cards: &'a [ModelCard],
    kind: ModelKind,
    name: Option<&str>,
    hash: Option<&str>,
) -> Result<&'a ModelCard, Option<ModelRemedy>> {
    let hash = hash.map(str::to_ascii_lowercase).filter(|hash| is_hash(hash));
    let has_hash = |card: &&ModelCard| hash.as_deref().is_some_and(|hash| sums(card).any(|sum| sum.starts_with(hash)));
    let tells_others = |hash: &str| hash.len() == WHOLE_DIGITS || (hash.len() == A1111_DIGITS && kind == ModelKind::Model);
    let is_other =
        |card: &&ModelCard| hash.as_deref().is_some_and(|hash| tells_others(hash) && sums(card).any(|sum| !sum.starts_with(hash)));
    let has_name = |card: &&ModelCard| name.is_some_and(|name| names(card).any(|it| plain(it) == plain(name)));
    // Of several alike, `ink_v1.0` and `ink_v10`, the one of this very name and folder.
    let nearness =
        |card: &&ModelCard| name.map_or((false, false), |name| (lies_so(card, name), names(card).any(|it| stem(it) == stem(name))));
    let of_kind = || cards.iter().filter(move |card| card.kind == kind);
    let here = || of_kind().filter(|card| card.availability.is_ready());
    // The first of those that are equally near.
    let named = || {
        let all = here().filter(|card| has_name(card) && !is_other(card)).map(|card| (nearness(&card), card));
        all.reduce(|one, other| if other.0 > one.0 { other } else { one }).map(|(_, card)| card)
    };
    if let Some(card) = here().find(has_hash).or_else(named) {
        return Ok(card);
    }
    let offered = || of_kind().filter(|card| !card.availability.is_here());
    if let Some(card) = offered().find(has_hash).or_else(|| offered().find(has_name)) {
        return Err(Some(ModelRemedy::Download { id: card.id.clone(), name: card.name.clone(), bytes: card.bytes }));
    }
    let likeness = |card: &ModelCard| {
        let name = plain(name.unwrap_or_default());
        names(card).map(|it| strsim::jaro_winkler(&plain(it), &name)).fold(0.0, f64::max)
    };
    let nearest = here().map(|card| (likeness(card), card)).max_by(|one, other| one.0.total_cmp(&other.0));
    let nearest = nearest.filter(|(likeness, _)| *likeness >= LIKENESS && name.is_some());
    Err(nearest.map(|(_, card)| ModelRemedy::Nearest { id: card.id.clone(), name: card.name.clone() }))
}

/// A beginning of SHA-256. `blake3:...` and sums of parts of a file are other things.
fn is_hash(hash: &str) -> bool {
    (FEWEST_DIGITS..=WHOLE_DIGITS).contains(&hash.len()) && hash.chars().all(|c| c.is_ascii_hexdigit())
}

/// Files by which a model is named.
fn main_files(card: &ModelCard) -> impl Iterator<Item = &CardFile> {
    card.files.iter().filter(|file| match file.role {
        Role::Part(role) => role.is_main() || card.kind != ModelKind::Model,
        Role::Lora | Role::Embedding | Role::Cutout | Role::Detector => true,
    })
}

fn sums(card: &ModelCard) -> impl Iterator<Item = String> {
    main_files(card).filter_map(|file| file.sha256).map(|sum| sum.to_string())
}

fn names(card: &ModelCard) -> impl Iterator<Item = &str> {
    let own = if card.is_loose_file { None } else { Some(card.id.as_str()) };
    own.into_iter().chain([card.name.as_str()]).chain(main_files(card).map(|file| file.name.as_str()))
}

/// True where a file of the card lies in the folders that the name has.
fn lies_so(card: &ModelCard, name: &str) -> bool {
    let parts = |path: &str| path.split(['/', '\\']).map(stem).collect::<Vec<_>>();
    let named = parts(name);
    let mut paths = main_files(card).filter_map(|file| file.path.as_deref());
    named.len() > 1 && paths.any(|path| parts(&path.to_string_lossy()).ends_with(&named))
}

/// A name without folders and ending, in small letters.
fn stem(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let path = Path::new(name);
    let is_file = path.extension().is_some_and(|ending| ENDINGS.iter().any(|it| ending.eq_ignore_ascii_case(it)));
    let stem = if is_file { path.file_stem().unwrap_or_default().to_string_lossy() } else { name.into() };
    stem.to_lowercase()
}

/// As [`stem`], without spaces and signs.
fn plain(name: &str) -> String {
    stem(name).chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::FileRole;
    use atelier_library::{Availability, Sha256};

    fn card(name: &str, file: &str, availability: Availability, sum: Option<&[u8]>) -> ModelCard {
        let file = CardFile {
            role: Role::Part(FileRole::Diffusion),
            name: file.into(),
            path: None,
            bytes: Some(7),
            facts: None,
            sha256: sum.map(|bytes| Sha256::of(bytes).unwrap()),
        };
        let id = name.to_lowercase().replace(' ', "-");
        ModelCard { id, name: name.into(), kind: ModelKind::Model, availability, files: vec![file], bytes: Some(7), ..ModelCard::default() }
    }

    fn cards() -> Vec<ModelCard> {
        vec![
            card("Juggernaut XL", "juggernautXL_v8.safetensors", Availability::InPlace, None),
            card("Z-Image Turbo", "z_image_turbo-Q4_K_M.gguf", Availability::OnDisk, Some(b"z")),
            card("SDXL base", "sd_xl_base_1.0.safetensors", Availability::Catalogue, Some(b"x")),
        ]
    }

    fn found(name: Option<&str>, hash: Option<&str>) -> Result<String, Option<ModelRemedy>> {
        find(&cards(), ModelKind::Model, name, hash).map(|card| card.name.clone())
    }

    #[test]
    fn the_hash_counts_before_the_name_whole_or_its_first_digits() {
        let sum = Sha256::of(&b"z"[..]).unwrap().to_string();
        for hash in [sum.as_str(), &sum[..10], &sum[..10].to_uppercase()] {
            assert_eq!(found(Some("juggernautXL_v8"), Some(hash)), Ok("Z-Image Turbo".into()), "{hash}");
        }
        let another = Sha256::of(&b"other"[..]).unwrap().to_string();
        assert_eq!(found(Some("Juggernaut XL"), Some(&another)), Ok("Juggernaut XL".into()), "whose sum nobody knows");
        assert!(
            matches!(found(Some("Z-Image Turbo"), Some(&another)), Err(Some(ModelRemedy::Nearest { .. }))),
            "another file of this name"
        );
        assert!(matches!(found(Some("Z-Image Turbo"), Some(&another[..10])), Err(Some(ModelRemedy::Nearest { .. }))));
        assert_eq!(found(Some("Z-Image Turbo"), Some(&another[..8])), Ok("Z-Image Turbo".into()), "of early versions");
        for hash in ["31e35c8", "blake3:0a1b2c3d4e", ""] {
            assert_eq!(found(Some("Juggernaut XL"), Some(hash)), Ok("Juggernaut XL".into()));
        }
    }

    #[test]
    fn names_are_compared_without_folders_endings_and_signs() {
        for name in ["juggernautXL_v8", "models/JuggernautXL V8.safetensors", r"sdxl\juggernautxl-v8.ckpt", "juggernaut-xl"] {
            assert_eq!(found(Some(name), None), Ok("Juggernaut XL".into()), "{name}");
        }
    }

    #[test]
    fn of_names_that_differ_in_signs_or_folders_alone_the_very_one_is_meant() {
        let lora = |name: &str, folder: &str| {
            let mut card = card(name, &format!("{name}.safetensors"), Availability::InPlace, None);
            card.id = format!("{folder}-{name}");
            card.kind = ModelKind::Lora;
            card.files[0].path = Some(format!("/loras/{folder}/{name}.safetensors").into());
            card
        };
        let cards = [lora("ink_v1.0", "sd15"), lora("ink_v10", "sd15"), lora("ink_v10", "sdxl")];
        let found = |name: &str| find(&cards, ModelKind::Lora, Some(name), None).unwrap().id.clone();
        for (name, id) in [
            ("ink_v10", "sd15-ink_v10"),
            ("Ink_V1.0.safetensors", "sd15-ink_v1.0"),
            (r"sdxl\ink_v10.safetensors", "sdxl-ink_v10"),
            ("sd15/ink_v10", "sd15-ink_v10"),
            ("elsewhere/ink_v10", "sd15-ink_v10"),
            ("ink v10", "sd15-ink_v1.0"),
        ] {
            assert_eq!(found(name), id, "{name}");
        }
    }

    #[test]
    fn what_is_not_here_is_offered_or_has_something_like_it() {
        let download = Some(ModelRemedy::Download { id: "sdxl-base".into(), name: "SDXL base".into(), bytes: Some(7) });
        assert_eq!(found(Some("sd_xl_base_1.0"), None), Err(download.clone()));
        assert_eq!(found(None, Some(&Sha256::of(&b"x"[..]).unwrap().to_string()[..10])), Err(download.clone()));
        let near = Err(Some(ModelRemedy::Nearest { id: "juggernaut-xl".into(), name: "Juggernaut XL".into() }));
        assert_eq!(found(Some("juggernautXL_v9Lightning"), None), near);
        assert_eq!((found(Some("dreamlike"), None), found(None, None)), (Err(None), Err(None)));
        let missing = MissingModel { kind: ModelKind::Model, name: "sd_xl_base_1.0".into(), remedy: download };
        assert_eq!(missing.sentence(), "Model sd_xl_base_1.0 is not on this machine. Download it as SDXL base (7 bytes).");
    }
}
