//! Pictures from a document: what would be generated is found out on another thread, then asked
//! for.

use crate::gui::canvas::candidate::{CandidateRun, next_seed};
use crate::gui::canvas::state::{Gesture, OpenDocument, Part, State};
use crate::gui::canvas::tool::ToolOptions;
use crate::gui::canvas::work::{self, Analysis, AnalysisBasis, CandidateBase, Extension};
use crate::gui::context::Context;
use crate::gui::create;
use crate::gui::shared::{Shared, random_seed};
use crate::gui::workers::Worker;
use atelier_core::canvas::{AreaFill, AreaSettings, LayerKind};
use atelier_core::recipe::{FileRole, ImageSource, InitImage, Recipe};
use atelier_language::tr;

/// Asks for pictures of what the document shows, as soon as it is known.
pub(crate) fn generate(state: &mut State, context: &mut Context<'_>) {
    if let Some(document) = state.edited_mut() {
        let part = document.part();
        if !document.wanted_parts.contains(&part) {
            document.wanted_parts.push_back(part);
        }
        refresh(state, context);
    }
}

/// Asks for pictures of every region, from the bottom, each by its own words.
pub(crate) fn generate_regions(state: &mut State, context: &mut Context<'_>) {
    if let Some(document) = state.edited_mut() {
        document.wanted_parts = document.regions().map(Part::Region).collect();
        refresh(state, context);
    }
}

/// Finds out what would be generated, once nothing is being drawn, and asks for it where that was
/// wanted.
pub(crate) fn refresh(state: &mut State, context: &mut Context<'_>) {
    let options = state.options;
    let Some(document) = state.edited_mut() else { return };
    let wanted = document.wanted_parts.front().copied();
    let basis = basis(document, wanted.unwrap_or_else(|| document.part()), context.shared, &options);
    let is_drawing = matches!(document.gesture, Some(Gesture::Stroke(_)));
    let is_known = document.analysis.as_ref().is_some_and(|analysis| analysis.basis == basis);
    if !is_known && !is_drawing && document.pending_edits == 0 && !document.is_analysing {
        document.is_analysing = true;
        let (number, content) = (document.number, document.document.content().clone());
        context.run(
            Worker::Pixels,
            move || work::analyse(basis, &content),
            move |analysis, features, _| {
                if let Some(document) = features.canvas.open_document_mut(number) {
                    analysed(document, analysis);
                }
            },
        );
    }
    if let Some(part) = wanted
        && let Some(analysis) = analysis_of(document, part, context.shared, &options).cloned()
    {
        document.wanted_parts.pop_front();
        if part == Part::Masked || analysis.mask.is_some() {
            ask(document, &analysis, &options, context);
        } else {
            context.notice(tr!("canvas-a-region-is-empty"));
        }
        if !document.wanted_parts.is_empty() {
            context.egui.request_repaint();
        }
    }
}

fn basis(document: &OpenDocument, part: Part, shared: &Shared, options: &ToolOptions) -> AnalysisBasis {
    let size = (shared.next.recipe.width, shared.next.recipe.height);
    let (version, wraps) = (document.document.version(), shared.seamless());
    AnalysisBasis { version, size, strength: options.strength, area: options.area, region: part.region(), wraps }
}

/// What would be generated with these settings, where that is known.
pub(crate) fn current<'a>(document: &'a OpenDocument, shared: &Shared, options: &ToolOptions) -> Option<&'a Analysis> {
    analysis_of(document, document.part(), shared, options)
}

fn analysis_of<'a>(document: &'a OpenDocument, part: Part, shared: &Shared, options: &ToolOptions) -> Option<&'a Analysis> {
    let basis = basis(document, part, shared, options);
    document.analysis.as_ref().filter(|analysis| analysis.basis == basis && document.pending_edits == 0)
}

/// It was found out.
fn analysed(document: &mut OpenDocument, analysis: Analysis) {
    document.is_analysing = false;
    let was_other = document.analysis.as_ref().is_some_and(|before| before.basis.region != analysis.basis.region);
    if analysis.crop.is_empty() || was_other {
        // Each part has a crop of its own.
        document.crop = None;
    }
    document.analysis = Some(analysis);
}

fn ask(document: &mut OpenDocument, analysis: &Analysis, options: &ToolOptions, context: &mut Context<'_>) {
    let next = &context.shared.next;
    let mut recipe = recipe((&next.resolved_recipe(), next.takes_control()), document, analysis, options);
    recipe.batch_count = context.shared.picture_count();
    if let Some(chosen) = context.shared.next.recipe.seed {
        recipe.seed = Some(next_seed(&mut document.seed_uses, analysis.basis, &recipe, chosen));
    }
    document.runs.push(CandidateRun::new(&recipe, CandidateBase::new(document.number, analysis)));
    context.follow_up(create::Command::GenerateWith(Box::new(recipe)));
}

/// The recipe of a document's pictures, whose size stays the one at which the model works best. Its
/// seed is drawn here, so that its job is known by it. `takes_control`: its model can follow a
/// control picture.
pub(crate) fn recipe(
    (base, takes_control): (&Recipe, bool),
    document: &OpenDocument,
    analysis: &Analysis,
    options: &ToolOptions,
) -> Recipe {
    let picture = &analysis.picture;
    // What has no pixels has nothing to be kept.
    let strength = if analysis.uncovered.is_empty() { options.strength } else { 1.0 };
    // What is drawn on the canvas is what the model sees.
    let crop = document.crop.or(Some(analysis.crop)).filter(|crop| !crop.is_empty());
    let seed = Some(base.seed.unwrap_or_else(random_seed));
    let base = &guided(base, takes_control, document, analysis);
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

/// A recipe with the words of the region and the guides of the layers.
fn guided(base: &Recipe, takes_control: bool, document: &OpenDocument, analysis: &Analysis) -> Recipe {
    // The canvas is the only start picture.
    let mut recipe = Recipe { further_starts: Vec::new(), ..base.clone() };
    let region = analysis.basis.region.and_then(|id| document.document.content().layer(id));
    if let Some(LayerKind::Region { words }) = region.map(|layer| &layer.kind)
        && !words.trim().is_empty()
    {
        recipe.prompt.clone_from(words);
        if recipe.check_person_word().is_err() {
            // These words are about something else.
            recipe.files.remove(FileRole::Photomaker);
            recipe.drop_unusable_guides();
        }
    }
    if let Some(control) = analysis.control.as_ref().filter(|_| takes_control) {
        recipe.set_control_picture(ImageSource::Pixels(control.clone()));
    }
    recipe.reference_images.extend(analysis.references.iter().cloned().map(ImageSource::Pixels));
    recipe
}
