use super::*;

const THEMES: [(Theme, Palette); 2] = [(Theme::Dark, DARK), (Theme::Light, LIGHT)];

/// WCAG's contrast, 1 to 21.
fn contrast(a: Color32, b: Color32) -> f64 {
    let luminance = |color: Color32| {
        let linear = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(color.r()) + 0.7152 * linear(color.g()) + 0.0722 * linear(color.b())
    };
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

/// The page for phones is a file by itself, which cannot ask for colours.
#[test]
fn the_page_of_the_server_has_these_colours() {
    let page = include_str!("../../http/page/index.html");
    let (light, dark) = page.split_once("@media (prefers-color-scheme: dark) {").unwrap();
    for (part, palette) in [(light, LIGHT), (dark, DARK)] {
        let Palette { canvas, panel, field, control, line, edge, strong, text, weak, accent, on_accent, error, .. } = palette;
        let named = [("canvas", canvas), ("panel", panel), ("field", field), ("control", control), ("line", line), ("edge", edge)];
        let others = [("strong", strong), ("text", text), ("weak", weak), ("accent", accent), ("on-accent", on_accent), ("error", error)];
        for (name, colour) in named.into_iter().chain(others) {
            let [red, green, blue, _] = colour.to_array();
            let rule = format!("--{name}: #{red:02x}{green:02x}{blue:02x};");
            assert!(part.contains(&rule), "{rule}");
        }
    }
}

/// Holds that the least contrast of these pairs is as large as it must be, and prints it.
fn holds(theme: Theme, what: &str, least: f64, pairs: impl IntoIterator<Item = (Color32, Color32)>) {
    let contrasts = pairs.into_iter().map(|(colour, ground)| (contrast(colour, ground), colour, ground));
    let (found, colour, ground) = contrasts.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap();
    println!("| {theme:?} | {what} | {found:.2} | at least {least} |");
    assert!(found >= least, "{theme:?}: {what}: {colour:?} on {ground:?}: {found}");
}

/// Every colour on every ground.
fn each(colours: &[Color32], grounds: &[Color32]) -> Vec<(Color32, Color32)> {
    colours.iter().flat_map(|colour| grounds.iter().map(|ground| (*colour, *ground))).collect()
}

#[test]
fn every_text_can_be_read_on_every_ground() {
    for (theme, palette) in THEMES {
        let grounds = [palette.canvas, palette.panel, palette.raised, palette.field, palette.control];
        holds(theme, "text", 7.0, each(&[palette.text], &grounds));
        holds(theme, "text that explains", 4.5, each(&[palette.weak], &grounds));
        holds(theme, "what is there", 4.5, each(&[palette.good], &grounds));
        holds(theme, "errors", 4.5, each(&[palette.error], &grounds));
        holds(theme, "warnings", 4.5, each(&[palette.warn], &grounds));
        holds(theme, "text on the accent", 4.5, each(&[palette.on_accent], &[palette.accent, palette.accent_hover]));
        holds(theme, "selected text", 4.5, [(palette.strong, palette.selection)]);
    }
}

#[test]
fn every_control_stands_out_from_every_ground() {
    let ctx = Context::default();
    install(&ctx);
    for (theme, palette) in THEMES {
        let widgets = ctx.style_of(theme).visuals.widgets.clone();
        let borders = [widgets.inactive, widgets.hovered, widgets.active, widgets.open].map(|it| it.bg_stroke.color);
        let grounds = [palette.canvas, palette.panel, palette.raised, palette.field];
        holds(theme, "borders of controls", 3.0, each(&borders, &grounds));
        holds(theme, "rails of sliders, and the accent", 3.0, each(&[palette.edge, palette.accent], &grounds));
        // The handle of a slider is as dark as its rail, and has a line of text's colour round it.
        holds(theme, "handles of sliders", 3.0, [(palette.text, palette.edge)]);
    }
}

#[test]
fn what_is_disabled_or_lies_at_the_end_of_a_list_can_be_read() {
    let ctx = Context::default();
    install(&ctx);
    for (theme, palette) in THEMES {
        let style = ctx.style_of(theme);
        let fade = style.spacing.scroll.fade;
        // Between the words of a row and its edge.
        let margin = (style.spacing.interact_size.y - BODY) / 2.0;
        let faded = fade.strength * (1.0 - margin / fade.size).max(0.0);
        let seen = |colour: Color32, ground: Color32| ground.blend(style.visuals.disable(colour));
        let grounds = [palette.canvas, palette.panel, palette.raised];
        let fills = grounds.map(|ground| seen(palette.control, ground));
        holds(theme, "words on disabled buttons", 3.0, fills.map(|fill| (seen(palette.text, fill), fill)));
        let last = grounds.map(|ground| (palette.weak.blend(ground.gamma_multiply(faded)), ground));
        holds(theme, "the last row of a list", 4.5, last);
    }
}

#[test]
fn what_fills_a_bar_stands_out_from_it() {
    for (theme, palette) in THEMES {
        let fills = [palette.resident, palette.staged, palette.compute, palette.slack, palette.error];
        holds(theme, "what fills a bar", 3.0, each(&fills, &[palette.field]));
        holds(theme, "what others hold on a bar", 2.0, each(&[palette.others, palette.other_models], &[palette.field]));
    }
}

#[test]
fn the_grounds_behind_pictures_are_neutral() {
    for palette in [DARK, LIGHT] {
        for ground in [palette.canvas, palette.panel] {
            let [red, green, blue, _] = ground.to_array();
            assert!(red.abs_diff(green) <= 3 && green.abs_diff(blue) <= 3, "{ground:?}");
        }
    }
}
