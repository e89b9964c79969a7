//! The look of the window: the only place with colours. Neutral greys, so that pictures are judged
//! against nothing but grey, and one accent, an ultramarine. Sizes and fonts that all panels share
//! are here too.

use std::sync::Arc;

use atelier_language::tr;
use eframe::egui::epaint::text::VariationCoords;
use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{
    Color32, Context, CornerRadius, FontData, FontDefinitions, FontFamily, FontId, Id, Margin, Shadow, Stroke, Style, TextStyle, Theme,
    ThemePreference, Ui, Visuals, style, vec2,
};

use crate::gui::icons;
use crate::settings::ThemeChoice;

/// Size of what is said beside, in points. These four are all there are: more would tell nothing
/// more, and each costs a moment when it is first drawn.
pub const SMALL: f32 = 11.5;
/// Size of most text, in points.
pub const BODY: f32 = 13.0;
/// Size of what heads a card or asks a question, in points.
pub const TITLE: f32 = 15.0;
/// Size of what heads a page, in points.
pub const HEADING: f32 = 18.0;

/// Time after the last key or movement for which the caret blinks.
const CARET_BLINKS_SECS: f64 = 10.0;

/// The corner radius of controls, in points.
pub const RADIUS: u8 = 6;

/// A picture is drawn in its own colours.
pub const UNTINTED: Color32 = Color32::WHITE;

/// Over a picture, where a phrase of its prompt acted: no picture is all of it.
pub const HEAT: Color32 = Color32::from_rgb(0xff, 0x4d, 0x2e);

/// The two colours of a code that cameras read, in both themes: they look for dark on light.
pub const CODE_LIGHT: Color32 = Color32::WHITE;
pub const CODE_DARK: Color32 = Color32::BLACK;

/// The colours of one theme.
#[derive(Clone, Copy, Debug)]
pub struct Palette {
    /// Behind the picture.
    pub canvas: Color32,
    /// Behind the controls.
    pub panel: Color32,
    /// Cards, menus and tooltips.
    pub raised: Color32,
    /// Text fields.
    pub field: Color32,
    /// Buttons.
    pub control: Color32,
    /// Buttons under the pointer.
    pub control_hover: Color32,
    /// Lines that part what is beside each other, and round cards.
    pub line: Color32,
    /// Borders of controls and rails of sliders, without which nobody would see a control.
    pub edge: Color32,
    /// Headings and what matters most.
    pub strong: Color32,
    /// Text.
    pub text: Color32,
    /// Text that explains.
    pub weak: Color32,
    /// The accent: the one button that matters, progress, and what is chosen.
    pub accent: Color32,
    /// The accent under the pointer.
    pub accent_hover: Color32,
    /// Text on the accent.
    pub on_accent: Color32,
    /// Behind selected text.
    pub selection: Color32,
    /// Text about what is there and works.
    pub good: Color32,
    /// Errors.
    pub error: Color32,
    /// Warnings.
    pub warn: Color32,
    /// On bars of memory: weights that live there.
    pub resident: Color32,
    /// On bars of memory: weights copied there for what runs.
    pub staged: Color32,
    /// On bars of memory: compute buffers.
    pub compute: Color32,
    /// On bars of memory: what a device takes for itself.
    pub slack: Color32,
    /// Weights of models that are not used next.
    pub other_models: Color32,
    /// On bars of memory: other programs.
    pub others: Color32,
    /// Under cards.
    pub shadow: Color32,
    /// Over everything behind a dialog.
    pub veil: Color32,
}

const DARK: Palette = Palette {
    canvas: Color32::from_rgb(0x17, 0x17, 0x18),
    panel: Color32::from_rgb(0x1f, 0x1f, 0x21),
    raised: Color32::from_rgb(0x2a, 0x2a, 0x2d),
    field: Color32::from_rgb(0x17, 0x17, 0x18),
    control: Color32::from_rgb(0x30, 0x30, 0x33),
    control_hover: Color32::from_rgb(0x3c, 0x3c, 0x40),
    line: Color32::from_rgb(0x38, 0x38, 0x3c),
    edge: Color32::from_rgb(0x78, 0x78, 0x80),
    strong: Color32::from_rgb(0xf4, 0xf4, 0xf5),
    text: Color32::from_rgb(0xd6, 0xd6, 0xda),
    weak: Color32::from_rgb(0x9b, 0x9b, 0xa3),
    accent: Color32::from_rgb(0x7d, 0x93, 0xff),
    accent_hover: Color32::from_rgb(0x96, 0xa8, 0xff),
    on_accent: Color32::from_rgb(0x0d, 0x12, 0x2b),
    selection: Color32::from_rgb(0x3a, 0x45, 0x80),
    good: Color32::from_rgb(0x46, 0xbd, 0xa6),
    error: Color32::from_rgb(0xff, 0x84, 0x78),
    warn: Color32::from_rgb(0xf0, 0xb9, 0x55),
    resident: Color32::from_rgb(0x6f, 0x86, 0xf5),
    staged: Color32::from_rgb(0xc3, 0xae, 0xf7),
    compute: Color32::from_rgb(0x46, 0xbd, 0xa6),
    slack: Color32::from_rgb(0x86, 0x86, 0x90),
    other_models: Color32::from_rgb(0x46, 0x52, 0x8c),
    others: Color32::from_rgb(0x58, 0x58, 0x60),
    shadow: Color32::from_black_alpha(110),
    veil: Color32::from_black_alpha(140),
};

const LIGHT: Palette = Palette {
    canvas: Color32::from_rgb(0xe6, 0xe6, 0xe8),
    panel: Color32::from_rgb(0xf5, 0xf5, 0xf6),
    raised: Color32::from_rgb(0xff, 0xff, 0xff),
    field: Color32::from_rgb(0xff, 0xff, 0xff),
    control: Color32::from_rgb(0xe3, 0xe3, 0xe6),
    control_hover: Color32::from_rgb(0xd7, 0xd7, 0xdb),
    line: Color32::from_rgb(0xcf, 0xcf, 0xd4),
    edge: Color32::from_rgb(0x7f, 0x7f, 0x87),
    strong: Color32::from_rgb(0x12, 0x12, 0x14),
    text: Color32::from_rgb(0x2c, 0x2c, 0x31),
    weak: Color32::from_rgb(0x5c, 0x5c, 0x65),
    accent: Color32::from_rgb(0x3d, 0x55, 0xd9),
    accent_hover: Color32::from_rgb(0x2f, 0x45, 0xbd),
    on_accent: Color32::from_rgb(0xff, 0xff, 0xff),
    selection: Color32::from_rgb(0xc3, 0xcd, 0xff),
    good: Color32::from_rgb(0x0b, 0x6f, 0x5e),
    error: Color32::from_rgb(0xb3, 0x26, 0x1e),
    warn: Color32::from_rgb(0x8a, 0x55, 0x00),
    resident: Color32::from_rgb(0x3d, 0x55, 0xd9),
    staged: Color32::from_rgb(0x95, 0x7b, 0xd8),
    compute: Color32::from_rgb(0x12, 0x86, 0x74),
    slack: Color32::from_rgb(0x7c, 0x7c, 0x86),
    other_models: Color32::from_rgb(0x9a, 0xa6, 0xe6),
    others: Color32::from_rgb(0xa9, 0xa9, 0xb1),
    shadow: Color32::from_black_alpha(40),
    veil: Color32::from_black_alpha(90),
};

/// The colours of the theme in use.
#[must_use]
pub fn palette(ui: &Ui) -> Palette {
    if ui.visuals().dark_mode { DARK } else { LIGHT }
}

/// A colour as the ground of text, in which it and other text are read in both themes.
#[must_use]
pub fn quiet(colour: Color32) -> Color32 {
    colour.gamma_multiply(0.18)
}

/// Draws buttons in the accent: for the one thing to do next.
pub fn accented<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    let palette = palette(ui);
    ui.scope(|ui| {
        let widgets = &mut ui.visuals_mut().widgets;
        for (state, fill) in [
            (&mut widgets.inactive, palette.accent),
            (&mut widgets.hovered, palette.accent_hover),
            (&mut widgets.active, palette.accent_hover),
        ] {
            state.weak_bg_fill = fill;
            state.bg_stroke.color = fill;
            state.fg_stroke.color = palette.on_accent;
        }
        add(ui)
    })
    .inner
}

/// Draws buttons in grey, also among those in the accent: what is disabled is nothing to do next, and
/// faded words on the accent cannot be read.
pub fn without_accent(ui: &mut Ui) {
    if ui.visuals().widgets.inactive.weak_bg_fill == palette(ui).accent {
        ui.visuals_mut().widgets = ui.ctx().global_style().visuals.widgets.clone();
    }
}

/// Bold text for a painter.
#[must_use]
pub fn bold_job(text: &str, size: f32, color: Color32) -> LayoutJob {
    let format = TextFormat { coords: VariationCoords::new([(b"wght", 600.0)]), ..TextFormat::simple(FontId::proportional(size), color) };
    LayoutJob::single_section(text.to_owned(), format)
}

/// Gives the window its fonts and both themes.
pub fn install(ctx: &Context) {
    ctx.set_fonts(fonts());
    for (theme, palette) in [(Theme::Dark, DARK), (Theme::Light, LIGHT)] {
        ctx.style_mut_of(theme, |style| apply_style(style, theme, palette));
    }
}

/// Lets the caret blink while somebody types, and stand still once nothing was touched for a while:
/// each blink is a frame. Call it once a frame.
pub(crate) fn rest_caret(ctx: &Context) {
    let now = ctx.time();
    let is_touched = ctx.input(|input| !input.events.is_empty());
    let touched = ctx.data_mut(|data| {
        let last = data.get_temp_mut_or(Id::unique("last touched"), now);
        if is_touched {
            *last = now;
        }
        *last
    });
    let blinks = now - touched < CARET_BLINKS_SECS;
    if ctx.global_style().visuals.text_cursor.blink != blinks {
        ctx.all_styles_mut(|style| style.visuals.text_cursor.blink = blinks);
    }
}

/// Light, dark, or as the system has it.
pub fn set_theme(ctx: &Context, choice: ThemeChoice) {
    ctx.set_theme(match choice {
        ThemeChoice::System => ThemePreference::System,
        ThemeChoice::Light => ThemePreference::Light,
        ThemeChoice::Dark => ThemePreference::Dark,
    });
}

/// Inter before egui's own fonts; what no font here has (CJK, Arabic, ...) comes from the system on
/// demand.
pub(crate) fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    fonts.font_data.insert("Inter".into(), Arc::new(FontData::from_static(ttf_inter::REGULAR)));
    fonts.families.entry(FontFamily::Proportional).or_default().insert(0, "Inter".into());
    icons::add_font(&mut fonts);
    fonts
}

fn apply_style(style: &mut Style, theme: Theme, palette: Palette) {
    style.text_styles = [
        (TextStyle::Small, FontId::proportional(SMALL)),
        (TextStyle::Body, FontId::proportional(BODY)),
        (TextStyle::Button, FontId::proportional(BODY)),
        (TextStyle::Heading, FontId::proportional(HEADING)),
        (TextStyle::Monospace, FontId::monospace(SMALL)),
    ]
    .into();
    let spacing = &mut style.spacing;
    spacing.item_spacing = vec2(8.0, 7.0);
    spacing.button_padding = vec2(9.0, 4.0);
    spacing.interact_size = vec2(36.0, 26.0);
    spacing.slider_rail_height = 4.0;
    spacing.menu_margin = Margin::same(5);
    spacing.window_margin = Margin::same(16);
    spacing.icon_width = 16.0;
    spacing.icon_width_inner = 10.0;
    spacing.icon_spacing = 6.0;
    spacing.tooltip_width = 320.0;
    spacing.combo_height = 320.0;
    // Less than lies between the edge of a row and its words, or they could not be read.
    let fade = style::ScrollFadeStyle { strength: 0.3, size: 8.0 };
    spacing.scroll = style::ScrollStyle { floating: true, bar_width: 8.0, fade, ..style::ScrollStyle::floating() };
    style.interaction.tooltip_delay = 0.45;
    style.interaction.selectable_labels = false;
    style.animation_time = 0.1;
    style.visuals = visuals(theme, palette);
}

fn visuals(theme: Theme, palette: Palette) -> Visuals {
    let mut visuals = match theme {
        Theme::Dark => Visuals::dark(),
        Theme::Light => Visuals::light(),
    };
    let radius = CornerRadius::same(RADIUS);
    let widget = |fill, line: Color32, text| style::WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: Stroke::new(1.0, line),
        corner_radius: radius,
        fg_stroke: Stroke::new(1.0, text),
        expansion: 0.0,
    };
    visuals.widgets = style::Widgets {
        noninteractive: widget(palette.panel, palette.line, palette.text),
        inactive: widget(palette.control, palette.edge, palette.text),
        hovered: widget(palette.control_hover, palette.text, palette.strong),
        active: widget(palette.control_hover, palette.accent, palette.strong),
        open: widget(palette.control_hover, palette.edge, palette.strong),
    };
    visuals.selection = style::Selection { bg_fill: palette.selection, stroke: Stroke::new(1.0, palette.strong) };
    visuals.weak_text_color = Some(palette.weak);
    visuals.hyperlink_color = palette.accent;
    visuals.faint_bg_color = palette.control;
    visuals.extreme_bg_color = palette.field;
    visuals.text_edit_bg_color = Some(palette.field);
    visuals.code_bg_color = palette.field;
    visuals.warn_fg_color = palette.warn;
    visuals.error_fg_color = palette.error;
    visuals.panel_fill = palette.panel;
    visuals.window_fill = palette.raised;
    visuals.window_stroke = Stroke::new(1.0, palette.line);
    visuals.window_corner_radius = CornerRadius::same(10);
    visuals.menu_corner_radius = CornerRadius::same(8);
    let shadow = Shadow { offset: [0, 6], blur: 22, spread: 0, color: palette.shadow };
    visuals.window_shadow = shadow;
    visuals.popup_shadow = shadow;
    visuals.slider_trailing_fill = true;
    visuals.handle_shape = style::HandleShape::Circle;
    visuals.indent_has_left_vline = false;
    visuals.text_cursor.stroke = Stroke::new(1.5, palette.accent);
    visuals.disabled_alpha = 0.6;
    visuals
}

impl ThemeChoice {
    /// The words on the button that leads to it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::System => tr!("window-system-theme"),
            Self::Light => tr!("window-light-theme"),
            Self::Dark => tr!("window-dark-theme"),
        }
    }

    /// Its effect, in a sentence.
    #[must_use]
    pub fn tooltip(self) -> &'static str {
        match self {
            Self::System => tr!("window-follow-the-systems-theme"),
            Self::Light => tr!("window-dark-text-on-a"),
            Self::Dark => tr!("window-light-text-on-a"),
        }
    }

    /// The one that the theme button leads to.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::System => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::System,
        }
    }
}

#[cfg(test)]
mod tests;
