//! Fonts of the system, for letters that ours lack: which of them go first, and which scripts have
//! none.

use std::sync::Arc;

use eframe::egui::epaint::text::FontProvider;
use eframe::egui::{Context, FontId};
use egui_system_font_provider::SystemFontProvider;
use unicode_script::{Script, UnicodeScript as _};

use atelier_language::{chosen_language, tr};

/// Finds the fonts. Languages write some Han letters in forms of their own: those of the language in
/// use go first where it writes Han, else those of the system's language.
pub(crate) fn provider() -> Arc<dyn FontProvider> {
    let provider = SystemFontProvider::new();
    Arc::new(match han_locale() {
        Some(locale) => provider.with_locale(Some(locale)),
        None => provider,
    })
}

/// The locale of the language in use, where it has forms of Han letters of its own.
pub(crate) fn han_locale() -> Option<&'static str> {
    let language = chosen_language();
    language.writes_han().then_some(language.tag())
}

/// Looks for letters anew, after the language has changed. The next frame that has a letter which
/// our fonts lack waits for the list of the system's fonts, as the first one did.
pub(crate) fn follow_language(ctx: &Context) {
    ctx.set_font_providers(vec![provider()]);
}

/// Names of the scripts of a text for which there is no font, in the order in which they come.
pub(crate) fn missing_scripts(ctx: &Context, font: &FontId, text: &str) -> Vec<String> {
    let mut missing = Vec::new();
    for letter in text.chars().filter(|it| !it.is_ascii() && !it.is_control()) {
        let script = letter.script();
        // Marks belong to the letter before them.
        let is_mark = matches!(script, Script::Inherited | Script::Unknown);
        if !is_mark && !missing.contains(&script) && !ctx.fonts_mut(|fonts| fonts.has_glyph(font, letter)) {
            missing.push(script);
        }
    }
    let name = |script: Script| match script {
        Script::Common => tr!("create-emoji-and-symbols").to_owned(),
        script => script.full_name().replace('_', " "),
    };
    missing.into_iter().map(name).collect()
}
