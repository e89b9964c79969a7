//! A graph of nodes by id. Nothing in it is trusted: links may lead nowhere or in circles.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Nodes of a graph that are read.
pub(super) const MAX_NODES: usize = 4096;
/// Steps through a graph, of all ways together: a link that is followed, or [`STEP_BYTES`] of a
/// text that is copied. Large workflows take some ten thousand.
const MAX_STEPS: usize = 1 << 20;
const STEP_BYTES: usize = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) class: String,
    /// Its inputs by name: values, and links as `[id, output]`.
    pub(super) inputs: Map<String, Value>,
}

/// Where a link comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link<'a> {
    /// Id of the node.
    pub(super) node: &'a str,
    /// Index of its output.
    pub(super) output: u64,
}

impl Node {
    /// The link of this input.
    pub(super) fn link(&self, input: &str) -> Option<Link<'_>> {
        as_link(self.inputs.get(input)?)
    }

    /// Every link, by the input's name.
    pub(super) fn links(&self) -> impl Iterator<Item = (&str, Link<'_>)> {
        self.inputs.iter().filter_map(|(name, value)| Some((name.as_str(), as_link(value)?)))
    }
}

pub(super) fn as_link(value: &Value) -> Option<Link<'_>> {
    match value.as_array()?.as_slice() {
        [node, output] => Some(Link { node: node.as_str()?, output: output.as_u64()? }),
        _ => None,
    }
}

#[derive(Debug)]
pub(super) struct Graph {
    nodes: BTreeMap<String, Node>,
    /// Steps that may still be taken.
    steps: Cell<usize>,
    is_cut: Cell<bool>,
}

impl Graph {
    /// The graph that ran: `{"3": {"class_type": "KSampler", "inputs": {...}}}`.
    pub(super) fn of_prompt(map: Map<String, Value>) -> Option<Self> {
        let node = |(id, value): (String, Value)| {
            let Value::Object(mut map) = value else { return None };
            let class = map.get("class_type")?.as_str()?.to_owned();
            let inputs = match map.remove("inputs") {
                Some(Value::Object(inputs)) => inputs,
                _ => Map::new(),
            };
            Some((id, Node { class, inputs }))
        };
        let is_cut = map.len() > MAX_NODES;
        Self::of_nodes(map.into_iter().take(MAX_NODES).filter_map(node).collect(), is_cut)
    }

    /// `None` without nodes. `is_cut`: there were more of them.
    pub(super) fn of_nodes(nodes: BTreeMap<String, Node>, is_cut: bool) -> Option<Self> {
        (!nodes.is_empty()).then_some(Self { nodes, steps: Cell::new(MAX_STEPS), is_cut: Cell::new(is_cut) })
    }

    /// True where not all nodes were read, or not all ways followed.
    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut.get()
    }

    /// Takes so many steps; false where there are no more, and whoever walks turns back.
    pub(super) fn walk(&self, steps: usize) -> bool {
        let left = self.steps.get().checked_sub(steps);
        self.steps.set(left.unwrap_or_default());
        if left.is_none() {
            self.cut();
        }
        left.is_some()
    }

    /// Takes the steps that a copy of this text costs.
    pub(super) fn copy(&self, text: &str) -> Option<String> {
        self.walk(1 + text.len() / STEP_BYTES).then(|| text.to_owned())
    }

    /// Notes that something of the graph is left out.
    pub(super) fn cut(&self) {
        self.is_cut.set(true);
    }

    pub(super) fn get(&self, id: &str) -> Option<&Node> {
        self.nodes.get(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(id, node)| (id.as_str(), node))
    }

    /// Ids of the node and of all nodes that it depends on.
    pub(super) fn ancestors<'a>(&'a self, id: &'a str) -> BTreeSet<&'a str> {
        let (mut found, mut open) = (BTreeSet::new(), vec![id]);
        while let Some(id) = open.pop() {
            if let Some(node) = self.get(id)
                && found.insert(id)
            {
                if !self.walk(1 + node.inputs.len()) {
                    break;
                }
                open.extend(node.links().map(|(_, link)| link.node));
            }
        }
        found
    }
}
