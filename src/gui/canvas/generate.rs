//! Pictures from a document: what would be generated is found out on another thread, then asked for.

use crate::gui::canvas::candidate::Run;
use crate::gui::canvas::state::{Gesture, OpenDocument, State};
use crate::gui::canvas::tasks::{Analysis, AnalysisBasis, CanvasPixelTask};
use crate::gui::canvas::tool::ToolOptions;
use crate::gui::context::Context;
use crate::gui::create;
use crate::gui::files::PixelTask;
use atelier_core::canvas::{AreaFill, AreaSettings};
use atelier_core::recipe::{ImageSource, InitImage, Recipe, Rgb8};

/// Seeds that are drawn stay short enough to be read out.
const SEEDS: std::ops::Range<i64> = 0..1_000_000_000;

/// Asks for pictures of what the document shows, as soon as it is known.
pub(crate) fn generate(state: &mut State, context: &mut Context<'_>) {
    if let Some(document) = state.edited_mut() {
        document.generates = true;
        refresh(state, context);
    }
}

/// Finds out what would be generated, once nothing is being drawn, and asks for it where that was wanted.
pub(crate) fn refresh(state: &mut State, context: &mut Context<'_>) {
    let options = state.options;
    let Some(document) = state.edited_mut() else { return };
    let basis = AnalysisBasis {
        version: document.document.version(),
        size: (context.shared.recipe.width, context.shared.recipe.height),
        strength: options.strength,
    };
    let is_drawing = matches!(document.gesture, Some(Gesture::Stroke(_)));
    let is_known = document.analysis.as_ref().is_some_and(|analysis| analysis.basis == basis);
    if !is_known && !is_drawing && document.pending_edits == 0 && !document.is_analysing {
        document.is_analysing = true;
        let (number, content) = (document.number, document.document.content().clone());
        context.workers.pixel(PixelTask::Canvas(CanvasPixelTask::Analyse { document: number, basis, content }));
    }
    if document.generates
        && document.pending_edits == 0
        && let Some(analysis) = document.current_analysis().cloned()
    {
        document.generates = false;
        ask(document, &analysis, &options, context);
    }
}

/// It was found out.
pub(crate) fn analysed(document: &mut OpenDocument, analysis: Analysis) {
    document.is_analysing = false;
    if analysis.crop.is_empty() {
        // The next part that is masked has a crop of its own.
        document.crop = None;
    }
    document.analysis = Some(analysis);
}

fn ask(document: &mut OpenDocument, analysis: &Analysis, options: &ToolOptions, context: &mut Context<'_>) {
    let recipe = recipe(&context.shared.recipe, document, analysis, options);
    document.runs.push(Run::new(&recipe, analysis.picture.clone()));
    context.follow_up(create::Command::GenerateWith(Box::new(recipe)));
}

/// The recipe of a document's pictures, whose size stays the one at which the model works best. Its seed is drawn here, so that its job is known by it.
fn recipe(base: &Recipe, document: &OpenDocument, analysis: &Analysis, options: &ToolOptions) -> Recipe {
    let picture = &analysis.picture;
    let mask = analysis
        .mask
        .as_ref()
        .map_or_else(|| vec![255; picture.pixels().len()], |mask| mask.pixels().iter().flat_map(|value| [*value; 3]).collect());
    // What has no pixels has nothing to be kept.
    let strength = if analysis.uncovered.is_empty() { options.strength } else { 1.0 };
    // What is drawn on the canvas is what the model sees.
    let crop = document.crop.or(Some(analysis.crop)).filter(|crop| !crop.is_empty());
    let fill = (!analysis.uncovered.is_empty()).then_some(AreaFill::Border);
    Recipe {
        seed: if base.seed < 0 { rand::random_range(SEEDS) } else { base.seed },
        init: Some(InitImage { image: ImageSource::Pixels(picture.clone()), strength }),
        mask: Rgb8::new(picture.width(), picture.height(), mask).map(ImageSource::Pixels),
        area: Some(AreaSettings { crop, fill, ..AreaSettings::default() }),
        outpaint: None,
        earlier_steps: Vec::new(),
        ..base.clone()
    }
}
