//! Checks a set of files before the engine sees it: readable, whole, in the right role, complete, and made for each other.
//!
//! A set that passes may still fail in the engine, with an error; a set that is refused would have failed later, or ended the process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::cache::{HeaderCache, IdentifiedFile};
use super::family::{Family, Latents};
use super::header::{Header, file_name};
use super::lora;
use super::problem::Problem;
use atelier_core::recipe::{FileRole, Lora, ModelFiles};

/// A set of files that the engine can be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The family of the model.
    pub family: Family,
    /// Widths and heights in pixels are multiples of this.
    pub size_multiple: u32,
    /// The files in the roles that they have, which may be others than those they were given in.
    pub files: ModelFiles,
    /// Corrections that were made, in sentences for a person.
    pub notes: Vec<String>,
}

impl HeaderCache {
    /// Checks a set of files, as [`check_files`] does.
    ///
    /// # Errors
    /// If the engine could not make a picture with them.
    pub fn check(&mut self, files: &ModelFiles, loras: &[Lora]) -> Result<Checked, Problem> {
        let mut known = BTreeMap::new();
        for (role, path) in files.iter() {
            known.insert(role, (path.to_owned(), self.get(path)?));
        }
        let mut notes = Vec::new();
        fix_roles(&mut known, &mut notes)?;
        let set = Set { files: known };
        let family = set.family()?;
        set.check_parts(family)?;
        set.check_text_encoder(family)?;
        set.check_decoder(family)?;
        if family == Family::Sd3 && !set.has(FileRole::T5xxl) {
            notes.push("Without T5-XXL, SD3 follows long prompts less closely.".into());
        }
        let parts: Vec<&IdentifiedFile> = set.files.values().map(|(_, known)| known.as_ref()).collect();
        for lora in loras {
            let known = self.get(&lora.path)?;
            lora::check(&file_name(&lora.path), &known, family, &parts)?;
        }
        let files = set.files.into_iter().map(|(role, (path, _))| (role, path)).collect();
        Ok(Checked { family, size_multiple: family.size_multiple(), files, notes })
    }
}

/// Checks that these files make a model together and that the LoRAs fit it, by headers alone.
///
/// A caller that checks often keeps a [`HeaderCache`].
///
/// # Errors
/// If the engine could not make a picture with them; the problem says what to do.
pub fn check_files(files: &ModelFiles, loras: &[Lora]) -> Result<Checked, Problem> {
    HeaderCache::default().check(files, loras)
}

/// The multiple of `multiple` nearest to `value`, halves rounding up, that lies from `min` to `max`. Where no multiple lies between
/// them, the first one above `min`.
#[must_use]
pub const fn snap(value: u32, multiple: u32, min: u32, max: u32) -> u32 {
    let multiple = if multiple == 0 { 1 } else { multiple };
    let lowest = match min.checked_next_multiple_of(multiple) {
        Some(lowest) => lowest,
        None => u32::MAX / multiple * multiple,
    };
    let highest = max / multiple * multiple;
    let below = value / multiple * multiple;
    let nearest = if value - below >= multiple.div_ceil(2) { below.saturating_add(multiple) / multiple * multiple } else { below };
    let nearest = if nearest > highest { highest } else { nearest };
    if nearest < lowest { lowest } else { nearest }
}

type Files = BTreeMap<FileRole, (PathBuf, Arc<IdentifiedFile>)>;

/// Moves files that are plainly in a neighbour's role, and refuses those that are plainly wrong.
fn fix_roles(files: &mut Files, notes: &mut Vec<String>) -> Result<(), Problem> {
    const NEIGHBOURS: [(FileRole, FileRole); 4] = [
        (FileRole::Model, FileRole::Diffusion),
        (FileRole::Diffusion, FileRole::Model),
        (FileRole::Vae, FileRole::Taesd),
        (FileRole::Taesd, FileRole::Vae),
    ];
    let roles: Vec<FileRole> = files.keys().copied().collect();
    let mut moves = Vec::new();
    for role in roles {
        let Some((path, known)) = files.get(&role) else { continue };
        let kind = &known.kind;
        if kind.role == Some(role) {
            continue;
        }
        let name = file_name(path);
        if let Some(to) = kind.role.filter(|to| NEIGHBOURS.contains(&(role, *to))) {
            // Two files that were exchanged make room for each other.
            let free = files.get(&to).is_none_or(|(_, other)| other.kind.role == Some(role));
            if free {
                moves.push((role, to));
                notes.push(format!("{name} is {}; it is used as {}.", kind.described(), to.label()));
                continue;
            }
        }
        let used_as = role.label();
        let Some(right) = kind.role else {
            if kind.is_lora {
                return Err(Problem::new(
                    format!("{name} is {}, and was chosen as {used_as}.", kind.described()),
                    "Add it to the LoRAs instead.",
                ));
            }
            // These are known by less certain signs; the engine has the last word.
            if matches!(role, FileRole::LlmVision | FileRole::ClipVision | FileRole::Photomaker | FileRole::Controlnet) {
                continue;
            }
            return Err(Problem::new(
                format!("{name} was chosen as {used_as}, but Atelier does not know what it is."),
                "Choose a file of a model that Atelier knows; the library lists them.",
            ));
        };
        return Err(Problem::new(
            format!("{name} is {}, and was chosen as {used_as}.", kind.described()),
            format!("Choose it as {} instead.", right.label()),
        ));
    }
    let taken: Vec<_> = moves.into_iter().filter_map(|(from, to)| files.remove(&from).map(|file| (to, file))).collect();
    files.extend(taken);
    Ok(())
}

struct Set {
    files: Files,
}

impl Set {
    fn known(&self, role: FileRole) -> Option<&IdentifiedFile> {
        self.files.get(&role).map(|(_, known)| known.as_ref())
    }

    fn name(&self, role: FileRole) -> String {
        self.files.get(&role).map(|(path, _)| file_name(path)).unwrap_or_default()
    }

    fn has(&self, role: FileRole) -> bool {
        self.files.values().any(|(_, known)| known.kind.contains.contains(&role)) || self.files.contains_key(&role)
    }

    /// The role whose file has the diffusion module. Where there are two the separate one is used, as the engine does.
    fn main_role(&self) -> Option<FileRole> {
        [FileRole::Diffusion, FileRole::Model].into_iter().find(|role| self.files.contains_key(role))
    }

    fn family(&self) -> Result<Family, Problem> {
        let Some((role, kind)) = self.main_role().and_then(|role| self.known(role).map(|known| (role, &known.kind))) else {
            return Err(Problem::new("No model is chosen yet.", "Choose a full model, or a diffusion file with its text encoder and VAE."));
        };
        let family = kind.family.ok_or_else(|| {
            Problem::new(
                format!("Atelier does not know the family of {}.", self.name(role)),
                "Choose a model of a family that it knows; the library lists them.",
            )
        })?;
        if family.is_video() {
            return Err(Problem::new(
                format!("{} is a {} model, which makes videos.", self.name(role), family.label()),
                "Choose a model that makes pictures.",
            ));
        }
        Ok(family)
    }

    fn check_parts(&self, family: Family) -> Result<(), Problem> {
        let missing: Vec<String> = family
            .needs()
            .iter()
            .filter(|group| !group.iter().any(|role| self.has(*role)))
            .filter_map(|group| group.first())
            .map(|role| part_name(family, *role))
            .collect();
        if let [parts @ .., last] = missing.as_slice() {
            let list = if parts.is_empty() { last.clone() } else { format!("{} and {last}", parts.join(", ")) };
            return Err(Problem::new(
                format!("This {} model still needs {list}.", family.label()),
                "Choose the missing files among the model's files.",
            ));
        }
        Ok(())
    }

    fn check_text_encoder(&self, family: Family) -> Result<(), Problem> {
        if let Some(needed) = family.tokens()
            && let Some(known) = self.known(FileRole::Llm)
            && known.kind.vocabulary.is_some_and(|rows| rows < needed)
        {
            return Err(Problem::new(
                format!(
                    "{} knows {} words, and the text encoder of {} needs at least {needed}.",
                    self.name(FileRole::Llm),
                    known.kind.vocabulary.unwrap_or(0),
                    family.label()
                ),
                right_encoder(family),
            ));
        }
        if let Some((role, needed)) = self.main_role().and_then(|it| self.known(it)).and_then(|it| expected_width(&it.header, family))
            && let Some(width) = self.known(role).and_then(|it| it.kind.text_width)
            && width != needed
        {
            return Err(Problem::new(
                format!("{} does not belong to this model: it is {width} wide, and the model reads {needed}.", self.name(role)),
                right_encoder(family),
            ));
        }
        Ok(())
    }

    fn check_decoder(&self, family: Family) -> Result<(), Problem> {
        for role in [FileRole::Vae, FileRole::Taesd] {
            let Some(IdentifiedFile { kind, .. }) = self.known(role) else { continue };
            let wan = kind.family == Some(Family::QwenImage);
            let fits = match family.latents() {
                Latents::Kl(needed) => !wan && kind.latent_channels.is_none_or(|channels| channels == needed),
                Latents::Wan => role == FileRole::Taesd || wan,
                Latents::Other => true,
            };
            if !fits {
                return Err(Problem::new(
                    format!("{} is {}, which cannot show the pictures of {}.", self.name(role), kind.described(), family.label()),
                    format!("Choose the {} that belongs to {}.", decapitalised(role.label()), family.label()),
                ));
            }
        }
        Ok(())
    }
}

/// The text encoder that a diffusion module reads, by its role and width: the tensor that takes the encoder's output in tells it.
pub(crate) fn expected_width(header: &Header, family: Family) -> Option<(FileRole, u64)> {
    let shape = |name: &str| {
        let is = |it: &str| it == name || it.strip_prefix(super::kind::DIFFUSION_PREFIX) == Some(name);
        header.tensors.iter().find(|it| is(&it.name)).map(|it| it.shape.as_slice())
    };
    match family {
        Family::ZImage => shape("cap_embedder.0.weight")?.first().map(|width| (FileRole::Llm, *width)),
        Family::QwenImage | Family::OvisImage | Family::LongCat => {
            shape("txt_in.weight").or_else(|| shape("context_embedder.weight"))?.get(1).map(|width| (FileRole::Llm, *width))
        }
        // These take three of the encoder's layers at once.
        Family::Flux2 | Family::Flux2Klein => {
            shape("txt_in.weight")?.get(1).filter(|it| **it % 3 == 0).map(|width| (FileRole::Llm, *width / 3))
        }
        Family::Flux | Family::Chroma => shape("txt_in.weight")?.get(1).map(|width| (FileRole::T5xxl, *width)),
        _ => None,
    }
}

/// A part that a model of this family needs, with its article.
pub(crate) fn part_name(family: Family, role: FileRole) -> String {
    match (role, family.language_model()) {
        (FileRole::Llm, Some(model)) => format!("a text encoder ({model})"),
        (FileRole::Vae, _) => "a VAE".into(),
        _ => format!("the {}", decapitalised(role.label())),
    }
}

fn right_encoder(family: Family) -> String {
    match family.language_model() {
        Some(model) => format!("Choose the text encoder made for {}: {model}.", family.label()),
        None => format!("Choose the text encoder made for {}.", family.label()),
    }
}

/// A label inside a sentence; names such as VAE keep their capitals.
fn decapitalised(label: &str) -> String {
    let mut letters = label.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain([second]).chain(letters).collect(),
        _ => label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use testkit::tiny::{self, Format, Options, TinyFiles};

    fn roles(files: &TinyFiles) -> ModelFiles {
        ModelFiles::from_iter([
            (FileRole::Diffusion, files.diffusion.clone()),
            (FileRole::Llm, files.llm.clone()),
            (FileRole::Taesd, files.taesd.clone()),
        ])
    }

    fn tiny(dir: &Path, options: &Options) -> ModelFiles {
        roles(&tiny::zimage(dir, options).unwrap())
    }

    fn lora(path: PathBuf) -> Lora {
        Lora { path, strength: 1.0 }
    }

    fn problem(files: &ModelFiles, loras: &[Lora]) -> Problem {
        let problem = check_files(files, loras).unwrap_err();
        assert!(problem.advice.sentence.ends_with('.') && problem.advice.hint.ends_with('.'), "{problem}");
        problem
    }

    #[test]
    fn the_tiny_model_and_its_lora_pass_in_every_format() {
        for format in [Format::Safetensors, Format::Gguf, Format::GgufQ8] {
            let dir = tempfile::tempdir().unwrap();
            let options = Options { format, ..Options::default() };
            let files = tiny(dir.path(), &options);
            let checked = check_files(&files, &[lora(tiny::lora(dir.path(), &options).unwrap())]).unwrap();
            assert_eq!((checked.family, checked.size_multiple), (Family::ZImage, 16));
            assert_eq!((checked.files, checked.notes), (files, Vec::new()));
        }
    }

    #[test]
    fn a_whole_sd15_checkpoint_needs_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sd15.safetensors");
        testkit::sd15(&path, 1, testkit::Contents::HeaderOnly).unwrap();
        let files = ModelFiles::from_iter([(FileRole::Model, path.clone())]);
        let loras = [lora(tiny::unmatched_lora(dir.path()).unwrap())];
        let checked = check_files(&files, &loras).unwrap();
        assert_eq!((checked.family, checked.size_multiple), (Family::Sd1, 64));
        let moved = check_files(&ModelFiles::from_iter([(FileRole::Diffusion, path)]), &[]).unwrap();
        assert_eq!(moved.files, files);
        assert_eq!(moved.notes, ["sd15.safetensors is an SD1.5 full model; it is used as Full model."]);
    }

    #[test]
    fn a_diffusion_module_given_as_a_full_model_is_moved_and_said() {
        let dir = tempfile::tempdir().unwrap();
        let right = tiny(dir.path(), &Options::default());
        let mut files = right.clone();
        files.set(FileRole::Model, files.get(FileRole::Diffusion).unwrap().to_owned());
        files.remove(FileRole::Diffusion);
        let checked = check_files(&files, &[]).unwrap();
        assert_eq!(checked.files, right);
        assert_eq!(checked.notes, ["tiny-zimage.safetensors is a Z-Image diffusion module; it is used as Diffusion."]);
    }

    #[test]
    fn two_files_that_were_exchanged_are_put_right() {
        let dir = tempfile::tempdir().unwrap();
        let right = tiny(dir.path(), &Options::default());
        let sd15 = dir.path().join("sd15.safetensors");
        testkit::sd15(&sd15, 1, testkit::Contents::HeaderOnly).unwrap();
        let mut files = right.clone();
        files.set(FileRole::Model, files.get(FileRole::Diffusion).unwrap().to_owned());
        files.set(FileRole::Diffusion, sd15.clone());
        let checked = check_files(&files, &[]).unwrap();
        assert_eq!((checked.family, checked.notes.len()), (Family::ZImage, 2));
        assert_eq!(checked.files.get(FileRole::Diffusion), right.get(FileRole::Diffusion));
        assert_eq!(checked.files.get(FileRole::Model), Some(sd15.as_path()));
    }

    #[test]
    fn a_tiny_autoencoder_given_as_a_vae_is_moved() {
        let dir = tempfile::tempdir().unwrap();
        let right = tiny(dir.path(), &Options::default());
        let mut files = right.clone();
        files.set(FileRole::Vae, files.get(FileRole::Taesd).unwrap().to_owned());
        files.remove(FileRole::Taesd);
        let checked = check_files(&files, &[]).unwrap();
        assert_eq!((checked.files, checked.notes.len()), (right, 1));
    }

    #[test]
    fn a_language_model_in_the_place_of_the_diffusion_module_is_called_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let files = roles(&testkit::broken::llm_as_diffusion(dir.path()).unwrap());
        let problem = problem(&files, &[]);
        assert_eq!(problem.advice.sentence, "tiny-qwen3.safetensors is a language model, and was chosen as Diffusion.");
        assert_eq!(problem.advice.hint, "Choose it as Text encoder (LLM) instead.");
    }

    #[test]
    fn what_is_missing_is_listed() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = tiny(dir.path(), &Options::default());
        files.remove(FileRole::Llm);
        assert_eq!(problem(&files, &[]).advice.sentence, "This Z-Image model still needs a text encoder (Qwen3-4B).");
        files.remove(FileRole::Taesd);
        assert_eq!(problem(&files, &[]).advice.sentence, "This Z-Image model still needs a text encoder (Qwen3-4B) and a VAE.");
        files.remove(FileRole::Diffusion);
        assert_eq!(problem(&files, &[]).advice.sentence, "No model is chosen yet.");
        files.set(FileRole::Llm, dir.path().join("tiny-qwen3.safetensors"));
        assert_eq!(problem(&files, &[]).advice.sentence, "No model is chosen yet.");
    }

    #[test]
    fn a_vocabulary_smaller_than_the_tokenizer_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let files = roles(&testkit::broken::small_vocabulary(dir.path()).unwrap());
        let sentence = problem(&files, &[]).advice.sentence;
        assert_eq!(sentence, "tiny-qwen3.safetensors knows 151645 words, and the text encoder of Z-Image needs at least 151646.");
        assert!(check_files(&tiny(dir.path(), &Options { vocabulary: 151_646, ..Options::default() }), &[]).is_ok());
    }

    #[test]
    fn an_encoder_of_another_width_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let files = roles(&testkit::broken::wrong_width(dir.path()).unwrap());
        let sentence = problem(&files, &[]).advice.sentence;
        assert_eq!(sentence, "tiny-qwen3.safetensors does not belong to this model: it is 16 wide, and the model reads 8.");
    }

    #[test]
    fn a_decoder_of_another_family_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let sd15 = dir.path().join("sd15.safetensors");
        testkit::sd15(&sd15, 1, testkit::Contents::HeaderOnly).unwrap();
        let mut files = tiny(dir.path(), &Options::default());
        files.remove(FileRole::Diffusion);
        files.remove(FileRole::Llm);
        files.set(FileRole::Model, sd15);
        assert!(problem(&files, &[]).advice.sentence.contains("cannot show the pictures of SD1.5"));
    }

    #[test]
    fn every_broken_diffusion_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = tiny(dir.path(), &Options::default());
        for (what, path) in testkit::broken::diffusion_files(dir.path()).unwrap() {
            let name = file_name(&path);
            files.set(FileRole::Diffusion, path);
            assert!(problem(&files, &[]).advice.sentence.starts_with(&name), "{what}");
        }
    }

    #[test]
    fn loras_that_do_not_fit_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let files = tiny(dir.path(), &Options::default());
        let sentence = |path| problem(&files, &[lora(path)]).advice.sentence;
        assert_eq!(
            sentence(tiny::unmatched_lora(dir.path()).unwrap()),
            "unmatched-lora.safetensors was made for another model: nothing in it fits Z-Image."
        );
        assert!(sentence(testkit::broken::wide_lora(dir.path()).unwrap()).contains("does not fit this model"));
        assert!(sentence(testkit::broken::truncated_in_data(dir.path()).unwrap()).contains("cut short"));
        let taesd = files.get(FileRole::Taesd).unwrap().to_owned();
        assert_eq!(sentence(taesd), "tiny-taesd.safetensors is a tiny autoencoder, not a LoRA.");
    }

    #[test]
    fn a_lora_chosen_as_a_model_is_sent_to_the_loras() {
        let dir = tempfile::tempdir().unwrap();
        let path = tiny::lora(dir.path(), &Options::default()).unwrap();
        let problem = problem(&ModelFiles::from_iter([(FileRole::Model, path)]), &[]);
        assert_eq!(problem.advice.hint, "Add it to the LoRAs instead.");
    }

    #[test]
    fn sizes_are_snapped_to_the_nearest_multiple_within_bounds() {
        assert_eq!(snap(512, 64, 64, 2048), 512);
        assert_eq!(snap(500, 64, 64, 2048), 512);
        assert_eq!(snap(480, 64, 64, 2048), 512);
        assert_eq!(snap(479, 64, 64, 2048), 448);
        assert_eq!(snap(1, 16, 64, 2048), 64);
        assert_eq!(snap(9999, 16, 64, 2048), 2048);
        assert_eq!(snap(9999, 64, 64, 2000), 1984);
        assert_eq!(snap(7, 0, 1, 100), 7);
        assert_eq!(snap(u32::MAX, 64, 64, u32::MAX), u32::MAX / 64 * 64);
        assert_eq!(snap(5, 64, 70, 100), 128);
    }

    proptest::proptest! {
        #[test]
        fn a_snapped_size_is_a_multiple_within_bounds(value: u32, multiple in 1u32..256, min in 1u32..4096, room in 256u32..8192) {
            let snapped = snap(value, multiple, min, min + room);
            proptest::prop_assert_eq!(snapped % multiple, 0);
            proptest::prop_assert!((min..=min + room).contains(&snapped));
            if (min..=min + room).contains(&value) && value > min + multiple && value + multiple < min + room {
                proptest::prop_assert!(value.abs_diff(snapped) <= multiple / 2);
            }
        }
    }
}
