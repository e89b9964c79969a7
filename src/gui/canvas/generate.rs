//! Pictures from a document: what would be generated is found out on another thread, then asked for.

use crate::gui::canvas::candidate::Run;
use crate::gui::canvas::state::{Gesture, OpenDocument, State};
use crate::gui::canvas::tasks::{Analysis, AnalysisBasis, CanvasPixelTask, Extension};
use crate::gui::canvas::tool::ToolOptions;
use crate::gui::context::Context;
use crate::gui::create;
use crate::gui::files::PixelTask;
use crate::gui::shared::{Shared, random_seed};
use atelier_core::canvas::{AreaFill, AreaSettings};
use atelier_core::recipe::{ImageSource, InitImage, Recipe};

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
    let basis = basis(document, context.shared, &options);
    let is_drawing = matches!(document.gesture, Some(Gesture::Stroke(_)));
    let is_known = document.analysis.as_ref().is_some_and(|analysis| analysis.basis == basis);
    if !is_known && !is_drawing && document.pending_edits == 0 && !document.is_analysing {
        document.is_analysing = true;
        let (number, content) = (document.number, document.document.content().clone());
        context.workers.pixel(PixelTask::Canvas(CanvasPixelTask::Analyse { document: number, basis, content }));
    }
    if document.generates
        && let Some(analysis) = current(document, context.shared, &options).cloned()
    {
        document.generates = false;
        ask(document, &analysis, &options, context);
    }
}

const fn basis(document: &OpenDocument, shared: &Shared, options: &ToolOptions) -> AnalysisBasis {
    let size = (shared.recipe.width, shared.recipe.height);
    AnalysisBasis { version: document.document.version(), size, strength: options.strength, area: options.area }
}

/// What would be generated with these settings, where that is known.
pub(crate) fn current<'a>(document: &'a OpenDocument, shared: &Shared, options: &ToolOptions) -> Option<&'a Analysis> {
    let basis = basis(document, shared, options);
    document.analysis.as_ref().filter(|analysis| analysis.basis == basis && document.pending_edits == 0)
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
pub(crate) fn recipe(base: &Recipe, document: &OpenDocument, analysis: &Analysis, options: &ToolOptions) -> Recipe {
    let picture = &analysis.picture;
    // What has no pixels has nothing to be kept.
    let strength = if analysis.uncovered.is_empty() { options.strength } else { 1.0 };
    // What is drawn on the canvas is what the model sees.
    let crop = document.crop.or(Some(analysis.crop)).filter(|crop| !crop.is_empty());
    let seed = if base.seed < 0 { random_seed() } else { base.seed };
    if let Some(Extension { picture, borders }) = &analysis.extension {
        return Recipe {
            seed,
            init: Some(InitImage { image: ImageSource::Pixels(picture.clone()), strength }),
            mask: None,
            area: Some(options.area),
            outpaint: Some(*borders),
            ..base.clone()
        };
    }
    let usual = (!analysis.uncovered.is_empty()).then_some(AreaFill::Border);
    Recipe {
        seed,
        init: Some(InitImage { image: ImageSource::Pixels(picture.clone()), strength }),
        mask: analysis.mask_picture.clone().map(ImageSource::Pixels),
        area: Some(AreaSettings { crop, fill: options.area.fill.or(usual), ..options.area }),
        outpaint: None,
        earlier_steps: Vec::new(),
        ..base.clone()
    }
}
