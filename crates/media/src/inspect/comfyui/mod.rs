//! `ComfyUI`: `prompt` is the graph that ran, `workflow` the graph as it was drawn. Settings are what the nodes before the saved picture say.

mod graph;
mod walk;
mod workflow;

use atelier_core::recipe::Rng;

use super::a1111;
use super::fields::object;
use super::settings::{PictureSettings, Tool};
use super::texts::Texts;
use graph::Graph;

pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    let ran = || Graph::of_prompt(object(texts.get("prompt")?)?);
    let drawn = || workflow::graph(&object(texts.get("workflow")?)?);
    let graph = ran().or_else(drawn)?;
    let mut settings = walk::settings(&graph);
    if graph.is_cut() {
        settings.not_understood.insert(0, ("graph".to_owned(), "it has more nodes, links or texts than the limit".to_owned()));
    }
    // Some nodes that save pictures write A1111's text too.
    if let Some(parameters) = a1111::read(texts) {
        settings.fill(PictureSettings { rng: None, ..parameters });
    }
    Some(PictureSettings { tool: Some(Tool::ComfyUi), rng: Some(Rng::Cpu), ..settings })
}
