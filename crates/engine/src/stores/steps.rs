//! Steps of the last pictures, kept in RAM so that a branch of one of them need not compute its
//! first steps.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::ffi::{AreaParams, StepRecords};
use crate::fingerprint::{Fingerprint, fingerprints};
use atelier_core::canvas::Mask;
use atelier_core::recipe::{Affects, ImageSource, Recipe, Rgb8};

/// Bytes of all records: 12 pictures of 20 steps at 1024 x 1024 with 16 channels (1 MiB a step), or
/// 50 of SDXL.
const MAX_BYTES: u64 = 256 << 20;
/// Bytes of the records of one picture, of which the first steps are kept: a branch has room beside
/// its parent.
pub(crate) const MAX_BYTES_OF_PICTURE: u64 = MAX_BYTES / 2;

/// Pictures whose steps are kept, however small.
const MAX_PICTURES: usize = 256;

/// Identity of a picture's steps: equal keys have equal steps, but for the device that computes
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepsKey([u8; 32]);

/// Beside a recipe, what an image's steps depend on.
#[derive(Clone, Copy)]
pub(crate) struct StepsInput<'a> {
    /// Pixels.
    pub(crate) size: (u32, u32),
    pub(crate) init: Option<&'a Rgb8>,
    pub(crate) mask: Option<&'a Mask>,
    pub(crate) area: Option<AreaParams<'a>>,
    pub(crate) references: &'a [Rgb8],
    pub(crate) control: Option<&'a Rgb8>,
    pub(crate) person: &'a [Rgb8],
}

impl StepsKey {
    /// The key of an image of a recipe that was checked, which has the image's seed.
    pub(crate) fn new(recipe: &Recipe, input: &StepsInput<'_>) -> Self {
        let mut recipe = recipe.only(Affects::Steps);
        let earlier_loras = recipe.earlier_steps.iter().flat_map(|steps| &steps.loras);
        let loras: Vec<_> = recipe.loras.iter().chain(earlier_loras).cloned().collect();
        let embeddings: Vec<_> = recipe.embeddings.iter().map(|path| Fingerprint::of(path)).collect();
        let files = format!("{:?} {embeddings:?}", fingerprints(&recipe.files, &loras));
        // The pixels count, not where they came from; nor what comes after the steps, or only says
        // how they are computed.
        let no_picture = || ImageSource::File(std::path::PathBuf::new());
        if let Some(init) = &mut recipe.init {
            init.image = no_picture();
        }
        if let Some(control) = &mut recipe.control {
            control.image = no_picture();
        }
        for steps in &mut recipe.earlier_steps {
            steps.picture = None;
        }
        let id_embedding = recipe.person.id_embedding.take().map(|path| Fingerprint::of(&path));
        recipe.person.images.clear();
        (recipe.width, recipe.height) = input.size;
        let mut hasher = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(&serde_json::to_vec(&recipe).unwrap_or_default());
        add(files.as_bytes());
        add(format!("{id_embedding:?}").as_bytes());
        let StepsInput { size: _, init, mask, area, references, control, person } = input;
        add(format!("{} {}", references.len(), person.len()).as_bytes());
        for image in [*init, *control].into_iter().chain(references.iter().chain(*person).map(Some)) {
            let size = image.map(|image| (image.width(), image.height()));
            add(format!("{size:?}").as_bytes());
            add(image.map_or(&[], |image| image.pixels()));
        }
        add(mask.map_or(&[], |mask| mask.pixels()));
        if let Some(AreaParams { strength, soft_mask }) = area {
            add(&strength.to_le_bytes());
            add(soft_mask.map_or(&[], |mask| mask.pixels()));
        }
        Self(hasher.finalize().into())
    }

    /// The key in hexadecimal digits: a name for a file.
    pub(crate) fn hex(&self) -> String {
        self.0.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
    }

    /// A key of bytes that are all this number.
    #[cfg(test)]
    pub(crate) const fn of_number(number: u8) -> Self {
        Self([number; 32])
    }
}

/// Steps of the last pictures, least recently used dropped first.
pub(crate) struct StepStore<T = StepRecords> {
    /// Most recently used last.
    pictures: Mutex<VecDeque<PictureSteps<T>>>,
}

struct PictureSteps<T> {
    key: StepsKey,
    /// Who computed them; equal texts have equal bytes.
    computed_by: String,
    /// The number of whole steps.
    steps: u32,
    bytes: u64,
    records: Arc<T>,
}

impl<T> Default for StepStore<T> {
    fn default() -> Self {
        Self { pictures: Mutex::default() }
    }
}

impl StepStore {
    /// Keeps the records of a picture, which these devices computed.
    pub(crate) fn insert(&self, key: StepsKey, computed_by: String, records: &Arc<StepRecords>) {
        let (steps, bytes) = (records.steps(), records.bytes());
        self.insert_sized(PictureSteps { key, computed_by, steps, bytes, records: Arc::clone(records) });
    }
}

impl<T> StepStore<T> {
    /// Records of a picture, where its first `steps` steps are kept.
    pub(crate) fn get(&self, key: &StepsKey, steps: u32) -> Option<Arc<T>> {
        let mut pictures = self.pictures.lock();
        let index = pictures.iter().position(|it| it.key == *key && it.steps >= steps)?;
        let picture = pictures.remove(index)?;
        let records = Arc::clone(&picture.records);
        pictures.push_back(picture);
        Some(records)
    }

    /// Records of a picture that were computed so, and the number of their steps.
    pub(crate) fn get_same(&self, key: &StepsKey, computed_by: &str) -> Option<(Arc<T>, u32)> {
        let steps = self.pictures.lock().iter().find(|it| it.key == *key && it.computed_by == computed_by)?.steps;
        self.get(key, steps).map(|records| (records, steps))
    }

    /// Keeps a picture in the place of one of the same key with fewer steps.
    fn insert_sized(&self, picture: PictureSteps<T>) {
        if picture.steps == 0 || picture.bytes > MAX_BYTES_OF_PICTURE || self.get(&picture.key, picture.steps).is_some() {
            return;
        }
        let mut pictures = self.pictures.lock();
        pictures.retain(|it| it.key != picture.key);
        let mut bytes: u64 = pictures.iter().map(|it| it.bytes).sum();
        while bytes + picture.bytes > MAX_BYTES || pictures.len() >= MAX_PICTURES {
            let Some(dropped) = pictures.pop_front() else { break };
            bytes -= dropped.bytes;
        }
        pictures.push_back(picture);
    }

    /// Forgets all of them.
    pub(crate) fn clear(&self) {
        self.pictures.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::{Hires, InitImage, Lora, Seed, SeedBlend};

    const NO_IMAGES: StepsInput<'static> =
        StepsInput { size: (512, 512), init: None, mask: None, area: None, references: &[], control: None, person: &[] };

    fn picture(number: u8, steps: u32, bytes: u64) -> PictureSteps<u8> {
        PictureSteps { key: StepsKey::of_number(number), computed_by: "CPU".into(), steps, bytes, records: Arc::new(number) }
    }

    #[test]
    fn the_least_recently_used_picture_is_dropped_and_memory_is_bounded() {
        let store = StepStore::default();
        for number in 0..4 {
            store.insert_sized(picture(number, 8, MAX_BYTES / 4));
        }
        assert_eq!(store.get(&StepsKey::of_number(0), 8).as_deref(), Some(&0), "all of them have room");
        store.insert_sized(picture(4, 8, MAX_BYTES / 3));
        let kept: Vec<u8> = (0..5).filter(|number| store.get(&StepsKey::of_number(*number), 1).is_some()).collect();
        assert_eq!(kept, [0, 3, 4], "the two that were used longest ago went");
        for number in 10..100 {
            store.insert_sized(picture(number, 8, u64::from(number) << 20));
            let bytes: u64 = store.pictures.lock().iter().map(|it| it.bytes).sum();
            assert!(bytes <= MAX_BYTES, "{bytes}");
        }
        store.insert_sized(picture(200, 8, MAX_BYTES_OF_PICTURE + 1));
        assert!(store.get(&StepsKey::of_number(200), 1).is_none(), "no picture takes the room of all others");
        for number in 0..=255 {
            store.insert_sized(PictureSteps { key: StepsKey::of_number(number), ..picture(0, 8, 1) });
            store.insert_sized(PictureSteps { key: StepsKey([number, 1].repeat(16).try_into().unwrap()), ..picture(0, 8, 1) });
        }
        assert_eq!(store.pictures.lock().len(), MAX_PICTURES, "however small");
        store.clear();
        assert!(store.pictures.lock().is_empty());
    }

    #[test]
    fn a_picture_serves_branches_of_the_steps_that_it_has_and_more_steps_replace_fewer() {
        let store = StepStore::default();
        store.insert_sized(picture(1, 0, 1));
        store.insert_sized(picture(2, 3, 1));
        assert!(
            store.get(&StepsKey::of_number(1), 0).is_none()
                && store.get(&StepsKey::of_number(2), 3).is_some()
                && store.get(&StepsKey::of_number(2), 4).is_none()
        );
        store.insert_sized(picture(2, 6, 2));
        store.insert_sized(picture(2, 2, 1));
        assert!(store.get(&StepsKey::of_number(2), 6).is_some());
        assert_eq!(store.pictures.lock().len(), 1);
    }

    #[test]
    fn steps_of_other_arithmetic_are_not_the_same() {
        let store = StepStore::default();
        store.insert_sized(picture(1, 3, 1));
        let key = StepsKey::of_number(1);
        assert_eq!(store.get_same(&key, "CPU").map(|(_, steps)| steps), Some(3));
        assert!(store.get_same(&key, "GPU0").is_none() && store.get_same(&StepsKey::of_number(2), "CPU").is_none());
        assert!(store.get(&key, 3).is_some(), "a branch takes them all the same");
    }

    #[test]
    fn the_key_is_of_everything_that_changes_steps_and_of_nothing_else() {
        let recipe = Recipe { prompt: "a lake".into(), ..Recipe::default() };
        let key = |recipe: &Recipe, seed| {
            let input = StepsInput { size: (recipe.width, recipe.height), ..NO_IMAGES };
            StepsKey::new(&Recipe { seed: Some(Seed(seed)), ..recipe.clone() }, &input).0
        };
        let same = [
            Recipe { batch_count: 3, seed: Some(Seed(9)), threads: Some(2), vae_tiling: true, ..recipe.clone() },
            Recipe { hires: Some(Hires::default()), last_step: Some(3), ..recipe.clone() },
            Recipe { disabled_loras: vec![Lora::new("a".into(), 1.0)], ..recipe.clone() },
        ];
        for other in &same {
            assert_eq!(key(other, 7), key(&recipe, 7));
        }
        let others = [
            Recipe { prompt: "a hill".into(), ..recipe.clone() },
            Recipe { guidance: 2.0, ..recipe.clone() },
            Recipe { steps: 21, ..recipe.clone() },
            Recipe { width: 64, ..recipe.clone() },
            Recipe { seed_blend: Some(SeedBlend::default()), ..recipe.clone() },
            Recipe { loras: vec![Lora::new("a".into(), 1.0)], ..recipe.clone() },
            Recipe { earlier_steps: recipe.steps_until(3, None), ..recipe.clone() },
            Recipe { init: Some(InitImage { image: ImageSource::File("a.png".into()), strength: 0.5 }), ..recipe.clone() },
        ];
        for other in &others {
            assert_ne!(key(other, 7), key(&recipe, 7));
        }
        assert_ne!(key(&recipe, 8), key(&recipe, 7));
        let named = |name: &str| Recipe { earlier_steps: recipe.steps_until(3, Some(name.into())), ..recipe.clone() };
        assert_eq!(key(&named("a.png"), 7), key(&named("b.png"), 7), "its name is for people");
        let [one, other] = [1, 2].map(|value| Rgb8::new(1, 1, vec![value; 3]).unwrap());
        let of = |init| StepsKey::new(&recipe, &StepsInput { init, ..NO_IMAGES }).0;
        assert!(of(Some(&one)) != of(Some(&other)) && of(Some(&one)) != of(None));
        let control = StepsKey::new(&recipe, &StepsInput { control: Some(&one), ..NO_IMAGES }).0;
        let faces = [one.clone()];
        let person = StepsKey::new(&recipe, &StepsInput { person: &faces, ..NO_IMAGES }).0;
        assert_ne!(person, StepsKey::new(&recipe, &StepsInput { references: &faces, ..NO_IMAGES }).0);
        assert_ne!(person, of(None));
        assert_ne!(control, of(Some(&one)));
        let part = |strength| StepsKey::new(&recipe, &StepsInput { area: Some(AreaParams { strength, soft_mask: None }), ..NO_IMAGES }).0;
        assert!(part(0.5) != part(0.6) && part(0.5) != of(None));
    }
}
