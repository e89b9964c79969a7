//! `ComfyUI`: `prompt` is the graph that ran, `workflow` the graph as it was drawn. Settings are
//! what the nodes before the saved picture say.

mod classes;
mod graph;
#[cfg(test)]
mod tests;
mod walk;
mod workflow;

use atelier_core::recipe::Rng;
use atelier_core::words::Prompt;
use atelier_language::tr;

use super::fields::{is_graph, object};
use super::settings::{PictureSettings, Tool};
use super::texts::{GRAPH, Texts, WORKFLOW};
use super::{a1111, civitai, tensor_art};
use graph::Graph;

pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    let ran = || texts.all(GRAPH).find_map(graph_that_ran);
    let drawn = || texts.all(WORKFLOW).find_map(|text| workflow::graph(&object(text)?));
    let (graph, is_drawn) = match ran() {
        Some(graph) => (graph, false),
        None => (drawn()?, true),
    };
    let mut settings = walk::settings(&graph);
    if is_drawn {
        leave_choices(&mut settings);
    }
    if graph.is_cut() {
        settings.not_understood.insert(0, ("graph".to_owned(), tr!("media-it-has-more-nodes").to_owned()));
    }
    // Some programs write beside the graph what it came to, in words of their own: there nothing
    // has to be found out.
    for told in [a1111::read(texts), civitai::extra(texts), tensor_art::read(texts)].into_iter().flatten() {
        // No words there do not say that there were none.
        let said = |words: Option<String>| words.filter(|it| !it.is_empty());
        let (prompt, negative_prompt) = (said(told.prompt), said(told.negative_prompt));
        // As the nodes have it, whoever wrote down what they came to.
        let only_round_brackets = settings.only_round_brackets;
        let told = PictureSettings { rng: None, prompt, negative_prompt, only_round_brackets, ..told };
        let other = std::mem::replace(&mut settings, told);
        settings.not_understood.extend(other.not_understood.iter().cloned());
        settings.fill(other);
    }
    Some(PictureSettings { tool: Some(Tool::ComfyUi), rng: Some(Rng::Cpu), ..settings })
}

/// Takes words away in which something was chosen before the graph ran: what, a drawing does not tell.
fn leave_choices(settings: &mut PictureSettings) {
    for (name, words) in [("prompt", &mut settings.prompt), ("negative prompt", &mut settings.negative_prompt)] {
        if let Some(words) = words.take_if(|words| Prompt::parse(words).has_choices()) {
            settings.not_understood.push((name.to_owned(), words));
        }
    }
}

/// The graph that ran, also where a saver has kept all of the request, or both graphs, in its place.
fn graph_that_ran(text: &str) -> Option<Graph> {
    let map = object(text)?;
    if is_graph(&map) {
        return Graph::of_prompt(map);
    }
    let inner = ["prompt", "output"].into_iter().filter_map(|key| map.get(key)?.as_object()).find(|inner| is_graph(inner));
    Graph::of_prompt(inner?.clone())
}
