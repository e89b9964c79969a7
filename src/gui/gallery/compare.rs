//! Comparing two pictures: ways to look at both, and the settings in which they differ. Pure.

use atelier_gallery::PictureDetails;
use atelier_language::{decimal, tr};
use atelier_media::PictureLora;

/// Way to look at two pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompareMode {
    /// One over the other, with a divider that can be moved.
    #[default]
    Slider,
    /// Beside each other, with the same zoom and position.
    SideBySide,
    /// One after the other.
    Blink,
    /// The difference of their pixels.
    Difference,
}

impl CompareMode {
    /// All of them, in the order of their buttons.
    pub const ALL: [Self; 4] = [Self::Slider, Self::SideBySide, Self::Blink, Self::Difference];

    /// The words on its button.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Slider => tr!("gallery-slider"),
            Self::SideBySide => tr!("gallery-side-by-side"),
            Self::Blink => tr!("gallery-blink"),
            Self::Difference => tr!("gallery-difference"),
        }
    }

    /// Its effect, in a sentence.
    #[must_use]
    pub fn tooltip(self) -> &'static str {
        match self {
            Self::Slider => tr!("gallery-one-picture-over-the"),
            Self::SideBySide => tr!("gallery-side-by-side-with"),
            Self::Blink => tr!("gallery-alternate-in-the-same"),
            Self::Difference => tr!("gallery-difference-black-where-both"),
        }
    }
}

/// A setting of two pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRow {
    pub name: &'static str,
    /// Its value in the first picture; empty where it has none.
    pub first: String,
    /// Its value in the second picture; empty where it has none.
    pub second: String,
}

/// Settings that two pictures differ in, in the order of [`setting_values`].
#[must_use]
pub fn differing_settings(first: &PictureDetails, second: &PictureDetails) -> Vec<SettingRow> {
    let pairs = setting_values(first).into_iter().zip(setting_values(second));
    let rows = pairs.map(|((name, first), (_, second))| SettingRow { name, first, second });
    rows.filter(|row| row.first != row.second).collect()
}

/// Settings of a picture by name, always the same names in the same order; empty where the picture
/// does not tell.
#[must_use]
pub fn setting_values(picture: &PictureDetails) -> Vec<(&'static str, String)> {
    let settings = &picture.settings;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let model = settings.model.as_ref();
    let loras: Vec<String> = settings.loras.iter().map(PictureLora::words).collect();
    vec![
        (tr!("gallery-prompt"), text(&settings.prompt)),
        (tr!("gallery-negative-prompt"), text(&settings.negative_prompt)),
        (tr!("gallery-model"), model.and_then(|it| it.name.clone().or_else(|| it.hash.clone())).unwrap_or_default()),
        (tr!("gallery-loras"), loras.join(", ")),
        (tr!("common-size"), format!("{} × {}", settings.width, settings.height)),
        (tr!("gallery-seed"), settings.seed.map(|it| it.to_string()).unwrap_or_default()),
        (tr!("gallery-steps"), settings.steps.map(|it| it.to_string()).unwrap_or_default()),
        (tr!("gallery-guidance"), settings.guidance.map(|it| decimal(it.to_string())).unwrap_or_default()),
        (tr!("gallery-sampler"), text(&settings.sampler)),
        (tr!("gallery-scheduler"), text(&settings.scheduler)),
        (tr!("gallery-made-with"), settings.tool.map(|it| it.label().to_owned()).unwrap_or_default()),
        (tr!("gallery-made-on"), settings.recipe.as_ref().and_then(|it| it.studio()).unwrap_or_default().to_owned()),
    ]
}
