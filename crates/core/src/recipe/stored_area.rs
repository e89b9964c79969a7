//! The form in which files store the settings of an area.

use serde::{Deserialize, Serialize};

use crate::canvas::{AreaFill, AreaSettings, PixelRect};

/// Settings of an area as files of this machine and pictures store them: a field that is absent or of a later version has its usual value.
/// Names here are part of the formats: they never change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredArea {
    context: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    feather: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fill: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crop: Option<PixelRect>,
    soft_mask: bool,
    seam_correction: bool,
}

impl Default for StoredArea {
    fn default() -> Self {
        Self::from(AreaSettings::default())
    }
}

impl From<AreaSettings> for StoredArea {
    fn from(settings: AreaSettings) -> Self {
        let AreaSettings { context, feather, fill, crop, soft_mask, seam_correction } = settings;
        Self { context, feather, fill: fill.map(|it| it.key().to_owned()), crop, soft_mask, seam_correction }
    }
}

impl From<StoredArea> for AreaSettings {
    fn from(stored: StoredArea) -> Self {
        let StoredArea { context, feather, fill, crop, soft_mask, seam_correction } = stored;
        let fill = fill.as_deref().and_then(AreaFill::from_key);
        Self { context, feather, fill, crop, soft_mask, seam_correction }.clamped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_back_and_those_of_a_later_version_are_readable() {
        let crop = Some(PixelRect { left: 3, top: 4, width: 50, height: 60 });
        let fill = Some(AreaFill::Noise);
        let settings = AreaSettings { context: 2.0, feather: Some(7), fill, crop, soft_mask: false, seam_correction: false };
        let text = serde_json::to_string(&StoredArea::from(settings)).unwrap();
        assert_eq!(AreaSettings::from(serde_json::from_str::<StoredArea>(&text).unwrap()), settings);
        let later = r#"{"context":-3.0,"fill":"dream","of a later version":1}"#;
        let read = AreaSettings::from(serde_json::from_str::<StoredArea>(later).unwrap());
        assert_eq!(read, AreaSettings { context: 1.0, ..AreaSettings::default() });
    }
}
