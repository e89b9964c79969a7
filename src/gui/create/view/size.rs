//! The size of the picture: shapes that are drawn as they are, and sliders for the exact numbers.

use eframe::egui::{self, Rect, Role, Sense, Stroke, StrokeKind, TextStyle, Ui, WidgetInfo, vec2};

use crate::gui::command::Commands;
use crate::gui::create::Command;
use crate::gui::icons::Icon;
use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::widgets::{self, Scale, heading, icon_button, setting_row};
use atelier_core::recipe::{ROWS, Recipe};
use atelier_language::tr;

/// Sizes are multiples of this, in pixels; the engine snaps further where a model wants it.
const SNAP_PX: u32 = 16;
/// Smallest and largest side that the sliders reach, in pixels.
const SIDES_PX: std::ops::RangeInclusive<u32> = 64..=2048;
const SHAPES: [(u32, u32); 7] = [(1, 1), (4, 3), (3, 2), (16, 9), (3, 4), (2, 3), (9, 16)];

/// Draws the size of the picture.
pub(crate) fn size_section(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands) {
    heading(ui, tr!("common-size"), |ui| {
        icon_button(ui, state, commands, Icon::Swap, Command::SwapSides);
    });
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        let gaps = 4.0 * (SHAPES.len() - 1) as f32;
        let width = ((ui.available_width() - gaps) / SHAPES.len() as f32).floor();
        let chosen = shape_of(recipe.width, recipe.height);
        for shape in SHAPES {
            shape_button(ui, recipe, shape, chosen == Some(shape), width);
        }
    });
    let scale = Scale { step: f64::from(SNAP_PX), decimals: 0, logarithmic: false };
    let before = (recipe.width, recipe.height);
    setting_row(ui, tr!("create-width"), &mut recipe.width, SIDES_PX, ROWS.width.limits, &scale, tr!("create-width-in-pixels"));
    setting_row(ui, tr!("create-height"), &mut recipe.height, SIDES_PX, ROWS.height.limits, &scale, tr!("create-height-in-pixels"));
    // A size that was recalled from a picture stays as it is.
    if recipe.width != before.0 {
        recipe.width = snapped(recipe.width);
    }
    if recipe.height != before.1 {
        recipe.height = snapped(recipe.height);
    }
    let usual = state.shared.usual_size();
    if state.shared.knows_usual_recipe() && is_too_large((recipe.width, recipe.height), usual) {
        let words = tr!("create-this-model-works-best", usual = usual.0, usual_2 = usual.1);
        ui.add(egui::Label::new(widgets::small(words, theme::palette(ui).warn)).wrap());
    }
}

/// Whether a model that paints well at the usual size loses the whole of a picture of this size.
fn is_too_large(size: (u32, u32), usual: (u32, u32)) -> bool {
    let pixels = |(width, height): (u32, u32)| u64::from(width) * u64::from(height);
    pixels(size) > 4 * pixels(usual)
}

fn shape_button(ui: &mut Ui, recipe: &mut Recipe, shape: (u32, u32), chosen: bool, width: f32) {
    let (rect, response) = ui.allocate_exact_size(vec2(width, 44.0), Sense::click());
    let name = format!("{}:{}", shape.0, shape.1);
    let target = with_shape(recipe.width, recipe.height, shape);
    let hover = tr!("create-pixels-2", target = target.0, target_2 = target.1);
    response.widget_info(|| WidgetInfo::selected(Role::Button, ui.is_enabled(), chosen, tr!("create-shape", name)));
    let palette = theme::palette(ui);
    let fill = if chosen || response.hovered() { palette.control } else { palette.panel };
    ui.painter().rect_filled(rect, f32::from(theme::RADIUS), fill);
    if response.has_focus() {
        ui.painter().rect_stroke(rect, f32::from(theme::RADIUS), Stroke::new(1.0, palette.accent), StrokeKind::Inside);
    }
    let color = if chosen { palette.accent } else { palette.weak };
    let longest = shape.0.max(shape.1) as f32;
    let side = 17.0;
    let size = vec2(shape.0 as f32, shape.1 as f32) / longest * side;
    let picture = Rect::from_center_size(rect.center_top() + vec2(0.0, 15.0), size);
    ui.painter().rect_stroke(picture, 1.5, Stroke::new(1.4, color), StrokeKind::Middle);
    let text = if chosen { palette.strong } else { palette.weak };
    let font = TextStyle::Small.resolve(ui.style());
    ui.painter().text(rect.center_bottom() - vec2(0.0, 9.0), egui::Align2::CENTER_CENTER, name, font, text);
    if response.on_hover_text(hover).clicked() {
        (recipe.width, recipe.height) = target;
    }
}

fn snapped(side_px: u32) -> u32 {
    (side_px.saturating_add(SNAP_PX / 2) / SNAP_PX * SNAP_PX).max(64)
}

/// The shape that a size has, as nearly as the grid allows; a small size may have several, of which
/// the nearest counts.
fn shape_of(width: u32, height: u32) -> Option<(u32, u32)> {
    let ratio = f64::from(width) / f64::from(height);
    let off = |shape: &(u32, u32)| (ratio * f64::from(shape.1) / f64::from(shape.0)).ln().abs();
    let shapes = SHAPES.into_iter().filter(|shape| with_shape(width, height, *shape) == (width, height));
    shapes.min_by(|one, other| off(one).total_cmp(&off(other)))
}

/// A size of this shape with about as many pixels as before.
fn with_shape(width: u32, height: u32, shape: (u32, u32)) -> (u32, u32) {
    let area = f64::from(width) * f64::from(height);
    let ratio = f64::from(shape.0) / f64::from(shape.1);
    // A size that already has the shape, as nearly as the grid allows, stays as it is.
    let height_of = |width: u32| snapped((f64::from(width) / ratio).round() as u32);
    if height_of(width) == height {
        return (width, height);
    }
    let width = snapped((area * ratio).sqrt().round() as u32);
    (width, height_of(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_keeps_about_as_many_pixels() {
        for shape in SHAPES {
            let (width, height) = with_shape(1024, 1024, shape);
            let area = f64::from(width * height) / (1024.0 * 1024.0);
            assert!((0.93..1.07).contains(&area), "{shape:?} gives {width}x{height}");
            assert_eq!((width % SNAP_PX, height % SNAP_PX), (0, 0));
        }
    }

    #[test]
    fn choosing_a_shape_twice_changes_nothing() {
        for shape in SHAPES {
            let once = with_shape(512, 768, shape);
            assert_eq!(with_shape(once.0, once.1, shape), once, "{shape:?}");
        }
    }

    #[test]
    fn a_size_has_one_shape_or_none() {
        assert_eq!([shape_of(64, 64), shape_of(1024, 768), shape_of(768, 1024)], [Some((1, 1)), Some((4, 3)), Some((3, 4))]);
        assert_eq!((shape_of(80, 64), shape_of(2048, 64)), (Some((4, 3)), None));
        for shape in SHAPES {
            let (width, height) = with_shape(1024, 1024, shape);
            assert_eq!(shape_of(width, height), Some(shape));
        }
    }

    #[test]
    fn portrait_and_landscape_mirror_each_other() {
        let (width, height) = with_shape(1024, 1024, (3, 2));
        assert_eq!(with_shape(1024, 1024, (2, 3)), (height, width));
    }

    #[test]
    fn sides_snap_to_the_grid() {
        assert_eq!((snapped(500), snapped(520), snapped(1)), (496, 528, 64));
    }
}
