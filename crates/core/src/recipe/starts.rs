//! Several start pictures: a picture is made from each, all with the same other settings.

use super::setting::MAX_FILES;
use super::{ImageSource, InitImage, Recipe, shaped_as};

impl Recipe {
    /// The most start pictures that a recipe has at hand.
    pub const MAX_STARTS: usize = MAX_FILES + 1;

    /// The start pictures, in the order in which pictures are made from them.
    pub fn starts(&self) -> impl Iterator<Item = &ImageSource> {
        let further = self.further_starts.iter().filter(|_| self.init.is_some());
        self.init.iter().map(|init| &init.image).chain(further)
    }

    /// Makes pictures start from these; strength and mask stay. Returns how many had no room.
    pub fn set_starts(&mut self, images: impl IntoIterator<Item = ImageSource>) -> usize {
        let mut images = images.into_iter();
        let Some(image) = images.next() else { return 0 };
        let strength = self.init.as_ref().map_or(InitImage::USUAL_STRENGTH, |init| init.strength);
        self.init = Some(InitImage { image, strength });
        self.further_starts = images.by_ref().take(MAX_FILES).collect();
        images.count()
    }

    /// Removes the start picture of this index; with the last one goes what is said of it.
    pub fn remove_start(&mut self, index: usize) {
        if index >= self.starts().count() {
            return;
        }
        match index.checked_sub(1) {
            Some(further) => drop(self.further_starts.remove(further)),
            None if self.further_starts.is_empty() => self.remove_init(),
            None => {
                let image = self.further_starts.remove(0);
                self.init = self.init.take().map(|init| InitImage { image, ..init });
            }
        }
    }

    /// A recipe for each start picture. `sizes`: theirs in pixels, where they are known. Where the
    /// recipe has the size that its first start picture gives it beside `usual`, the size that suits
    /// the model, each of them has the size that its own gives; a size that was chosen stays.
    #[must_use]
    pub fn of_each_start(&self, sizes: &[Option<(u32, u32)>], usual: (u32, u32)) -> Vec<Self> {
        let shaped = |own: (u32, u32)| shaped_as(own, usual, (None, None));
        let first = sizes.first().copied().flatten();
        let follows = !self.changes_part() && first.is_some_and(|own| shaped(own) == (self.width, self.height));
        let of_start = |(index, image): (usize, &ImageSource)| {
            let own = sizes.get(index).copied().flatten().filter(|_| follows && index > 0);
            let (width, height) = own.map_or((self.width, self.height), shaped);
            let init = self.init.as_ref().map(|init| InitImage { image: image.clone(), strength: init.strength });
            Self { init, further_starts: Vec::new(), width, height, ..self.clone() }
        };
        if self.init.is_none() {
            return vec![Self { further_starts: Vec::new(), ..self.clone() }];
        }
        self.starts().enumerate().map(of_start).collect()
    }
}

/// The first of these start pictures, by their sizes in pixels, that has another size than the first
/// of all: one mask does not lie over both.
#[must_use]
pub fn first_of_other_size(sizes: &[(u32, u32)]) -> Option<usize> {
    sizes.iter().position(|size| Some(size) != sizes.first())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Seed;

    fn image(name: &str) -> ImageSource {
        ImageSource::File(name.into())
    }

    fn from(names: &[&str]) -> Recipe {
        let mut recipe = Recipe { seed: Some(Seed(7)), ..Recipe::default() };
        assert_eq!(recipe.set_starts(names.iter().map(|name| image(name))), 0);
        recipe
    }

    #[test]
    fn each_start_picture_has_a_recipe_of_its_own() {
        let recipe = from(&["a", "b", "c"]);
        let made = recipe.of_each_start(&[None; 3], (512, 512));
        let starts: Vec<_> = made.iter().map(|it| it.init.as_ref().unwrap().image.clone()).collect();
        assert_eq!(starts, ["a", "b", "c"].map(image));
        assert!(made.iter().all(|it| it.further_starts.is_empty() && it.seed == Some(Seed(7)) && (it.width, it.height) == (512, 512)));
        assert_eq!(Recipe::default().of_each_start(&[], (512, 512)), [Recipe::default()]);
        let orphaned = Recipe { init: None, ..recipe };
        assert_eq!((orphaned.starts().count(), orphaned.of_each_start(&[], (512, 512)).len()), (0, 1));
    }

    #[test]
    fn each_has_its_own_shape_unless_a_size_was_chosen() {
        let sizes = [Some((64, 128)), Some((128, 64)), None];
        let of = |width, height| {
            let made = Recipe { width, height, ..from(&["a", "b", "c"]) }.of_each_start(&sizes, (512, 512));
            made.iter().map(|it| (it.width, it.height)).collect::<Vec<_>>()
        };
        assert_eq!(of(64, 128), [(64, 128), (128, 64), (64, 128)], "one that cannot be read tells its own error later");
        assert_eq!(of(320, 320), [(320, 320); 3]);
    }

    #[test]
    fn start_pictures_are_removed_one_by_one() {
        let mut recipe = Recipe { mask: Some(image("m")), ..from(&["a", "b", "c"]) };
        let starts = |recipe: &Recipe| recipe.starts().cloned().collect::<Vec<_>>();
        recipe.remove_start(9);
        recipe.remove_start(1);
        assert_eq!(starts(&recipe), ["a", "c"].map(image));
        recipe.remove_start(0);
        assert_eq!((starts(&recipe), recipe.mask.is_some()), (vec![image("c")], true));
        recipe.remove_start(0);
        assert_eq!((starts(&recipe), recipe.mask), (Vec::new(), None));
    }

    #[test]
    fn there_is_room_for_so_many() {
        let mut recipe = Recipe::default();
        assert_eq!(recipe.set_starts((0..Recipe::MAX_STARTS + 3).map(|n| image(&n.to_string()))), 3);
        assert_eq!((recipe.starts().count(), recipe.clone().clamp()), (Recipe::MAX_STARTS, Vec::new()));
        assert_eq!(recipe.set_starts([]), 0);
        assert_eq!(recipe.starts().count(), Recipe::MAX_STARTS, "nothing was chosen");
    }

    #[test]
    fn sizes_are_compared_with_the_first() {
        assert_eq!(first_of_other_size(&[]), None);
        assert_eq!(first_of_other_size(&[(8, 8), (8, 8)]), None);
        assert_eq!(first_of_other_size(&[(8, 8), (8, 8), (8, 9)]), Some(2));
    }
}
