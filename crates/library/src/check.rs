//! Checks a set of files before the engine sees it: readable, whole, in the right role, complete,
//! and made for each other.
//!
//! A set that passes may still fail in the engine, with an error; a set that is refused would have
//! failed later, or ended the process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::adapter::{self, Adapters};
use super::cache::{HeaderCache, IdentifiedFile};
use super::family::{Family, Latents};
use super::header::{Header, file_name, read_header};
use super::heads;
use super::kind::{DIFFUSION_PREFIXES, VAE_PREFIXES, identify};
use super::problem::Problem;
use super::shards;
use atelier_core::recipe::{FileRole, Lora, ModelFiles};
use atelier_language::{Language, chosen_language, tr};

/// A set of files that the engine can be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The family of the model.
    pub family: Family,
    /// Widths and heights in pixels are multiples of this.
    pub size_multiple: u32,
    /// True where it looks at reference pictures. The engine does not expect them elsewhere.
    pub looks_at_references: bool,
    /// True where it is given its start picture beside the noise: for inpainting or edits.
    pub sees_start_picture: bool,
    /// True where it is given a control picture without a `ControlNet`.
    pub reads_control: bool,
    /// False where the VAE has no encoder, and pictures cannot be started from.
    pub encodes_pictures: bool,
    /// True where most of the diffusion module's weights have fewer bits than 16.
    pub has_few_bits: bool,
    /// True with a `PhotoMaker` v2, which reads features of faces beside pictures.
    pub needs_id_embedding: bool,
    /// The files in the roles that they have, which may be others than those they were given in;
    /// without those that have no effect.
    pub files: ModelFiles,
    /// What the engine is to make of the LoRAs.
    pub adapters: Adapters,
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
            let path = shards::opened(path);
            let file = self.get(&path)?;
            known.insert(role, (path, file));
        }
        let mut notes = Vec::new();
        fix_roles(&mut known, &mut notes)?;
        known.retain(|role, _| {
            notes.extend(role.without_effect().map(str::to_owned));
            role.without_effect().is_none()
        });
        let set = Set { files: known };
        let family = set.family()?;
        set.check_heads(family)?;
        set.check_parts(family)?;
        set.check_text_encoder(family)?;
        set.check_decoder(family)?;
        set.check_unconditional(family)?;
        set.check_controlnet(family)?;
        set.check_photomaker(family)?;
        notes.extend(set.guidance_input_note());
        if family == Family::Sd3 && !set.has(FileRole::T5xxl) {
            notes.push(tr!("library-without-t5-xxl-sd3").into());
        }
        let parts: Vec<(FileRole, &IdentifiedFile)> = set.files.iter().map(|(role, (_, known))| (*role, known.as_ref())).collect();
        let mut adapters = Adapters::default();
        for lora in loras {
            let known = self.get(&lora.path)?;
            let name = file_name(&lora.path);
            adapters.insert(lora.path.clone(), adapter::place(&name, &known, family, &parts)?);
            notes.extend(adapter::note(&name, &known));
        }
        let looks_at_references = set.main_role().and_then(|role| set.known(role)).is_some_and(|known| known.kind.looks_at_references);
        let sees_start_picture = set.main_role().and_then(|role| set.known(role)).is_some_and(|known| known.kind.sees_start_picture);
        let reads_control = set.main_role().and_then(|role| set.known(role)).is_some_and(|known| known.kind.reads_control);
        let has_few_bits = set
            .main_role()
            .and_then(|role| set.known(role))
            .is_some_and(|known| !["F32", "F16", "BF16"].contains(&known.kind.quantisation.as_str()));
        let needs_id_embedding = set.known(FileRole::Photomaker).is_some_and(|known| known.kind.reads_faces);
        let encodes_pictures = set.encodes_pictures();
        let files = set.files.into_iter().map(|(role, (path, _))| (role, path)).collect();
        Ok(Checked {
            family,
            size_multiple: family.size_multiple(),
            looks_at_references,
            sees_start_picture,
            reads_control,
            encodes_pictures,
            has_few_bits,
            needs_id_embedding,
            files,
            adapters,
            notes,
        })
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

/// The family of a model of these files, as the header of its main file says it; `None` where that
/// cannot be read or says none.
#[must_use]
pub fn family_of(files: &ModelFiles) -> Option<Family> {
    let header = read_header(&shards::opened(files.main()?)).ok()?;
    identify(&header).family
}

/// The multiple of `multiple` nearest to `value`, halves rounding up, that lies from `min` to
/// `max`. Where no multiple lies between them, the first one above `min`.
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
        // By itself such a file is a diffusion module as any other.
        if role == FileRole::UncondDiffusion && kind.role == Some(FileRole::Diffusion) {
            continue;
        }
        let name = file_name(path);
        if let Some(to) = kind.role.filter(|to| NEIGHBOURS.contains(&(role, *to))) {
            // Two files that were exchanged make room for each other.
            let free = files.get(&to).is_none_or(|(_, other)| other.kind.role == Some(role));
            if free {
                moves.push((role, to));
                notes.push(tr!("library-is-and-is-used", name, described = kind.described(), to = to.label()));
                continue;
            }
        }
        let used_as = role.label();
        let Some(right) = kind.role else {
            if kind.is_lora {
                return Err(Problem::new(
                    tr!("library-is-and-was-chosen", name, described = kind.described(), used_as),
                    tr!("library-add-it-to-the"),
                ));
            }
            // These are known by less certain signs; the engine has the last word.
            if matches!(role, FileRole::LlmVision | FileRole::ClipVision | FileRole::Controlnet) {
                continue;
            }
            return Err(Problem::new(tr!("library-was-chosen-as-but", name, used_as), tr!("library-choose-a-file-of")));
        };
        return Err(Problem::new(
            tr!("library-is-and-was-chosen", name, described = kind.described(), used_as),
            tr!("library-choose-it-as-instead", right = right.label()),
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

    /// The role whose file has the diffusion module. Where there are two the separate one is used,
    /// as the engine does.
    fn main_role(&self) -> Option<FileRole> {
        [FileRole::Diffusion, FileRole::Model].into_iter().find(|role| self.files.contains_key(role))
    }

    /// The role whose file has the language model: one of its own, else the whole model's.
    fn language_model_role(&self) -> FileRole {
        let has_one = |known: &IdentifiedFile| known.kind.contains.contains(&FileRole::Llm);
        let is_in_whole = !self.files.contains_key(&FileRole::Llm) && self.known(FileRole::Model).is_some_and(has_one);
        if is_in_whole { FileRole::Model } else { FileRole::Llm }
    }

    /// False where the VAE that decodes has no encoder.
    fn encodes_pictures(&self) -> bool {
        let is_of_vae = |name: &str| VAE_PREFIXES.iter().any(|start| name.starts_with(start));
        let has_encoder = |known: &IdentifiedFile, is_whole: bool| {
            known.header.tensors.iter().any(|it| it.name.contains("encoder.") && (!is_whole || is_of_vae(&it.name)))
        };
        if let Some(vae) = self.known(FileRole::Vae) {
            return has_encoder(vae, false);
        }
        let whole = self.known(FileRole::Model).filter(|known| known.kind.contains.contains(&FileRole::Vae));
        self.files.contains_key(&FileRole::Taesd) || whole.is_none_or(|known| has_encoder(known, true))
    }

    fn family(&self) -> Result<Family, Problem> {
        let Some((role, kind)) = self.main_role().and_then(|role| self.known(role).map(|known| (role, &known.kind))) else {
            return Err(Problem::new(tr!("library-no-model-is-chosen"), tr!("library-choose-a-full-model")));
        };
        let family = kind
            .family
            .ok_or_else(|| Problem::new(tr!("library-atelier-does-not-know", role = self.name(role)), tr!("library-choose-a-model-of")))?;
        if family.is_video() {
            return Err(Problem::new(
                tr!("library-is-a-model-which", role = self.name(role), family = family.label()),
                tr!("library-choose-a-model-that"),
            ));
        }
        Ok(family)
    }

    /// Distilled UNets may take guidance as an input. The engine drops what reads it as it opens a
    /// file, before anyone could count it among what it left out.
    fn guidance_input_note(&self) -> Option<String> {
        let role = self.main_role()?;
        let has_input = self.known(role)?.header.tensors.iter().any(|it| it.name.ends_with("time_embedding.cond_proj.weight"));
        let name = self.name(role);
        has_input.then(|| tr!("library-reads-guidance-as-an", name))
    }

    fn check_heads(&self, family: Family) -> Result<(), Problem> {
        let mut mains = [FileRole::Diffusion, FileRole::Model].into_iter().filter_map(|role| self.files.get(&role));
        mains.try_for_each(|(path, known)| heads::check(&file_name(path), &known.header, family))
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
            let list = if parts.is_empty() { last.clone() } else { tr!("library-and", parts = parts.join(", "), last) };
            return Err(Problem::new(
                tr!("library-this-model-also-needs", family = family.label(), list),
                tr!("library-choose-the-missing-files"),
            ));
        }
        Ok(())
    }

    fn check_text_encoder(&self, family: Family) -> Result<(), Problem> {
        let llm = self.language_model_role();
        if let Some(needed) = family.tokens()
            && let Some(vocabulary) = self.known(llm).and_then(|it| it.kind.vocabulary)
            && vocabulary < needed
        {
            return Err(Problem::new(
                tr!("library-knows-words-and-the", name = self.name(llm), vocabulary, family = family.label(), needed),
                right_encoder(family),
            ));
        }
        let expected = self.main_role().and_then(|it| self.known(it)).and_then(|it| expected_width(&it.header, family));
        if let Some((role, needed)) = expected.map(|(role, needed)| (if role == FileRole::Llm { llm } else { role }, needed))
            && let Some(width) = self.known(role).and_then(|it| it.kind.text_width)
            && width != needed
        {
            return Err(Problem::new(tr!("library-does-not-belong-to", role = self.name(role), width, needed), right_encoder(family)));
        }
        Ok(())
    }

    fn check_unconditional(&self, family: Family) -> Result<(), Problem> {
        let Some(known) = self.known(FileRole::UncondDiffusion) else { return Ok(()) };
        let name = self.name(FileRole::UncondDiffusion);
        if family != Family::Ideogram4 {
            return Err(Problem::new(
                tr!("library-is-an-unconditional-diffusion", name, family = family.label()),
                tr!("library-remove-it-or-choose-a-model-of-ideogram"),
            ));
        }
        if known.kind.family != Some(family) {
            return Err(Problem::new(
                tr!("library-is-and-the-model", name, described = known.kind.described(), family = family.label()),
                tr!("library-choose-the-unconditional-file", family = family.label()),
            ));
        }
        Ok(())
    }

    fn check_controlnet(&self, family: Family) -> Result<(), Problem> {
        let Some(known) = self.known(FileRole::Controlnet) else { return Ok(()) };
        let (name, model) = (self.name(FileRole::Controlnet), family.label());
        if !family.takes_controlnets() {
            return Err(Problem::new(tr!("library-is-a-controlnet-and", name, model), tr!("library-remove-it-or-choose-a-model")));
        }
        match known.kind.family.filter(|of| *of != family) {
            Some(of) => Err(Problem::new(
                tr!("library-is-a-controlnet-for", name, of = of.label(), model),
                tr!("library-choose-a-controlnet-that", model),
            )),
            None => Ok(()),
        }
    }

    fn check_photomaker(&self, family: Family) -> Result<(), Problem> {
        if self.files.contains_key(&FileRole::Photomaker) && family != Family::Sdxl {
            return Err(Problem::new(
                tr!("library-is-a-photomaker-which", name = self.name(FileRole::Photomaker), family = family.label()),
                tr!("library-remove-it-or-choose"),
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
                    tr!("library-is-which-cannot-show", role = self.name(role), described = kind.described(), family = family.label()),
                    tr!("library-choose-the-that-belongs", decapitalised = decapitalised(role.label()), family = family.label()),
                ));
            }
        }
        Ok(())
    }
}

/// The text encoder that a diffusion module reads, by its role and width: the tensor that takes the
/// encoder's output in tells it.
pub(crate) fn expected_width(header: &Header, family: Family) -> Option<(FileRole, u64)> {
    let shape = |name: &str| {
        let is = |it: &str| it == name || DIFFUSION_PREFIXES.iter().any(|prefix| it.strip_prefix(prefix) == Some(name));
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
        (FileRole::Llm, Some(model)) => tr!("library-a-text-encoder", model),
        (FileRole::Vae, _) => "a VAE".into(),
        _ => tr!("library-the", decapitalised = decapitalised(role.label())),
    }
}

fn right_encoder(family: Family) -> String {
    match family.language_model() {
        Some(model) => tr!("library-choose-the-text-encoder-made-for", family = family.label(), model),
        None => tr!("library-choose-the-text-encoder", family = family.label()),
    }
}

/// A label inside a sentence; names such as VAE keep their capitals.
fn decapitalised(label: &str) -> String {
    // Other languages keep the capital of nouns, or have none.
    if chosen_language() != Language::English {
        return label.to_owned();
    }
    let mut letters = label.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain([second]).chain(letters).collect(),
        _ => label.to_owned(),
    }
}

#[cfg(test)]
mod tests;
