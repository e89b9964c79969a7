//! The settings of the panel that the person changed last. Pure.

use atelier_core::recipe::{Recipe, changed_settings, setting_name};

use crate::gui::create::panel_setting::{PANEL_SETTINGS, PanelSetting};

/// Settings that are remembered.
const MAX: usize = 8;

/// Takes note of the settings in which the recipes differ, by their names in no language; the last
/// one comes first.
pub(crate) fn remember(recent: &mut Vec<String>, before: &Recipe, after: &Recipe) {
    let names = changed_settings(before, after);
    let is_changed = |setting: &&PanelSetting| key_of(setting).is_some_and(|key| names.contains(&setting_name(key)));
    for setting in PANEL_SETTINGS.iter().filter(is_changed) {
        recent.retain(|it| it != setting.id());
        recent.insert(0, setting.id().to_owned());
    }
    recent.truncate(MAX);
}

/// The recipe's own name of the setting of a row; `None` where it has several, or none.
fn key_of(setting: &PanelSetting) -> Option<&'static str> {
    let axis = setting.axis()?;
    Some(axis.split_once('.').map_or(axis, |(key, _)| key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_last_comes_first_and_words_are_no_setting() {
        let mut recent = Vec::new();
        let first = Recipe::default();
        let second = Recipe { eta: Some(0.5), prompt: "a lake".into(), ..first.clone() };
        let third = Recipe { clip_skip: Some(2), ..second.clone() };
        remember(&mut recent, &first, &second);
        assert_eq!(recent, ["create-setting-eta"]);
        remember(&mut recent, &second, &third);
        remember(&mut recent, &third, &third);
        assert_eq!(recent, ["create-setting-clip-skip", "create-setting-eta"]);
        remember(&mut recent, &third, &Recipe { eta: None, ..third.clone() });
        assert_eq!(recent, ["create-setting-eta", "create-setting-clip-skip"]);
    }
}
