//! A graph of nodes by id. Nothing in it is trusted: links may lead nowhere or in circles.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Nodes of a graph that are read.
pub(super) const MOST_NODES: usize = 4096;
/// Nodes that are gone through for one value.
const MOST_HOPS: usize = 64;

/// A node.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// Its class.
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

fn as_link(value: &Value) -> Option<Link<'_>> {
    match value.as_array()?.as_slice() {
        [node, output] => Some(Link { node: node.as_str()?, output: output.as_u64()? }),
        _ => None,
    }
}

/// Nodes by id.
#[derive(Debug, Default)]
pub(super) struct Graph(BTreeMap<String, Node>);

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
        Self::of_nodes(map.into_iter().take(MOST_NODES).filter_map(node).collect())
    }

    /// `None` without nodes.
    pub(super) fn of_nodes(nodes: BTreeMap<String, Node>) -> Option<Self> {
        (!nodes.is_empty()).then_some(Self(nodes))
    }

    pub(super) fn get(&self, id: &str) -> Option<&Node> {
        self.0.get(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.0.iter().map(|(id, node)| (id.as_str(), node))
    }

    /// Ids of the node and of all nodes that it depends on.
    pub(super) fn ancestors<'a>(&'a self, id: &'a str) -> BTreeSet<&'a str> {
        let (mut found, mut open) = (BTreeSet::new(), vec![id]);
        while let Some(id) = open.pop() {
            if let Some(node) = self.get(id)
                && found.insert(id)
            {
                open.extend(node.links().map(|(_, link)| link.node));
            }
        }
        found
    }

    /// The value of an input, followed to the node that it comes from: one with a single value, or with an input of the same name.
    pub(super) fn value<'a>(&'a self, node: &'a Node, input: &str) -> Option<&'a Value> {
        let mut value = node.inputs.get(input)?;
        for _ in 0..MOST_HOPS {
            let Some(link) = as_link(value) else { return Some(value) };
            let source = self.get(link.node)?;
            let named = ["value", input, "text", "string", "int", "float", "number"].into_iter().find_map(|name| source.inputs.get(name));
            let mut values = source.inputs.values();
            value = named.or_else(|| values.next().filter(|_| values.next().is_none()))?;
        }
        None
    }
}
