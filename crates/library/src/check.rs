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
use super::header::{Header, file_name};
use super::heads;
use super::kind::{DIFFUSION_PREFIXES, PHOTOMAKER_V2};
use super::problem::Problem;
use super::shards;
use atelier_core::recipe::{FileRole, Lora, ModelFiles};

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
            notes.push("Without T5-XXL, SD3 follows long prompts less closely.".into());
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
        let needs_id_embedding = set
            .known(FileRole::Photomaker)
            .is_some_and(|known| known.header.tensors.iter().any(|tensor| tensor.name.contains(PHOTOMAKER_V2)));
        let encodes_pictures =
            set.known(FileRole::Vae).is_none_or(|known| known.header.tensors.iter().any(|it| it.name.contains("encoder.")));
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
                notes.push(format!("{name} is {} and is used as {}.", kind.described(), to.label()));
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
            if matches!(role, FileRole::LlmVision | FileRole::ClipVision | FileRole::Controlnet) {
                continue;
            }
            return Err(Problem::new(
                format!("{name} was chosen as {used_as}, but Atelier does not recognise this file."),
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

    /// The role whose file has the diffusion module. Where there are two the separate one is used,
    /// as the engine does.
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
                "Choose a model of a supported family; the library lists them.",
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

    /// Distilled UNets may take guidance as an input. The engine drops what reads it as it opens a
    /// file, before anyone could count it among what it left out.
    fn guidance_input_note(&self) -> Option<String> {
        let role = self.main_role()?;
        let has_input = self.known(role)?.header.tensors.iter().any(|it| it.name.ends_with("time_embedding.cond_proj.weight"));
        let name = self.name(role);
        has_input.then(|| {
            format!("{name} reads guidance as an input, which the engine leaves out: pictures may be others than it was made for.")
        })
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
            let list = if parts.is_empty() { last.clone() } else { format!("{} and {last}", parts.join(", ")) };
            return Err(Problem::new(
                format!("This {} model also needs {list}.", family.label()),
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

    fn check_unconditional(&self, family: Family) -> Result<(), Problem> {
        let Some(known) = self.known(FileRole::UncondDiffusion) else { return Ok(()) };
        let name = self.name(FileRole::UncondDiffusion);
        if family != Family::Ideogram4 {
            return Err(Problem::new(
                format!("{name} is an unconditional diffusion file, which {} has no use for.", family.label()),
                "Remove it, or choose a model of Ideogram 4.",
            ));
        }
        if known.kind.family != Some(family) {
            return Err(Problem::new(
                format!("{name} is {}, and the model is {}.", known.kind.described(), family.label()),
                format!("Choose the unconditional file that was made for {}.", family.label()),
            ));
        }
        Ok(())
    }

    fn check_controlnet(&self, family: Family) -> Result<(), Problem> {
        let Some(known) = self.known(FileRole::Controlnet) else { return Ok(()) };
        let (name, model) = (self.name(FileRole::Controlnet), family.label());
        if !family.takes_controlnets() {
            return Err(Problem::new(
                format!("{name} is a ControlNet, and the engine has none for {model}."),
                "Remove it, or choose a model of SD1.5, SD2 or SDXL.",
            ));
        }
        match known.kind.family.filter(|of| *of != family) {
            Some(of) => Err(Problem::new(
                format!("{name} is a ControlNet for {}, and the model is {model}.", of.label()),
                format!("Choose a ControlNet that was made for {model}."),
            )),
            None => Ok(()),
        }
    }

    fn check_photomaker(&self, family: Family) -> Result<(), Problem> {
        if self.files.contains_key(&FileRole::Photomaker) && family != Family::Sdxl {
            return Err(Problem::new(
                format!(
                    "{} is a PhotoMaker, which works with SDXL alone, and the model is {}.",
                    self.name(FileRole::Photomaker),
                    family.label()
                ),
                "Remove it, or choose a model of SDXL.",
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
mod tests;
