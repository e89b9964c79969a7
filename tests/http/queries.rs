//! Parameters of queries: what the document says of them, and what routes do with them.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::client::get;
use crate::rust_files::rust_files;
use crate::studio::Studio;

/// The routes whose handlers read a query, from the sources: each names the one reader of queries
/// among its parameters.
fn reading_routes() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http");
    let sources: Vec<(String, String)> = rust_files([folder])
        .into_iter()
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap()))
        .collect();
    for (name, text) in sources.iter().filter(|(name, _)| name != "head.rs") {
        for other in ["Query<", "Query::<", "RawQuery", "OriginalUri"] {
            assert!(!text.contains(other), "{name} reads a query by {other}, of which the document does not know");
        }
    }
    let mut handlers = BTreeSet::new();
    for (_, text) in &sources {
        for function in text.split("async fn ").skip(1) {
            let (name, rest) = function.split_once('(').unwrap();
            if rest.split(") ->").next().is_some_and(|parameters| parameters.contains("QueryFields(")) {
                handlers.insert(name.to_owned());
            }
        }
    }
    let mut routes = BTreeSet::new();
    for line in sources.iter().flat_map(|(_, text)| text.lines()) {
        let Some((path, rest)) = line.split_once(".route(\"").and_then(|(_, rest)| rest.split_once('"')) else { continue };
        // A module may have a handler's name: it is the last part of a path that counts.
        let mut named = rest.split(|it: char| !it.is_alphanumeric() && it != '_' && it != ':').filter_map(|it| it.rsplit("::").next());
        if named.any(|name| handlers.contains(name)) {
            routes.insert(path.to_owned());
        }
    }
    assert!(!handlers.is_empty() && routes.len() >= handlers.len(), "{handlers:?} {routes:?}");
    routes
}

/// The parameters of a route's query.
fn parameters(about: &Value) -> Vec<Value> {
    about["get"]["parameters"].as_array().into_iter().flatten().filter(|it| it["in"] == "query").cloned().collect()
}

#[test]
fn every_route_that_reads_a_query_says_so_and_does_as_it_says() {
    let studio = Studio::open();
    let document = get(studio.address(), "/openapi.json").ok();
    let paths = document["paths"].as_object().unwrap();
    let described: BTreeSet<String> =
        paths.iter().filter(|(_, about)| !parameters(about).is_empty()).map(|(path, _)| path.clone()).collect();
    assert_eq!(described, reading_routes());
    let of_progress = parameters(&paths["/sdapi/v1/progress"]);
    let expected = serde_json::json!([
        {"name": "skip_current_image", "in": "query", "required": false, "schema": {"type": "boolean", "default": false}},
    ]);
    assert_eq!(Value::Array(of_progress), expected);
    for (path, about) in paths.iter().filter(|(path, about)| !path.contains('{') && about.get("get").is_some()) {
        // Some clients write a number against caches behind every address.
        assert_eq!(get(studio.address(), &format!("{path}?_=1700000000&_=2")).status, 200, "{path}");
        for parameter in parameters(about) {
            let name = parameter["name"].as_str().unwrap();
            assert_eq!(parameter["schema"]["type"], "boolean", "this test knows no other yet");
            for value in ["true", "False", "1", ""] {
                assert_eq!(get(studio.address(), &format!("{path}?{name}={value}")).status, 200, "{path}: {value}");
            }
            let refused = get(studio.address(), &format!("{path}?{name}=perhaps"));
            assert_eq!((refused.status, refused.json()["detail"][0]["loc"].clone()), (422, serde_json::json!(["query", name])), "{path}");
        }
    }
}
