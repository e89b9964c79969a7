//! Live with the built-in model: from a change to its first preview and its picture on the screen,
//! and the window's frames meanwhile.

use std::sync::Arc;
use std::time::Instant;

use atelier::gui::App;
use atelier::gui::viewport::canvas_rect;
use atelier::settings::Settings;
use atelier_core::recipe::{Recipe, Seed};
use atelier_engine::JobId;
use atelier_library::Builtin;
use eframe::egui::accesskit::Role;
use eframe::egui::{Event, Key, Modifiers, PointerButton, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::frames::{frame, options_in, window};
use super::{LIMIT, Outcome};

/// Pixels a side, those that the goal of 150 ms names.
const SIDE: u32 = 256;

/// A window in which frames come 60 times a second, as a screen asks for them.
struct Screen {
    harness: Harness<'static, Option<App>>,
    /// Milliseconds that each frame took.
    frames: Vec<f64>,
}

/// Milliseconds from changes to what is seen of them.
#[derive(Default)]
struct Times {
    first_preview: Vec<f64>,
    picture: Vec<f64>,
}

impl Screen {
    fn frame(&mut self) {
        self.frames.push(frame(&mut self.harness) * 1000.0);
    }

    fn app(&self) -> Option<&App> {
        self.harness.state().as_ref()
    }

    fn until(&mut self, what: &str, holds: impl Fn(&App) -> bool) -> Outcome<()> {
        let deadline = Instant::now() + LIMIT;
        while !self.app().is_some_and(&holds) {
            self.frame();
            if Instant::now() > deadline {
                return Err(format!("no {what} came").into());
            }
        }
        Ok(())
    }

    fn press(&mut self, modifiers: Modifiers, key: Key) {
        self.harness.key_press_modifiers(modifiers, key);
        self.frame();
    }

    /// The job whose preview or picture is on the screen.
    fn shown(&self) -> Option<JobId> {
        let state = self.app()?.state();
        let live = match state.canvas.edited() {
            Some(document) => state.live.shown_over(document.number),
            None => state.live.shown(),
        };
        live.map(|picture| picture.job)
    }

    /// Measures from `begun`, the moment of a change, before which the look of `before` was shown.
    fn measure(&mut self, begun: Instant, before: Option<JobId>, times: &mut Times) -> Outcome<()> {
        while self.shown() == before || self.shown().is_none() {
            self.frame();
            if begun.elapsed() > LIMIT {
                return Err("no preview came".into());
            }
        }
        times.first_preview.push(begun.elapsed().as_secs_f64() * 1000.0);
        self.until("picture", |app| app.state().live.has_result())?;
        times.picture.push(begun.elapsed().as_secs_f64() * 1000.0);
        // What comes after a picture is not the next change's.
        for _ in 0..20 {
            self.frame();
        }
        Ok(())
    }

    fn pointer(&mut self, at: Vec2, pressed: Option<bool>) {
        let Some(rect) = canvas_rect(&self.harness.ctx) else { return };
        let pos = rect.center() + at;
        self.harness.event(Event::PointerMoved(pos));
        if let Some(pressed) = pressed {
            self.harness.event(Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE });
        }
        self.frame();
    }
}

/// Prints the table: words that are typed, then strokes.
pub(super) fn measure(rounds: usize) -> Outcome<()> {
    let home = tempfile::tempdir()?;
    let options = options_in(home.path(), Ok(Arc::new(Builtin::find()?)));
    let recipe =
        Recipe { prompt: "a lake under snowy mountains".into(), width: SIDE, height: SIDE, seed: Some(Seed(3)), ..Recipe::default() };
    let mut screen = Screen { harness: window(options, Settings { recipe, ..Settings::default() }), frames: Vec::new() };
    println!(
        "| Live, built-in model, {SIDE} x {SIDE} | first preview, median | longest | picture, median | longest |\n|---|---|---|---|---|"
    );

    screen.frame();
    screen.press(Modifiers::COMMAND, Key::G);
    screen.until("picture", |app| app.state().live.has_result())?;
    screen.frames.clear();
    let mut words = Times::default();
    for n in 0..rounds {
        let words_added = [" at night", " at noon", " at sunset", " in winter"][n % 4];
        screen.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").focus();
        screen.frame();
        let before = screen.shown();
        let begun = Instant::now();
        screen.harness.get_by_role_and_label(Role::MultilineTextInput, "Prompt").type_text(words_added);
        screen.measure(begun, before, &mut words)?;
    }
    row("words", &words);
    screen.press(Modifiers::COMMAND, Key::G);

    // A picture becomes a canvas when it is touched.
    screen.press(Modifiers::COMMAND, Key::Enter);
    screen.until("picture", |app| app.state().create.finished_picture_shown().is_some())?;
    let focused = screen.harness.ctx.memory(eframe::egui::Memory::focused);
    screen.harness.ctx.memory_mut(|memory| focused.into_iter().for_each(|id| memory.surrender_focus(id)));
    screen.frame();
    screen.press(Modifiers::NONE, Key::B);
    screen.until("canvas", |app| app.state().canvas.edited().is_some())?;
    screen.press(Modifiers::COMMAND, Key::G);
    screen.until("picture", |app| app.state().live.has_result())?;
    let mut strokes = Times::default();
    for n in 0..rounds {
        let top = -80.0 + 12.0 * n as f32;
        let before = screen.shown();
        screen.pointer(Vec2::new(-60.0, top), Some(true));
        for x in 1..10 {
            screen.pointer(Vec2::new(-60.0 + 12.0 * x as f32, top), None);
        }
        let begun = Instant::now();
        screen.pointer(Vec2::new(60.0, top), Some(false));
        screen.measure(begun, before, &mut strokes)?;
    }
    row("strokes", &strokes);
    let mut frames = std::mem::take(&mut screen.frames);
    if let Some(app) = screen.harness.state_mut().take() {
        app.finish();
    }
    frames.sort_by(f64::total_cmp);
    let within = |share: f64| frames.get(((frames.len() - 1) as f64 * share) as usize).copied().unwrap_or(f64::NAN);
    println!(
        "\n{} frames meanwhile: median {:.1} ms, 99 of 100 within {:.1} ms, longest {:.1} ms",
        frames.len(),
        within(0.5),
        within(0.99),
        within(1.0)
    );
    Ok(())
}

fn row(what: &str, times: &Times) {
    let text = |times: &[f64]| {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
        format!("{:.0} ms | {:.0} ms", at(sorted.len() / 2), at(sorted.len().saturating_sub(1)))
    };
    println!("| {what} | {} | {} |", text(&times.first_preview), text(&times.picture));
}
