//! Chips behind the names of LoRAs and embeddings in a prompt's text: the text lies as it would
//! without them.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui::epaint::RectShape;
use eframe::egui::layers::ShapeIdx;
use eframe::egui::{Context, Galley, Id, Pos2, Rect, Response, Shape, Stroke, StrokeKind, Ui};

use crate::gui::command::Command as AnyCommand;
use crate::gui::create::Command;
use crate::gui::create::chips::{Chip, Standing, chips};
use crate::gui::create::tokens::PromptField;
use crate::gui::memo::memoize;
use crate::gui::state::State;
use crate::gui::text_selection::{select, selected};
use crate::gui::theme;
use atelier_core::recipe::embedding_word;
use atelier_language::tr;
use atelier_studio::library_service::LibrarySnapshot;

/// Corner radius of a chip, in points.
const RADIUS: u8 = 4;

/// Bytes of the longest prompt that has chips; one of 10,000 letters, the most that a model reads,
/// has fewer.
const MAX_READ: usize = 40_000;

/// What the chips of a field are read from.
struct Source {
    text: String,
    steps: u32,
    embeddings: Vec<PathBuf>,
    loras: Vec<PathBuf>,
    /// The library's LoRAs are others with another snapshot of it, or another number of them.
    library: Arc<LibrarySnapshot>,
    library_loras: usize,
    has_other_studio: bool,
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.library, &other.library)
            && self.library_loras == other.library_loras
            && self.has_other_studio == other.has_other_studio
            && self.steps == other.steps
            && self.text == other.text
            && self.embeddings == other.embeddings
            && self.loras == other.loras
    }
}

/// The chips of a field that was drawn.
pub(super) struct DrawnChips {
    chips: Arc<(Source, Vec<Chip>)>,
    /// Index of the one under the pointer.
    pointed: Option<usize>,
}

/// Draws the chips of a field and the field's own ground, for which `below` was kept free before it
/// was drawn without one.
pub(super) fn draw_chips(
    ui: &Ui,
    state: &State,
    field: PromptField,
    response: &Response,
    (galley, place): (&Galley, Pos2),
    below: ShapeIdx,
    text: &str,
) -> DrawnChips {
    let chips = read(ui.ctx(), state, field, response.id, text);
    let palette = theme::palette(ui);
    let visuals = ui.visuals();
    let ground = RectShape::filled(response.rect, visuals.widgets.inactive.corner_radius, visuals.text_edit_bg_color());
    let mut shapes = vec![Shape::from(ground)];
    let pointer = response.hover_pos().or_else(|| response.interact_pointer_pos());
    let mut pointed = None;
    for (index, chip) in chips.1.iter().enumerate() {
        let tone = if chip.standing.is_fault() { palette.warn } else { palette.accent };
        // What has no effect is known without its colour too.
        let outline = if chip.standing.is_fault() { Stroke::new(1.0, tone) } else { Stroke::NONE };
        for rect in row_rects(galley, &chip.letters) {
            let rect = rect.translate(place.to_vec2());
            if pointer.is_some_and(|at| rect.contains(at)) {
                pointed = Some(index);
            }
            shapes.push(RectShape::new(rect, RADIUS, theme::quiet(tone), outline, StrokeKind::Inside).into());
        }
    }
    ui.painter().set(below, Shape::Vec(shapes));
    DrawnChips { chips, pointed }
}

fn read(ctx: &Context, state: &State, field: PromptField, id: Id, text: &str) -> Arc<(Source, Vec<Chip>)> {
    let next = &state.shared.next;
    let source = Source {
        text: text.to_owned(),
        steps: next.recipe.steps_in_pass(0),
        embeddings: next.recipe.embeddings.clone(),
        loras: next.recipe.loras.iter().map(|lora| lora.path.clone()).collect(),
        library: Arc::clone(&state.shared.library),
        library_loras: next.lora_files.len(),
        has_other_studio: next.studio.is_some(),
    };
    memoize(ctx, id.with("chips"), source, |source| {
        if source.text.len() > MAX_READ {
            return Vec::new();
        }
        let standing = |name: &str| match field {
            PromptField::Negative => Standing::Negative,
            PromptField::Prompt if source.has_other_studio => Standing::OtherStudio,
            PromptField::Prompt if next.lora_named(name).is_some() => Standing::Found,
            PromptField::Prompt => Standing::NotFound,
        };
        let embeddings: Vec<String> = source.embeddings.iter().map(|path| embedding_word(path)).collect();
        chips(&source.text, source.steps, &embeddings, standing)
    })
}

impl DrawnChips {
    /// What the chip under the pointer is, in sentences.
    pub(super) fn hover(&self, ctx: &Context) -> Option<String> {
        let (source, chips) = &*self.chips;
        Some(sentences(ctx, chips.get(self.pointed?)?, source.steps))
    }

    /// Selects the chip that was clicked, so that the keys of weights mean it; a second click puts
    /// the caret into it.
    pub(super) fn select_clicked(&self, response: &Response, text: &str) {
        let (ctx, memory) = (&response.ctx, response.id.with("selected chip"));
        let before = ctx.data(|data| data.get_temp::<Range<usize>>(memory));
        if response.clicked() {
            let clicked = self.pointed.and_then(|index| self.chips.1.get(index)).map(|chip| chip.range.clone());
            match clicked.filter(|range| before.as_ref() != Some(range)) {
                Some(range) => {
                    select(ctx, response.id, text, range.clone());
                    ctx.data_mut(|data| data.insert_temp(memory, range));
                    // The selection shows from the next frame on.
                    ctx.request_repaint();
                }
                None => ctx.data_mut(|data| data.remove::<Range<usize>>(memory)),
            }
        } else if before.is_some() && !ctx.input(|input| input.pointer.any_down()) && selected(ctx, response.id, text) != before {
            ctx.data_mut(|data| data.remove::<Range<usize>>(memory));
        }
    }
}

/// Name, strength, steps, and whether it is found.
fn sentences(ctx: &Context, chip: &Chip, steps: u32) -> String {
    let name = &chip.name;
    let (first, last) = (chip.steps.start + 1, chip.steps.end);
    let acts = if chip.steps.is_empty() {
        tr!("create-acts-in-no-step").to_owned()
    } else if chip.steps == (0..steps) {
        tr!("create-acts-in-all-steps").to_owned()
    } else {
        tr!("create-acts-in-steps", first, last, steps)
    };
    let (what, missing) = match chip.strengths {
        Some(strengths) => (tr!("create-lora-strength", name, strengths), tr!("create-no-lora-has-this")),
        None => (tr!("create-embedding-2", name), tr!("create-no-embedding-of-this")),
    };
    let mut lines = match chip.standing {
        Standing::Found => vec![what, acts, tr!("create-its-file-is-found").to_owned()],
        Standing::OtherStudio => vec![what, acts, tr!("create-the-other-studio-looks").to_owned()],
        Standing::NotFound => vec![what, missing.to_owned()],
        Standing::Negative => vec![what, tr!("create-loras-have-no-effect").to_owned()],
    };
    let keys = [Command::WeighWords(true), Command::WeighWords(false)].map(|command| AnyCommand::from(command).key_text(ctx));
    lines.push(tr!("create-click-to-select-it", keys = keys[0], keys_2 = keys[1]));
    lines.join("\n")
}

/// Where letters of a galley lie, a rectangle for each of its rows.
fn row_rects(galley: &Galley, letters: &Range<usize>) -> impl Iterator<Item = Rect> {
    let mut next = 0;
    galley.rows.iter().filter_map(move |placed| {
        let first = next;
        let glyphs = &placed.row.glyphs;
        next += glyphs.len() + usize::from(placed.ends_with_newline);
        let (start, end) = (letters.start.max(first), letters.end.min(first + glyphs.len()));
        let own = glyphs.get(start.checked_sub(first)?..end.checked_sub(first)?).filter(|own| !own.is_empty())?;
        // A letter that runs to the left has a negative width.
        let edges = own.iter().flat_map(|glyph| [glyph.pos.x, glyph.max_x()]);
        let (left, right) = edges.fold((f32::INFINITY, f32::NEG_INFINITY), |(left, right), x| (left.min(x), right.max(x)));
        Some(Rect::from_x_y_ranges(left..=right, 0.0..=placed.row.size.y).translate(placed.pos.to_vec2()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use eframe::egui::text::LayoutJob;
    use eframe::egui::{Color32, FontId, RawInput};

    #[test]
    fn a_chip_has_a_rectangle_in_each_row_that_it_runs_over() {
        let ctx = Context::default();
        let mut galley = None;
        let mut output = ctx.run_ui(RawInput::default(), |ui| {
            let job = LayoutJob::simple("one two\nthree four five".into(), FontId::monospace(theme::SMALL), Color32::WHITE, 80.0);
            galley = Some(ui.fonts_mut(|fonts| fonts.layout_job(job)));
        });
        // Without a screen nobody else takes them.
        output.textures_delta.clear();
        let galley = galley.unwrap();
        let rects = |letters: Range<usize>| row_rects(&galley, &letters).collect::<Vec<_>>();
        assert_eq!((rects(0..3).len(), rects(3..3).len(), rects(40..50).len()), (1, 0, 0));
        let over_lines = rects(4..13);
        assert_eq!(over_lines.len(), 2, "{over_lines:?}");
        assert!(over_lines[0].left() > 0.0 && over_lines[1].left() == 0.0 && over_lines[0].bottom() <= over_lines[1].top() + 0.5);
        let all = rects(0..usize::MAX);
        assert_eq!(all.len(), galley.rows.len());
        for (rect, placed) in all.iter().zip(&galley.rows) {
            assert!(rect.top() == placed.pos.y && rect.width() > 0.0, "{rect:?}");
        }
    }
}
