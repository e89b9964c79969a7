//! Whether a recipe's person and its `PhotoMaker` fit together.

use super::{Person, Recipe, check_person_word};
use crate::advice::Advice;
use atelier_language::tr;

impl Recipe {
    /// Checks that a `PhotoMaker` has pictures of a person, and these have one that reads them.
    ///
    /// # Errors
    /// If one is without the other, or there are too many pictures.
    pub fn check_person(&self) -> Result<(), Advice> {
        let count = self.person.images.len();
        match (self.has_photomaker(), count) {
            (true, 0) => Err(Advice::new(tr!("core-photomaker-needs-pictures-of"), tr!("core-add-at-least-one"))),
            (false, 1..) => Err(Advice::new(tr!("core-pictures-of-a-person"), tr!("core-add-its-file-to"))),
            (true, count) if count > Person::MAX_IMAGES => {
                Err(Advice::new(tr!("core-there-are-pictures-of", count, value = Person::MAX_IMAGES), tr!("core-keep-those-that-show")))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the prompt says where the person is, where there is one.
    ///
    /// # Errors
    /// As [`check_person_word`].
    pub fn check_person_word(&self) -> Result<(), Advice> {
        if self.person.is_empty() { Ok(()) } else { check_person_word(&self.prompt) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{FileRole, ImageSource};

    #[test]
    fn a_photomaker_and_a_person_need_each_other() {
        let image = ImageSource::File("ann.png".into());
        let mut recipe = Recipe::default();
        assert_eq!(recipe.check_person(), Ok(()));
        recipe.files.set(FileRole::Photomaker, "pm.safetensors");
        assert!(recipe.check_person().unwrap_err().sentence.contains("needs pictures"));
        recipe.person.images.push(image.clone());
        assert_eq!(recipe.check_person(), Ok(()));
        recipe.person.images = vec![image; Person::MAX_IMAGES + 1];
        assert!(recipe.check_person().unwrap_err().sentence.contains("16 at most"));
        recipe.files.remove(FileRole::Photomaker);
        assert!(recipe.check_person().unwrap_err().sentence.contains("need a PhotoMaker"));
        recipe.drop_unusable_guides();
        assert_eq!((recipe.check_person(), recipe.check_person_word()), (Ok(()), Ok(())));
    }
}
