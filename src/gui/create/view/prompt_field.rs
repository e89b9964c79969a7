//! The prompt and the negative prompt: fields that colour what is not words, and say what is wrong.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use eframe::egui::cache::{ComputerMut, FrameCache};
use eframe::egui::text::{CCursor, CCursorRange, TextFormat};
use eframe::egui::text_edit::{TextEditOutput, TextEditState};
use eframe::egui::{
    Button, Color32, Context, Galley, Id, Label, Margin, Memory, Pos2, Response, ScrollArea, Shape, Stroke, TextBuffer, TextEdit,
    TextStyle, Ui,
};

use crate::gui::command::{Command as AnyCommand, Commands};
use crate::gui::create::Command;
use crate::gui::create::tokens::{Marks, PromptField};
use crate::gui::create::view::chips::draw_chips;
use crate::gui::create::view::coloured_text::{self, Looks, apart, overlaid};
use crate::gui::create::view::completion::{self, Completion};
use crate::gui::create::view::composed::Composed;
use crate::gui::create::view::{prompt_history, tokens};
use crate::gui::create::word_lists::WordLists;
use crate::gui::history::caret_after_change;
use crate::gui::phrases;
use crate::gui::state::State;
use crate::gui::text_menu::text_menu;
use crate::gui::text_selection::{byte_of_letter, select, selected};
use crate::gui::theme::{self, Palette};
use crate::gui::widgets::{self, heading};
use atelier_core::recipe::Recipe;
use atelier_core::words::{EditedPrompt, Fault, FaultKind, GroupKind, Phrase, Prompt, SpanKind};
use atelier_language::tr;

/// Names of the fields' ids.
const PROMPT: &str = "prompt";
const NEGATIVE: &str = "negative prompt";
/// Guidance that is offered where words are to be left out and there is none.
const OFFERED_GUIDANCE: f32 = 2.0;
/// Bytes of the longest prompt that is coloured: cutting a longer one takes a part of each frame.
const MAX_COLOURED: usize = 200_000;

/// What an empty prompt shows: words that the model paints well.
fn example_prompt(state: &State) -> String {
    let example = state.shared.examples().first();
    format!("{}…", example.map_or(tr!("create-a-lighthouse-at-dusk"), |it| it.prompt.as_str()))
}

/// What a field of words looks like.
struct Look {
    id: Id,
    field: PromptField,
    name: &'static str,
    hover: String,
    /// What it shows while it is empty.
    hint: String,
    rows: usize,
    /// Height in points from which on it scrolls.
    max_height: f32,
    margin: Margin,
}

/// Draws the prompt and the negative prompt, with what is wrong in them. `after`: commands for after
/// the recipe was changed.
pub(super) fn prompt_fields(ui: &mut Ui, state: &State, recipe: &mut Recipe, commands: &mut Commands, after: &mut Commands) {
    heading(ui, tr!("create-prompt-2"), |ui| {
        tokens::token_count(ui, state, PromptField::Prompt, &recipe.prompt);
        prompt_history::history_button(ui, state, commands);
    });
    let look = Look {
        id: Id::unique(PROMPT),
        field: PromptField::Prompt,
        name: tr!("create-prompt-2"),
        hover: prompt_hover(ui),
        hint: example_prompt(state),
        rows: 5,
        max_height: 170.0,
        margin: Margin::symmetric(10, 8),
    };
    field(ui, state, &mut recipe.prompt, look, after);
    if state.create.focus_prompt {
        ui.memory_mut(|memory| memory.request_focus(Id::unique(PROMPT)));
    }
    let without_effect = !recipe.uses_negative_prompt() && !may_join(ui, state, recipe);
    let effect = if without_effect { tr!("create-no-effect-while-guidance") } else { "" };
    let look = Look {
        id: Id::unique(NEGATIVE),
        field: PromptField::Negative,
        name: tr!("create-negative-prompt-2"),
        hover: tr!("create-negative-prompt-what-the", effect),
        hint: if without_effect { tr!("create-negative-prompt-needs-guidance") } else { tr!("create-negative-prompt-3") }.to_owned(),
        rows: 2,
        max_height: 90.0,
        margin: Margin::symmetric(10, 7),
    };
    field(ui, state, &mut recipe.negative_prompt, look, after);
    if without_effect && !recipe.negative_prompt.trim().is_empty() {
        let palette = theme::palette(ui);
        ui.horizontal_wrapped(|ui| {
            ui.label(widgets::small(tr!("create-no-effect-while-guidance-is-1"), palette.warn));
            let label = tr!("create-use-2", offered_guidance = OFFERED_GUIDANCE);
            let hover = tr!("create-set-guidance-to-so", offered_guidance = OFFERED_GUIDANCE);
            if ui.add(Button::new(widgets::small(label, palette.text))).on_hover_text(hover).clicked() {
                recipe.guidance = OFFERED_GUIDANCE;
            }
        });
    }
}

/// True where the prompt may join others, which are guided away from the negative prompt at any
/// guidance.
fn may_join(ui: &Ui, state: &State, recipe: &Recipe) -> bool {
    let joins = recipe.person.images.is_empty() && read_prompt(ui.ctx(), &recipe.prompt).joins;
    joins && state.shared.may_join_prompts()
}

/// Draws a field of words that grows with its text up to a height, then scrolls.
fn field(ui: &mut Ui, state: &State, text: &mut String, look: Look, commands: &mut Commands) {
    let Look { id, field, name, hover, hint, rows, max_height, margin } = look;
    let composed = Composed::follow(ui, id);
    let completion = Completion::open(ui, state, id, text, commands);
    ui.scope(|ui| {
        let accent = theme::palette(ui).accent;
        ui.visuals_mut().selection.stroke.color = accent;
        ScrollArea::vertical().id_salt((name, "scroll")).max_height(max_height).auto_shrink([false, true]).show(ui, |ui| {
            let mut layouter = |ui: &Ui, text: &dyn TextBuffer, width: f32| {
                let marks = Marks { composed: composed.bytes_of(text.as_str()), ..marks(state, field, text.as_str()) };
                layout(ui, id, text, width, &marks, &state.create.word_lists)
            };
            let edit = TextEdit::multiline(text).id(id).layouter(&mut layouter).hint_text(hint);
            // The chips lie between the field's ground and its text.
            let edit = edit.desired_rows(rows).desired_width(f32::INFINITY).margin(margin).background_color(Color32::TRANSPARENT);
            let below = ui.painter().add(Shape::Noop);
            let TextEditOutput { response, galley, galley_pos, .. } = edit.show(ui);
            let chips = draw_chips(ui, state, field, &response.response, (&*galley, galley_pos), below, text);
            chips.select_clicked(&response.response, text);
            let hover = chips.hover(ui.ctx()).unwrap_or(hover);
            let response = response.response.on_hover_text_at_pointer(hover).accessible_name(name);
            if field == PromptField::Prompt {
                point_at_phrase(&response, (&*galley, galley_pos), text, state, commands);
            }
            text_menu(&response);
            completion::note_typed(&response, text);
            if let Some(completion) = completion {
                completion.show(&response, text, commands);
            }
        });
    });
    fault_line(ui, &state.create.word_lists, text, composed.bytes_of(text).as_ref());
    tokens::unread_line(ui, state, field, text);
}

/// What of a field's text is to be marked.
fn marks(state: &State, field: PromptField, text: &str) -> Marks {
    let marks = state.create.tokens.marks(field, text);
    match field {
        PromptField::Prompt => Marks { quiet: state.phrases.quiet_ranges(text).to_vec(), ..marks },
        PromptField::Negative => marks,
    }
}

/// Says which phrase of the prompt is under the pointer, where that is another one than before.
fn point_at_phrase(field: &Response, (galley, place): (&Galley, Pos2), text: &str, state: &State, commands: &mut Commands) {
    if !state.phrases.is_on {
        return;
    }
    let is_pressed = field.ctx.input(|input| input.pointer.any_down());
    let at = field.hover_pos().filter(|_| !is_pressed).map(|at| at - place).filter(|at| galley.rect.contains(at.to_pos2()));
    let phrase = at.and_then(|at| {
        let byte = byte_of_letter(text, galley.cursor_from_pos(at).index.0);
        Phrase::at(read_prompt(&field.ctx, text).phrases_of(text), byte).cloned()
    });
    if phrase != state.phrases.pointed {
        commands.push(phrases::Command::Point(phrase));
    }
}

/// The caret in the prompt, in bytes, or where the selection begins; `None` where there was none yet.
pub(crate) fn prompt_caret(ctx: &Context, prompt: &str) -> Option<usize> {
    selected(ctx, Id::unique(PROMPT), prompt).map(|words| words.start)
}

/// Puts the caret behind what undo or redo changed in the field that has the keyboard. The pairs
/// are the texts before and after, of the prompt and of the negative prompt.
pub(crate) fn text_restored(ctx: &Context, prompt: (&str, &str), negative: (&str, &str)) {
    let Some(focused) = ctx.memory(Memory::focused) else { return };
    // A number that is being typed would be taken from its text again.
    ctx.data_mut(|data| data.remove_temp::<String>(focused));
    let fields = [(Id::unique(PROMPT), prompt), (Id::unique(NEGATIVE), negative)];
    let Some((_, (before, after))) = fields.into_iter().find(|(id, texts)| *id == focused && texts.0 != texts.1) else { return };
    if let Some(mut edit) = TextEditState::load(ctx, focused) {
        edit.cursor.set_char_range(Some(CCursorRange::one(CCursor::new(caret_after_change(before, after)))));
        edit.store(ctx, focused);
    }
}

/// Puts the caret behind the last word of the prompt.
pub(crate) fn put_caret_at_end(ctx: &Context, prompt: &str) {
    select(ctx, Id::unique(PROMPT), prompt, prompt.len()..prompt.len());
}

/// What the field is for, and the keys of its own.
fn prompt_hover(ui: &Ui) -> String {
    let commands = [Command::WeighWords(true), Command::WeighWords(false), Command::SwitchWords];
    let keys = commands.map(|command| AnyCommand::from(command).key_text(ui.ctx()));
    tr!("create-prompt-what-the-picture", keys = keys[0], keys_2 = keys[1], keys_3 = keys[2])
}

/// Changes the words that are selected in the prompt that has the keyboard, and selects the result.
/// False where there is nothing to change.
pub(crate) fn edit_selected(
    ctx: &Context,
    recipe: &mut Recipe,
    edit: impl FnOnce(&Prompt<'_>, Range<usize>) -> Option<EditedPrompt>,
) -> bool {
    let Some(focused) = ctx.memory(Memory::focused) else { return false };
    let fields = [(PROMPT, &mut recipe.prompt), (NEGATIVE, &mut recipe.negative_prompt)];
    let Some((_, text)) = fields.into_iter().find(|(name, _)| Id::unique(name) == focused) else { return false };
    let Some(words) = selected(ctx, focused, text) else { return false };
    let Some(edited) = edit(&Prompt::parse(text), words) else { return false };
    select(ctx, focused, &edited.text, edited.selection);
    *text = edited.text;
    true
}

/// What a part of a prompt looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ink {
    Words,
    /// Brackets of weights with their numbers, weights of joined prompts, and names of files.
    Weight,
    /// What is chosen for each picture.
    Choice,
    /// What changes over the steps.
    Steps,
    /// What no model reads.
    Comment,
}

/// A prompt as its field shows it.
#[derive(Default)]
struct ReadPrompt {
    /// Bytes of the parts, which cover the text.
    parts: Vec<(Range<usize>, Ink)>,
    /// What is wrong in it, whatever lists of words there are.
    faults: Vec<Fault>,
    /// Bytes and names of the lists of words that it names.
    lists: Vec<(Range<usize>, String)>,
    /// `AND` joins prompts in it.
    joins: bool,
    /// What can be taken out, once somebody points at it.
    phrases: OnceLock<Vec<Phrase>>,
    /// What a model reads as words, without names of files and lists, marks and what is switched off.
    words: String,
}

impl ReadPrompt {
    /// What can be taken out. `text`: what it was read from.
    fn phrases_of(&self, text: &str) -> &[Phrase] {
        let all = || if text.len() > MAX_COLOURED { Vec::new() } else { Prompt::parse(text).phrases() };
        self.phrases.get_or_init(all)
    }

    /// What is wrong: first in its marks, then the lists that nobody has. What is still `composed` is
    /// not.
    fn faults(&self, lists: &WordLists, composed: Option<&Range<usize>>) -> Vec<Fault> {
        let unknown = self.lists.iter().filter(|(_, name)| lists.lacks(name));
        let unknown = unknown.map(|(range, _)| Fault { range: range.clone(), kind: FaultKind::UnknownWildcard });
        let is_composed = |fault: &Fault| composed.is_some_and(|it| fault.range.start < it.end && it.start < fault.range.end);
        self.faults.iter().cloned().chain(unknown).filter(|fault| !is_composed(fault)).collect()
    }
}

#[derive(Default)]
struct PromptReader;

impl ComputerMut<&str, Arc<ReadPrompt>> for PromptReader {
    fn compute(&mut self, text: &str) -> Arc<ReadPrompt> {
        if text.len() > MAX_COLOURED {
            let parts = vec![(0..text.len(), Ink::Words)];
            return Arc::new(ReadPrompt { parts, words: text.to_owned(), ..ReadPrompt::default() });
        }
        let prompt = Prompt::parse(text);
        let ink_of = |number: usize| match prompt.groups.get(number).map(|group| &group.kind) {
            Some(GroupKind::More | GroupKind::Less | GroupKind::Weight(_)) => Ink::Weight,
            Some(GroupKind::Choice { .. }) => Ink::Choice,
            Some(GroupKind::Schedule(_) | GroupKind::Alternation) => Ink::Steps,
            None => Ink::Words,
        };
        let ink = |kind: SpanKind| match kind {
            SpanKind::Words | SpanKind::Literal | SpanKind::Json => Ink::Words,
            SpanKind::Comment => Ink::Comment,
            SpanKind::Lora | SpanKind::Embedding | SpanKind::Break | SpanKind::And => Ink::Weight,
            SpanKind::Wildcard | SpanKind::Header(_) | SpanKind::Share(_) => Ink::Choice,
            SpanKind::Open(group) | SpanKind::Separator(group) | SpanKind::Close(group) => ink_of(group),
        };
        let parts = prompt.spans.iter().map(|span| (span.range.clone(), ink(span.kind)));
        let words = prompt.spans.iter().filter(|span| matches!(span.kind, SpanKind::Words | SpanKind::Literal));
        let words: Vec<&str> = words.map(|span| prompt.text_of(span)).collect();
        Arc::new(ReadPrompt {
            words: words.join(" "),
            parts: overlaid(parts, &prompt.join_weights(), Ink::Weight),
            joins: prompt.joined() > 0,
            lists: prompt.wildcards().map(|(range, name)| (range, name.to_owned())).collect(),
            faults: prompt.faults,
            phrases: OnceLock::new(),
        })
    }
}

type PromptCache = FrameCache<Arc<ReadPrompt>, PromptReader>;

fn read_prompt(ctx: &Context, text: &str) -> Arc<ReadPrompt> {
    ctx.memory_mut(|memory| Arc::clone(memory.caches.cache::<PromptCache>().get(text)))
}

/// What a model reads as words of a prompt. Calls `read` with them; what it returns is returned.
pub(super) fn with_words<T>(ctx: &Context, text: &str, read: impl FnOnce(&str) -> T) -> T {
    read(&read_prompt(ctx, text).words)
}

/// The text in its colours, with lines under it.
fn layout(ui: &Ui, field: Id, text: &dyn TextBuffer, width: f32, marks: &Marks, lists: &WordLists) -> Arc<Galley> {
    let text = text.as_str();
    let read = read_prompt(ui.ctx(), text);
    let font_id = TextStyle::Body.resolve(ui.style());
    let words = ui.visuals().override_text_color.unwrap_or_else(|| ui.visuals().widgets.inactive.text_color());
    let line_height = ui.fonts_mut(|fonts| fonts.row_height(&font_id)) + ui.spacing().extra_text_line_spacing;
    let format = TextFormat { line_height: Some(line_height), ..TextFormat::simple(font_id, words) };
    coloured_text::laid_out(ui, field, text, width, &format, looks(&read, lists, marks, &theme::palette(ui)))
}

/// Colours of what is not words, weak where no model reads or a phrase changed nothing; a line under
/// what is wrong, a thin one under the first word of each chunk.
fn looks(read: &ReadPrompt, lists: &WordLists, marks: &Marks, palette: &Palette) -> Looks {
    let parts = read.parts.iter().filter_map(|(range, ink)| Some((range.clone(), colour(*ink, palette)?)));
    let weak = apart(marks.unread.iter().chain(&marks.quiet));
    let (faint, strong) = (Stroke::new(1.0, palette.weak), Stroke::new(1.5, palette.error));
    let chunks = apart(&marks.chunks).into_iter().map(|word| (word, faint));
    let faults: Vec<Range<usize>> = read.faults(lists, marks.composed.as_ref()).into_iter().map(|fault| fault.range).collect();
    Looks { colours: overlaid(parts, &weak, palette.weak), underlines: overlaid(chunks, &apart(&faults), strong) }
}

/// The colour of what is not words.
fn colour(ink: Ink, palette: &Palette) -> Option<Color32> {
    match ink {
        Ink::Words => None,
        Ink::Weight => Some(palette.accent),
        Ink::Choice => Some(palette.good),
        Ink::Steps => Some(palette.warn),
        Ink::Comment => Some(palette.weak),
    }
}

/// What is wrong first in a prompt of which this is composed, in a line below it.
fn fault_line(ui: &mut Ui, lists: &WordLists, text: &str, composed: Option<&Range<usize>>) {
    if let Some(fault) = read_prompt(ui.ctx(), text).faults(lists, composed).into_iter().next() {
        let words = text.get(fault.range).unwrap_or_default();
        let sentence = format!("{words}  {}", fault.kind.sentence());
        ui.add(Label::new(widgets::small(sentence, theme::palette(ui).warn)).wrap());
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::RawInput;

    use super::*;

    #[test]
    fn the_weight_of_a_joined_prompt_has_the_colour_of_weights() {
        fn weights(text: &str) -> Vec<&str> {
            let read = PromptReader.compute(text);
            let whole: String = read.parts.iter().filter_map(|(range, _)| text.get(range.clone())).collect();
            assert_eq!(whole, text, "the parts cover it");
            let of_weight = read.parts.iter().filter(|(_, ink)| *ink == Ink::Weight);
            of_weight.filter_map(|(range, _)| text.get(range.clone())).collect()
        }
        assert_eq!(weights("é :0.7 AND (fog:2) at -1.5:-1.5\n"), [":0.7", "AND", "(", ":2)", ":-1.5"]);
        assert_eq!(weights("é :0.7, fog and mist:2"), [""; 0], "nothing is joined");
    }

    #[test]
    fn what_is_not_words_has_a_colour_and_what_is_wrong_a_line() {
        let text = "a (red:1.2) lake, {fog|mist) far";
        let read = PromptReader.compute(text);
        let marks = Marks { chunks: vec![0..1, 12..17], unread: Some(28..text.len()), quiet: vec![12..14, 13..16], composed: None };
        let mut output = Context::default().run_ui(RawInput::default(), |ui| {
            let palette = theme::palette(ui);
            let Looks { colours, underlines } = looks(&read, &WordLists::default(), &marks, &palette);
            let coloured: Vec<(&str, Color32)> = colours.into_iter().map(|(range, colour)| (&text[range], colour)).collect();
            let expected = [("(", palette.accent), (":1.2)", palette.accent), ("lake", palette.weak), (" far", palette.weak)];
            assert_eq!(coloured, expected);
            let lines: Vec<(&str, f32)> = underlines.into_iter().map(|(range, line)| (&text[range], line.width)).collect();
            assert_eq!(lines, [("a", 1.0), ("lake,", 1.0), ("{", 1.5), (")", 1.5)]);
            let bracket = text.rfind(')').unwrap();
            let marks = Marks { composed: Some(bracket - 2..bracket + 1), ..Marks::default() };
            let Looks { underlines, .. } = looks(&read, &WordLists::default(), &marks, &palette);
            let lines: Vec<&str> = underlines.into_iter().map(|(range, _)| &text[range]).collect();
            assert_eq!(lines, ["{"], "what is composed is not wrong yet");
        });
        // Without a screen nobody else takes them.
        output.textures_delta.clear();
    }

    #[test]
    fn lists_that_nobody_has_are_wrong_once_lists_are_known() {
        let text = "é {2$$__colour__} __hue__ __l*__ (fog";
        let read = PromptReader.compute(text);
        let wrong = |lists: &WordLists| read.faults(lists, None).into_iter().map(|fault| &text[fault.range]).collect::<Vec<_>>();
        let known = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            WordLists { wildcards: Some(names), ..WordLists::default() }
        };
        assert_eq!(wrong(&WordLists::default()), ["("]);
        assert_eq!(wrong(&known(&["colour", "lake"])), ["(", "__hue__"]);
        assert_eq!(wrong(&known(&[])), ["(", "__colour__", "__hue__", "__l*__"]);
    }
}
