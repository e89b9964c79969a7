//! Memory bar of a device: uses from left to right, limit, and excess.
//!
//! Excess is shown in three ways, so that no colour is needed to see it: red, hatched, and higher
//! than the rest. Pure but for painting.

use eframe::egui::text::{LayoutJob, TextFormat};
use eframe::egui::{Color32, FontId, Id, Label, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Ui, pos2, vec2};

use crate::gui::state::State;
use crate::gui::theme;
use crate::gui::theme::Palette;
use atelier_core::device::Device;
use atelier_core::format::memory_size;
use atelier_core::placement::{Budgets, MemoryUse, Phase};
use atelier_language::tr;

/// Duration of a bar's change of length, in seconds.
pub(crate) const MOVE_SECS: f32 = 0.12;

/// Part of a bar's width that a change must have to be animated.
const MIN_MOVE: f32 = 0.01;

/// Distance of hatching lines, in points.
const HATCH: f32 = 5.0;
/// Side of a colour's sample in the legend, in points.
const SAMPLE: f32 = 10.0;

/// A device's memory in one phase, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    /// Memory of the device; 0 if it does not say.
    pub(crate) total_bytes: u64,
    /// Memory used by other programs.
    pub(crate) other_programs_bytes: u64,
    /// Predicted use by Atelier; without a prediction, its resident weights.
    pub(crate) used: MemoryUse,
    /// Resident weights of other models, as far as they can stay.
    pub(crate) other_models_bytes: u64,
    /// The most that Atelier may use.
    pub(crate) limit_bytes: u64,
    /// Budget, on top of the memory used by other programs.
    pub(crate) budget_bytes: Option<u64>,
    /// Measured use of the last run.
    pub(crate) measured_bytes: Option<u64>,
    /// Phase that is shown.
    pub(crate) phase: Option<Phase>,
}

impl Bar {
    /// Bar of a device in a phase; `None`: in the phase with the highest use.
    pub(crate) fn of(state: &State, device: &Device, phase: Option<Phase>) -> Self {
        let board = &state.devices.board;
        // Another studio's pictures take nothing here.
        let is_here = state.shared.next.studio.is_none();
        let prediction = board.prediction.as_ref().filter(|_| is_here).and_then(|it| it.device(&device.name));
        let capacity = board.capacity(&device.name);
        let budget = board.placement.as_ref().zip(capacity).and_then(|(it, capacity)| it.budgets.bytes(&capacity.device));
        let phase = prediction.map(|it| phase.unwrap_or(it.peak().0));
        let held = board.resident_bytes.get(&device.name).copied().unwrap_or(0);
        let used = match (prediction, phase) {
            (Some(it), Some(phase)) => it.in_phase(phase),
            _ => MemoryUse { resident_bytes: held, ..MemoryUse::default() },
        };
        let free = capacity.map_or(device.memory_free_bytes, |capacity| capacity.device.memory_free_bytes);
        let usual = || capacity.map_or(free, |capacity| capacity.limit_bytes(&Budgets::default()));
        let limit = prediction.map_or_else(usual, |it| it.limit_bytes);
        // Without a prediction all resident weights are one part.
        let models = if prediction.is_some() { state.devices.bytes_of_other_models(&state.shared, &device.name) } else { 0 };
        Self {
            total_bytes: device.memory_total_bytes,
            other_programs_bytes: device.memory_total_bytes.saturating_sub(free),
            used,
            other_models_bytes: models.min(limit.saturating_sub(used.total_bytes())),
            limit_bytes: limit,
            budget_bytes: budget,
            measured_bytes: phase.and_then(|phase| board.measured_bytes(&device.name, phase)),
            phase,
        }
    }

    /// Bytes above the limit.
    pub(crate) fn over(&self) -> u64 {
        self.used.total_bytes().saturating_sub(self.limit_bytes)
    }

    /// Bytes used in total.
    pub(crate) fn sum(&self) -> u64 {
        self.other_programs_bytes.saturating_add(self.used.total_bytes()).saturating_add(self.other_models_bytes)
    }

    /// Bytes that the full width stands for.
    pub(crate) fn scale(&self) -> u64 {
        let budget = self.other_programs_bytes.saturating_add(self.budget_bytes.unwrap_or(0));
        self.total_bytes.max(self.sum()).max(budget).max(1)
    }

    /// Parts from left to right: name, bytes, colour.
    fn parts(&self, palette: &Palette) -> [(&'static str, u64, Color32); 7] {
        let MemoryUse { resident_bytes, staged_bytes, compute_bytes, overhead_bytes, shared_bytes } = self.used;
        [
            (tr!("devices-other-programs"), self.other_programs_bytes, palette.others),
            (tr!("devices-weights-2"), resident_bytes, palette.resident),
            (tr!("devices-copied-in"), staged_bytes, palette.staged),
            (tr!("devices-compute"), compute_bytes, palette.compute),
            (tr!("devices-set-aside"), overhead_bytes, palette.slack),
            (tr!("devices-integrated-graphics"), shared_bytes, palette.slack),
            (tr!("devices-other-models"), self.other_models_bytes, palette.other_models),
        ]
    }

    /// All parts in words, a line each.
    pub(crate) fn words(&self, palette: &Palette) -> String {
        let mut lines: Vec<String> = self
            .parts(palette)
            .into_iter()
            .filter(|(_, bytes, _)| *bytes > 0)
            .map(|(what, bytes, _)| format!("{}  {what}", memory_size(bytes)))
            .collect();
        if let Some(phase) = self.phase {
            lines.insert(0, tr!("devices-predicted-phase", phase = phase.label()));
        }
        lines.push(tr!("devices-in-use-of", sum = memory_size(self.sum()), total_bytes = memory_size(self.total_bytes)));
        if let Some(bytes) = self.budget_bytes {
            lines.push(tr!("devices-budget-2", bytes = memory_size(bytes)));
        }
        if let Some(bytes) = self.measured_bytes {
            lines.push(tr!("devices-measured-in-the-last", bytes = memory_size(bytes)));
        }
        if self.over() > 0 {
            lines.push(tr!("devices-too-much-4", over = memory_size(self.over())));
        }
        lines.join("\n")
    }
}

/// The present length of what moves to `to`, of `width` points in all. A change that is hardly seen
/// is there at once: each movement is half a dozen frames.
fn moved(ui: &Ui, id: Id, to: f32, width: f32) -> f32 {
    let before = ui.data_mut(|data| std::mem::replace(data.get_temp_mut_or(id, to), to));
    let is_small = before != to && (before - to).abs() < width * MIN_MOVE;
    ui.ctx().animate_value_with_time(id, to, if is_small { 0.0 } else { MOVE_SECS })
}

/// Paints a bar into this rectangle; its parts are animated to new sizes.
pub(crate) fn paint(ui: &Ui, rect: Rect, bar: &Bar, id: Id, dim: bool) {
    let palette = theme::palette(ui);
    let painter = ui.painter_at(rect.expand2(vec2(2.0, 8.0)));
    let painter = &painter;
    let fade = |color: Color32| if dim { color.gamma_multiply(0.45) } else { color };
    let scale = bar.scale();
    let x = |bytes: u64| rect.left() + rect.width() * (bytes as f64 / scale as f64) as f32;
    let radius = (rect.height() / 4.0).min(4.0);
    // The device's memory; excess is drawn beyond it.
    let has = Rect::from_min_max(rect.min, pos2(if bar.total_bytes > 0 { x(bar.total_bytes) } else { rect.right() }, rect.bottom()));
    painter.rect_filled(has, radius, palette.field);
    let (mut bytes, mut left) = (0_u64, rect.left());
    for (n, (_, part, color)) in bar.parts(&palette).into_iter().enumerate() {
        bytes = bytes.saturating_add(part);
        let right = moved(ui, id.with(n), x(bytes) - rect.left(), rect.width()) + rect.left();
        if right - left > 0.4 {
            let piece = Rect::from_min_max(pos2(left, rect.top()), pos2(right, rect.bottom()));
            painter.rect_filled(piece, 0.0, fade(color));
            if n == 2 {
                hatch(painter, piece, Stroke::new(1.0, fade(palette.resident)), false);
            }
            // A hairline between the parts.
            painter.vline(right, rect.y_range(), Stroke::new(1.0, palette.panel));
        }
        left = right;
    }
    painter.rect_stroke(has, radius, Stroke::new(1.0, palette.line), StrokeKind::Inside);
    if bar.over() > 0 {
        let end = Rect::from_x_y_ranges(x(bar.other_programs_bytes.saturating_add(bar.limit_bytes))..=x(bar.sum()), rect.y_range());
        let end = Rect::from_min_max(end.min - vec2(0.0, 3.0), pos2(end.right().max(end.left() + 4.0), end.bottom() + 3.0));
        painter.rect_filled(end, 2.0, fade(palette.error));
        hatch(painter, end, Stroke::new(1.5, palette.panel), true);
        painter.rect_stroke(end, 2.0, Stroke::new(1.5, fade(palette.error)), StrokeKind::Inside);
        if bar.total_bytes > 0 && bar.sum() > bar.total_bytes {
            // End of the device's memory.
            painter.vline(x(bar.total_bytes), (rect.top() - 3.0)..=(rect.bottom() + 3.0), Stroke::new(2.0, palette.strong));
        }
    } else if bar.budget_bytes.is_none()
        && bar.limit_bytes > 0
        && bar.other_programs_bytes.saturating_add(bar.limit_bytes) < bar.total_bytes
    {
        // Reserve for other programs.
        let from = x(bar.other_programs_bytes.saturating_add(bar.limit_bytes));
        painter.extend(Shape::dashed_line(&[pos2(from, rect.top()), pos2(from, rect.bottom())], Stroke::new(1.0, palette.weak), 2.0, 2.0));
    }
    if let Some(measured) = bar.measured_bytes {
        let at = pos2(x(bar.other_programs_bytes.saturating_add(measured)), rect.bottom());
        marker(painter, at, palette.strong);
    }
}

/// Marker of a measured value: a small wedge that points at the bar from below.
pub(crate) fn marker(painter: &Painter, at: Pos2, color: Color32) {
    painter.add(Shape::convex_polygon(vec![at, at + vec2(3.5, 5.0), at + vec2(-3.5, 5.0)], color, Stroke::NONE));
    painter.vline(at.x, (at.y - 4.0)..=at.y, Stroke::new(1.5, color));
}

/// Hatches a rectangle; `back` slants the lines the other way.
pub(crate) fn hatch(painter: &Painter, rect: Rect, stroke: Stroke, back: bool) {
    let painter = painter.with_clip_rect(rect.intersect(painter.clip_rect()));
    let (height, mut x) = (rect.height(), rect.left() - rect.height());
    while x < rect.right() {
        let (low, high) = if back { (rect.top(), rect.bottom()) } else { (rect.bottom(), rect.top()) };
        painter.line_segment([pos2(x, low), pos2(x + height, high)], stroke);
        x += HATCH;
    }
}

/// Legend of the colours, in as many lines as it needs.
pub(crate) fn legend(ui: &mut Ui) {
    let palette = theme::palette(ui);
    let all = [
        (tr!("devices-weights-2"), palette.resident, false),
        (tr!("devices-copied-in"), palette.staged, true),
        (tr!("devices-compute"), palette.compute, false),
        (tr!("devices-set-aside"), palette.slack, false),
        (tr!("devices-other-models"), palette.other_models, false),
        (tr!("devices-other-programs"), palette.others, false),
    ];
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(10.0, 3.0);
        for (what, color, hatched) in all {
            explained(ui, what, |painter, sample| {
                painter.rect_filled(sample, 2.0, color);
                if hatched {
                    hatch(painter, sample, Stroke::new(1.0, palette.resident), false);
                }
            });
        }
        explained(ui, tr!("devices-too-much-5"), |painter, sample| {
            painter.rect_filled(sample, 2.0, palette.error);
            hatch(painter, sample, Stroke::new(1.5, palette.panel), true);
        });
        explained(ui, tr!("devices-measured"), |painter, sample| marker(painter, sample.center() - vec2(0.0, 1.0), palette.strong));
    });
}

/// A sample and what it means, which stay together where the line ends.
fn explained(ui: &mut Ui, what: &str, paint: impl FnOnce(&Painter, Rect)) {
    let format = TextFormat::simple(FontId::proportional(theme::SMALL), theme::palette(ui).weak);
    let mut job = LayoutJob::default();
    job.append(what, SAMPLE + 5.0, format);
    let drawn = ui.add(Label::new(job).extend()).rect;
    paint(ui.painter(), Rect::from_center_size(drawn.left_center() + vec2(SAMPLE / 2.0, 0.0), vec2(SAMPLE, SAMPLE)));
}

/// Text in the small size.
pub(crate) fn small(text: impl Into<String>, color: Color32) -> eframe::egui::RichText {
    eframe::egui::RichText::new(text).size(theme::SMALL).color(color)
}
