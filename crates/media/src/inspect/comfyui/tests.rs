//! What comes back from graphs whose nodes are known, half known and not known at all.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::classes;
use crate::inspect::settings::{PictureLora, PictureSettings};
use crate::settings_of_texts;
use atelier_core::recipe::Seed;

fn read(graph: &Value) -> PictureSettings {
    settings_of_texts(vec![("prompt".to_owned(), graph.to_string())])
}

/// A plain graph of text to picture, with some inputs of its nodes set, and further nodes.
fn graph(inputs: &[(&str, &str, Value)], nodes: &[(&str, &str, Value)]) -> Value {
    let mut graph = json!({
        "4": { "class_type": "CheckpointLoaderSimple", "inputs": { "ckpt_name": "sea.safetensors" } },
        "5": { "class_type": "EmptyLatentImage", "inputs": { "width": 512, "height": 768, "batch_size": 1 } },
        "6": { "class_type": "CLIPTextEncode", "inputs": { "text": "a lake", "clip": ["4", 1] } },
        "7": { "class_type": "CLIPTextEncode", "inputs": { "text": "fog", "clip": ["4", 1] } },
        "3": { "class_type": "KSampler", "inputs": { "seed": 42, "steps": 24, "cfg": 6.0, "sampler_name": "euler", "scheduler": "karras",
            "denoise": 1.0, "model": ["4", 0], "positive": ["6", 0], "negative": ["7", 0], "latent_image": ["5", 0] } },
        "8": { "class_type": "VAEDecode", "inputs": { "samples": ["3", 0], "vae": ["4", 2] } },
        "9": { "class_type": "SaveImage", "inputs": { "filename_prefix": "x", "images": ["8", 0] } },
    });
    for (id, class, inputs) in nodes {
        graph[*id] = json!({ "class_type": class, "inputs": inputs });
    }
    for (id, input, value) in inputs {
        graph[*id]["inputs"][*input] = value.clone();
    }
    graph
}

fn lists(settings: &PictureSettings, words: &str) -> bool {
    settings.not_understood.iter().any(|(name, value)| name.contains(words) || value.contains(words))
}

#[test]
fn what_is_told_is_not_listed_where_words_are_not_understood() {
    let settings = read(&graph(
        &[("3", "positive", json!(["26", 0])), ("6", "text", json!(["40", 0])), ("6", "clip", json!(["11", 0]))],
        &[
            ("26", "FluxGuidance", json!({ "guidance": 3.5, "conditioning": ["6", 0] })),
            ("11", "CLIPSetLastLayer", json!({ "stop_at_clip_layer": -2, "clip": ["4", 1] })),
            ("40", "Poet", json!({ "mood": "calm" })),
        ],
    ));
    assert_eq!((settings.prompt, settings.distilled_guidance, settings.clip_skip), (None, Some(3.5), Some(2)));
    let listed: Vec<&str> = settings.not_understood.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(listed, ["Poet (node 40)"]);
}

#[test]
fn what_another_node_computes_is_not_understood_whatever_its_fields_are_called() {
    let computes = json!({ "text": "a hut", "value": 99, "seed": 99, "steps": 99, "cfg": 99.0, "width": 1024, "height": 1024, "steps_total": 99,
        "sampler_name": "lcm", "scheduler": "simple", "denoise": 0.3, "ckpt_name": "other.safetensors", "string": "a hut" });
    for (id, input) in [
        ("6", "text"),
        ("3", "seed"),
        ("3", "steps"),
        ("3", "cfg"),
        ("3", "sampler_name"),
        ("3", "scheduler"),
        ("5", "width"),
        ("5", "height"),
        ("3", "positive"),
        ("3", "model"),
        ("3", "latent_image"),
        ("4", "ckpt_name"),
    ] {
        let settings = read(&graph(&[(id, input, json!(["50", 0]))], &[("50", "Somebodys Node", computes.clone())]));
        let told = format!("{:?}", PictureSettings { not_understood: Vec::new(), raw_texts: Vec::new(), ..settings.clone() });
        for foreign in ["hut", "99", "1024", "lcm", "simple", "0.3", "other"] {
            assert!(!told.contains(foreign), "{id} {input}: {foreign} in {told}");
        }
        assert!(lists(&settings, "Somebodys Node"), "{id} {input}: {settings:?}");
        assert!(lists(&settings, "a hut") && lists(&settings, "1024"), "{id} {input}: {settings:?}");
    }
    // A node without values of its own is listed too.
    let settings = read(&graph(&[("5", "width", json!(["50", 0]))], &[("50", "SizeOfPicture", json!({ "image": ["8", 0] }))]));
    assert!(settings.size.is_none() && lists(&settings, "SizeOfPicture"));
}

#[test]
fn joined_texts_are_put_together_and_one_part_that_is_not_understood_leaves_none() {
    let join = |a: Value, b: Value| json!({ "string_a": a, "string_b": b, "delimiter": ", " });
    let text = ("6", "text", json!(["21", 0]));
    let nodes = |part: Value| {
        [("20", "StringConcatenate", join(json!("a lake"), part)), ("21", "StringConcatenate", join(json!(["20", 0]), json!("oil")))]
    };
    assert_eq!(read(&graph(std::slice::from_ref(&text), &nodes(json!("at dusk")))).prompt.as_deref(), Some("a lake, at dusk, oil"));
    let nodes = [nodes(json!(["22", 0])).to_vec(), vec![("22", "Replace", json!({ "text": "green", "find": "e" }))]].concat();
    let settings = read(&graph(&[text], &nodes));
    assert_eq!(settings.prompt, None);
    assert!(["a lake", "oil", "green"].iter().all(|part| lists(&settings, part)), "{settings:?}");
    let many = json!({ "inputcount": 3, "string_1": "a", "string_2": "", "string_3": "c", "delimiter": "\\n", "return_list": false });
    let settings = read(&graph(&[("6", "text", json!(["21", 0]))], &[("21", "JoinStringMulti", many)]));
    assert_eq!(settings.prompt.as_deref(), Some("a\nc"));
}

#[test]
fn of_a_node_with_several_texts_the_one_that_says_most_is_the_prompt() {
    let flux = json!({ "clip_l": "lake, dusk", "t5xxl": "A lake at dusk.", "guidance": 3.5, "clip": ["4", 1] });
    let settings = read(&graph(&[("3", "positive", json!(["50", 0]))], &[("50", "CLIPTextEncodeFlux", flux)]));
    assert_eq!((settings.prompt.as_deref(), settings.distilled_guidance), (Some("A lake at dusk."), Some(3.5)));
    assert!(lists(&settings, "lake, dusk"));
}

#[test]
fn a_loader_with_everything_is_read_by_its_outputs() {
    let loader = json!({ "ckpt_name": "sea.safetensors", "clip_skip": -2, "lora_name": "ink.safetensors", "lora_model_strength": 0.8,
        "lora_clip_strength": 0.8, "positive": "a lake", "negative": "fog", "empty_latent_width": 640, "empty_latent_height": 384 });
    let sampler = json!({ "seed": 1, "steps": 4, "cfg": 2.0, "sampler_name": "euler", "scheduler": "normal", "denoise": 1.0,
        "model": ["50", 0], "positive": ["50", 1], "negative": ["50", 2], "latent_image": ["50", 3] });
    let vae = ("8", "vae", json!(["50", 4]));
    let settings = read(&graph(&[vae], &[("50", "Efficient Loader", loader), ("3", "KSampler (Efficient)", sampler)]));
    assert_eq!((settings.prompt.as_deref(), settings.negative_prompt.as_deref()), (Some("a lake"), Some("fog")));
    assert_eq!((settings.size, settings.clip_skip, settings.loras.len()), (Some((640, 384)), Some(2), 1));
    assert_eq!(settings.not_understood, []);
}

#[test]
fn a_sampler_of_an_unknown_class_is_read_by_its_form_and_listed() {
    let mut graph = graph(&[], &[]);
    assert_eq!(read(&graph).not_understood, []);
    graph["3"]["class_type"] = "Dreamer".into();
    let settings = read(&graph);
    assert_eq!((settings.prompt.as_deref(), settings.seed, settings.steps), (Some("a lake"), Some(Seed(42)), Some(24)));
    assert!(lists(&settings, "Dreamer"));
}

#[test]
fn the_text_of_a1111_beside_a_graph_wins_for_what_it_says() {
    let text = "a hut\nSteps: 24, Sampler: Euler, CFG scale: 6, Seed: 42, Size: 896x1152, Model hash: aabbccddee";
    let graph = graph(&[("5", "width", json!(["30", 0]))], &[("30", "Aspect", json!({ "width": 1024 }))]);
    let texts = vec![("parameters".to_owned(), text.to_owned()), ("prompt".to_owned(), graph.to_string())];
    let settings = settings_of_texts(texts);
    assert_eq!((settings.prompt.as_deref(), settings.size), (Some("a hut"), Some((896, 1152))));
    assert_eq!(settings.model.and_then(|model| model.hash).as_deref(), Some("aabbccddee"));
}

#[test]
fn a_text_without_words_beside_a_graph_takes_no_words_away() {
    let text = "Steps: 24, Sampler: Euler, CFG scale: 6, Seed: 42, Size: 896x1152";
    for (clip, prompt) in [(json!("a lake"), Some("a lake")), (json!(["30", 0]), None)] {
        let graph = graph(&[("6", "text", clip)], &[("30", "Dreamer", json!({ "mood": "calm" }))]);
        let texts = vec![("parameters".to_owned(), text.to_owned()), ("prompt".to_owned(), graph.to_string())];
        let settings = settings_of_texts(texts);
        assert_eq!((settings.prompt.as_deref(), settings.size), (prompt, Some((896, 1152))));
    }
}

#[test]
fn resources_without_a_name_stay_listed() {
    let extra = json!({ "prompt": "a hut", "resources": [{ "modelVersionId": 7, "strength": 1 }, { "type": "embed", "name": "calm" }] });
    let texts = vec![("prompt".to_owned(), graph(&[], &[]).to_string()), ("extraMetadata".to_owned(), extra.to_string())];
    let settings = settings_of_texts(texts);
    assert!(lists(&settings, "modelVersionId") && lists(&settings, "calm"), "{:?}", settings.not_understood);
}

#[test]
fn graphs_in_comments_are_read_however_they_are_wrapped() {
    let graph = graph(&[], &[]);
    let extra =
        json!({ "prompt": "a hut", "steps": 30, "seed": 42, "resources": [{ "type": "lora", "modelName": "ink", "strength": 0.5 }] });
    let mut beside = graph.clone();
    beside["extraMetadata"] = Value::from(extra.to_string());
    for (key, text, prompt) in [
        ("UserComment", graph.to_string(), "a lake"),
        ("Comment", json!({ "prompt": graph, "workflow": { "nodes": [] } }).to_string(), "a lake"),
        ("UserComment", json!({ "prompt": graph.to_string() }).to_string(), "a lake"),
        ("UserComment", beside.to_string(), "a hut"),
    ] {
        let settings = settings_of_texts(vec![(key.to_owned(), text)]);
        assert_eq!((settings.prompt.as_deref(), settings.seed, settings.size), (Some(prompt), Some(Seed(42)), Some((512, 768))), "{key}");
        assert_eq!(settings.raw_texts.len(), 1, "the file has one text");
    }
}

#[test]
fn the_text_of_a1111_in_json_is_read_and_other_json_is_not_read_as_one() {
    let text = "a hut\nNegative prompt: fog\nSteps: 24, Sampler: Euler, CFG scale: 6, Seed: 42, Size: 512x768, Model: sea";
    for key in ["UserComment", "Comment", "parameters"] {
        let settings = settings_of_texts(vec![(key.to_owned(), json!({ "parameters": text, "tags": [] }).to_string())]);
        assert_eq!((settings.prompt.as_deref(), settings.negative_prompt.as_deref()), (Some("a hut"), Some("fog")), "{key}");
        assert_eq!(settings.model.and_then(|model| model.name).as_deref(), Some("sea"), "{key}");
        let settings = settings_of_texts(vec![(key.to_owned(), json!({ "note": text }).to_string())]);
        assert_eq!((settings.tool, settings.prompt), (None, None), "{key}");
    }
    // A prompt may begin with a bracket, and the first comment be another program's.
    let settings =
        settings_of_texts(vec![("Comment".to_owned(), "made by x".to_owned()), ("Comment".to_owned(), format!("{{a|b}} {text}"))]);
    assert_eq!(settings.prompt.as_deref(), Some("{a|b} a hut"));
}

#[test]
fn subgraphs_are_opened_and_what_is_given_to_them_goes_in() {
    let encode = |id: u64, link: u64, text: &str| json!({ "id": id, "type": "CLIPTextEncode", "inputs": [{ "name": "text", "link": link }], "widgets_values": [text] });
    let workflow = json!({
        "nodes": [
            { "id": 1, "type": "PrimitiveStringMultiline", "widgets_values": ["a lake"] },
            { "id": 57, "type": "inner-id", "inputs": [{ "name": "words", "link": 1 }], "outputs": [] },
            { "id": 9, "type": "SaveImage", "inputs": [{ "name": "images", "link": 2 }] },
        ],
        "links": [[1, 1, 0, 57, 0, "STRING"], [2, 57, 0, 9, 0, "IMAGE"]],
        "definitions": { "subgraphs": [{
            "id": "inner-id", "inputs": [{ "name": "words" }], "outputs": [{ "name": "IMAGE" }],
            "nodes": [
                encode(6, 1, "stale"),
                { "id": 5, "type": "EmptyLatentImage", "widgets_values": [512, 768, 1] },
                { "id": 3, "type": "KSampler", "inputs": [{ "name": "positive", "link": 2 }, { "name": "latent_image", "link": 3 }],
                    "widgets_values": [42, "fixed", 24, 6.0, "euler", "karras", 1.0] },
                { "id": 8, "type": "VAEDecode", "inputs": [{ "name": "samples", "link": 4 }] },
                // A subgraph in itself comes to an end.
                { "id": 99, "type": "inner-id" },
            ],
            "links": [
                { "id": 1, "origin_id": -10, "origin_slot": 0, "target_id": 6, "target_slot": 0 },
                { "id": 2, "origin_id": 6, "origin_slot": 0, "target_id": 3, "target_slot": 0 },
                { "id": 3, "origin_id": 5, "origin_slot": 0, "target_id": 3, "target_slot": 1 },
                { "id": 4, "origin_id": 3, "origin_slot": 0, "target_id": 8, "target_slot": 0 },
                { "id": 5, "origin_id": 8, "origin_slot": 0, "target_id": -20, "target_slot": 0 },
            ],
        }] },
    });
    let settings = settings_of_texts(vec![("workflow".to_owned(), workflow.to_string())]);
    assert_eq!((settings.prompt.as_deref(), settings.seed, settings.size), (Some("a lake"), Some(Seed(42)), Some((512, 768))));
}

#[test]
fn values_of_a_node_that_stands_for_a_subgraph_count_before_those_within() {
    let read = |host: Value| {
        let widget = |name: &str, link: u64| json!({ "name": name, "widget": { "name": name }, "link": link });
        let workflow = json!({
            "nodes": [host, { "id": 9, "type": "SaveImage", "inputs": [{ "name": "images", "link": 2 }] }],
            "links": [[2, 57, 0, 9, 0, "IMAGE"]],
            "definitions": { "subgraphs": [{
                "id": "inner-id", "inputs": [{ "name": "clip" }, { "name": "words" }, { "name": "steps" }], "outputs": [{ "name": "IMAGE" }],
                "nodes": [
                    { "id": 6, "type": "CLIPTextEncode", "inputs": [{ "name": "clip", "link": 6 }, widget("text", 1)], "widgets_values": ["stale"] },
                    { "id": 5, "type": "EmptyLatentImage", "widgets_values": [512, 768, 1] },
                    { "id": 3, "type": "KSampler", "inputs": [{ "name": "positive", "link": 2 }, { "name": "latent_image", "link": 3 }, widget("steps", 7)],
                        "widgets_values": [42, "fixed", 99, 6.0, "euler", "karras", 1.0] },
                    { "id": 8, "type": "VAEDecode", "inputs": [{ "name": "samples", "link": 4 }] },
                ],
                "links": [
                    { "id": 6, "origin_id": -10, "origin_slot": 0, "target_id": 6, "target_slot": 0 },
                    { "id": 1, "origin_id": -10, "origin_slot": 1, "target_id": 6, "target_slot": 1 },
                    { "id": 7, "origin_id": -10, "origin_slot": 2, "target_id": 3, "target_slot": 2 },
                    { "id": 2, "origin_id": 6, "origin_slot": 0, "target_id": 3, "target_slot": 0 },
                    { "id": 3, "origin_id": 5, "origin_slot": 0, "target_id": 3, "target_slot": 1 },
                    { "id": 4, "origin_id": 3, "origin_slot": 0, "target_id": 8, "target_slot": 0 },
                    { "id": 5, "origin_id": 8, "origin_slot": 0, "target_id": -20, "target_slot": 0 },
                ],
            }] },
        });
        settings_of_texts(vec![("workflow".to_owned(), workflow.to_string())])
    };
    let host = |values: Value, proxies: Value| json!({ "id": 57, "type": "inner-id", "inputs": [], "widgets_values": values, "properties": { "proxyWidgets": proxies } });
    for (values, proxies, expected) in [
        (json!(["a lake", 24]), json!(null), (Some("a lake"), Some(24))),
        (json!([24, null, "a lake"]), json!([["-1", "steps"], ["3", "seed"], ["-1", "words"]]), (Some("a lake"), Some(24))),
        (json!([]), json!([["6", "text"]]), (Some("stale"), Some(99))),
        // Nobody tells whose they are.
        (json!(["a lake", 24, 7]), json!(null), (None, None)),
    ] {
        let settings = read(host(values.clone(), proxies));
        assert_eq!((settings.prompt.as_deref(), settings.steps), expected, "{values}");
        assert_eq!(lists(&settings, "widgets_values"), expected.0.is_none(), "{:?}", settings.not_understood);
        assert_eq!((settings.seed, settings.size), (Some(Seed(42)), Some((512, 768))));
    }
}

#[test]
fn a_long_text_in_a_subgraph_that_many_nodes_stand_for_is_copied_within_a_bound() {
    let hosts: Vec<Value> = (1..2_000).map(|id| json!({ "id": id, "type": "inner-id" })).collect();
    let inner =
        json!({ "id": "inner-id", "nodes": [{ "id": 1, "type": "CLIPTextEncode", "widgets_values": ["a".repeat(1 << 20)] }], "links": [] });
    let workflow = json!({ "nodes": hosts, "links": [], "definitions": { "subgraphs": [inner] } });
    let settings = settings_of_texts(vec![("workflow".to_owned(), workflow.to_string())]);
    assert!(lists(&settings, "more nodes, links or texts than the limit"));
    // Each of the copies that were made is told of in short.
    let listed: usize = settings.not_understood.iter().map(|(name, value)| name.len() + value.len()).sum();
    assert!(listed < 1 << 20, "{listed}");
}

#[test]
fn loras_are_read_in_the_forms_of_their_nodes_and_one_that_is_off_changes_nothing() {
    let lora = |strength: f32, encoder_strength| PictureLora { encoder_strength, ..PictureLora::new("ink".to_owned(), None, strength) };
    let entry = |on: bool| json!({ "lora_1": { "on": on, "lora": "ink", "strength": 0.8, "strengthTwo": 0.5 }, "lora_2": { "on": false, "lora": "oil", "strength": 1, "strengthTwo": null } });
    let switched = |switch: &str| json!({ "switch": switch, "lora_name": "ink", "strength_model": 0.8, "strength_clip": 0.8 });
    let managed = json!([{ "name": "ink", "strength": "0.8", "clipStrength": 0.5, "active": true }, { "name": "oil", "strength": 1, "active": false }]);
    for (class, inputs, expected) in [
        ("Power Lora Loader (rgthree)", entry(true), vec![lora(0.8, Some(0.5))]),
        ("Power Lora Loader (rgthree)", entry(false), vec![]),
        ("CR Load LoRA", switched("On"), vec![lora(0.8, None)]),
        ("CR Load LoRA", switched("Off"), vec![]),
        (
            "LoraLoader|pysssss",
            json!({ "lora_name": { "content": "ink", "image": "i.png" }, "strength_model": 0.8, "strength_clip": 0.5 }),
            vec![lora(0.8, Some(0.5))],
        ),
        ("Lora Loader (LoraManager)", json!({ "loras": managed }), vec![lora(0.8, Some(0.5))]),
        ("Lora Loader (LoraManager)", json!({ "loras": { "__value__": managed } }), vec![lora(0.8, Some(0.5))]),
    ] {
        let mut node = inputs.clone();
        node["model"] = json!(["4", 0]);
        let settings = read(&graph(&[("3", "model", json!(["50", 0]))], &[("50", class, node)]));
        assert_eq!((settings.loras, settings.not_understood), (expected, vec![]), "{class}: {inputs}");
        assert_eq!(settings.model.and_then(|it| it.name).as_deref(), Some("sea.safetensors"));
    }
    // What is understood in part stays to be seen.
    for inputs in [
        json!({ "lora_1": { "on": true, "lora": "ink", "strength": 0.8, "mood": "calm" } }),
        json!({ "loras": [{ "name": "ink", "strength": 0.8 }, { "mood": "calm" }] }),
        json!({ "lora_name": { "content": "ink", "mood": "calm" }, "strength_model": 0.8 }),
        json!({ "switch": "calm", "lora_name": "ink", "strength_model": 0.8 }),
    ] {
        let settings = read(&graph(&[("3", "model", json!(["50", 0]))], &[("50", "CR Load LoRA", inputs.clone())]));
        assert!(lists(&settings, "calm"), "{inputs}: {settings:?}");
    }
}

#[test]
fn a_graph_within_a_request_or_beside_the_drawn_one_is_read() {
    let graph = graph(&[], &[]);
    for whole in [json!({ "prompt": graph, "client_id": "x", "extra_data": {} }), json!({ "output": graph, "workflow": { "nodes": [] } })] {
        let settings = read(&whole);
        assert_eq!(
            (settings.prompt.as_deref(), settings.seed, settings.size),
            (Some("a lake"), Some(Seed(42)), Some((512, 768))),
            "{whole}"
        );
    }
}

/// A drawn node.
fn drawn(id: u64, class: &str, inputs: &[(&str, u64)], values: &Value) -> Value {
    let inputs: Vec<Value> = inputs.iter().map(|(name, link)| json!({ "name": name, "link": link })).collect();
    json!({ "id": id, "type": class, "inputs": inputs, "widgets_values": values })
}

#[test]
fn a_drawing_tells_neither_what_was_chosen_nor_whose_values_are_in_other_places() {
    let read = |words: &str, sampled: &Value| {
        let workflow = json!({
            "nodes": [
                drawn(3, "KSampler", &[("positive", 1), ("latent_image", 2)], sampled),
                drawn(5, "EmptyLatentImage", &[], &json!([512, 768, 1])),
                drawn(6, "CLIPTextEncode", &[], &json!([words])),
                drawn(9, "SaveImage", &[("images", 3)], &json!(["x"])),
            ],
            "links": [[1, 6, 0, 3, 0, "CONDITIONING"], [2, 5, 0, 3, 1, "LATENT"], [3, 3, 0, 9, 0, "IMAGE"]],
        });
        settings_of_texts(vec![("workflow".to_owned(), workflow.to_string())])
    };
    let usual = json!([42, "fixed", 24, 6.0, "euler", "karras", 1.0]);
    let chosen = read("a {red|blue} lake", &usual);
    assert_eq!((chosen.prompt.as_deref(), chosen.steps, chosen.size), (None, Some(24), Some((512, 768))));
    assert!(lists(&chosen, "{red|blue}"), "{:?}", chosen.not_understood);
    assert_eq!(read("a {lake}", &usual).prompt.as_deref(), Some("a {lake}"));
    let shifted = read("a lake", &json!([42, 24, 6.0, "euler", "karras", 1.0]));
    assert_eq!((shifted.seed, shifted.steps, shifted.guidance), (None, None, None));
    assert!(lists(&shifted, "widgets_values[1]: 24"), "{:?}", shifted.not_understood);
}

#[test]
fn drawn_ways_lead_through_keepers_by_name_and_through_what_passes_on_in_subgraphs() {
    let mut bypassed = drawn(20, "SomeLatents", &[("samples", 1)], &json!([]));
    bypassed["mode"] = 4.into();
    let passing = |nodes: Vec<Value>, links: Value| json!({ "id": "pass", "inputs": [{ "name": "latent" }], "outputs": [{ "name": "LATENT" }], "nodes": nodes, "links": links });
    let link = |id: u64, from: i64, to: i64| json!({ "id": id, "origin_id": from, "origin_slot": 0, "target_id": to, "target_slot": 0, "type": "LATENT" });
    for (subgraph, size) in [
        (passing(vec![bypassed], json!([link(1, -10, 20), link(2, 20, -20)])), Some((512, 768))),
        (passing(vec![], json!([link(1, -10, -20)])), Some((512, 768))),
        // A subgraph that goes on in itself comes to an end.
        (passing(vec![drawn(20, "pass", &[("latent", 1)], &json!([]))], json!([link(1, 20, 20), link(2, 20, -20)])), None),
    ] {
        let workflow = json!({
            "nodes": [
                drawn(1, "CheckpointLoaderSimple", &[], &json!(["sea.safetensors"])),
                drawn(2, "SetNode", &[("MODEL", 1)], &json!(["the model"])),
                drawn(4, "GetNode", &[], &json!(["the model"])),
                drawn(3, "KSampler", &[("model", 2), ("positive", 3), ("latent_image", 4)], &json!([42, "fixed", 24, 6.0, "euler", "karras", 1.0])),
                drawn(5, "EmptyLatentImage", &[], &json!([512, 768, 1])),
                drawn(6, "CLIPTextEncode", &[], &json!(["a lake"])),
                drawn(57, "pass", &[("latent", 6)], &json!([])),
                drawn(8, "VAEDecode", &[("samples", 5)], &json!([])),
                drawn(9, "SaveImage", &[("images", 7)], &json!(["x"])),
            ],
            "links": [[1, 1, 0, 2, 0, "MODEL"], [2, 4, 0, 3, 0, "MODEL"], [3, 6, 0, 3, 1, "CONDITIONING"], [4, 57, 0, 3, 2, "LATENT"],
                [5, 3, 0, 8, 0, "LATENT"], [6, 5, 0, 57, 0, "LATENT"], [7, 8, 0, 9, 0, "IMAGE"]],
            "definitions": { "subgraphs": [subgraph] },
        });
        let settings = settings_of_texts(vec![("workflow".to_owned(), workflow.to_string())]);
        assert_eq!(settings.size, size);
        if size.is_some() {
            assert_eq!((settings.prompt.as_deref(), settings.seed), (Some("a lake"), Some(Seed(42))));
            assert_eq!(settings.model.and_then(|model| model.name).as_deref(), Some("sea.safetensors"));
        }
    }
}

#[test]
fn values_of_drawn_nodes_that_nobody_names_are_listed() {
    let workflow = json!({
        "nodes": [
            drawn(1, "Poet", &[], &json!(["calm", "randomize", ["quiet", 1], { "mood": "dusk" }, 77])),
            drawn(3, "KSampler", &[("positive", 2), ("latent_image", 3)], &json!([42, "fixed", 24, 6.0, "euler", "karras", 1.0, "newer"])),
            drawn(5, "EmptyLatentImage", &[], &json!([512, 768, 1])),
            drawn(6, "CLIPTextEncode", &[("text", 1)], &json!(["stale"])),
            drawn(9, "SaveImage", &[("images", 4)], &json!(["x"])),
        ],
        "links": [[1, 1, 0, 6, 0, "STRING"], [2, 6, 0, 3, 0, "CONDITIONING"], [3, 5, 0, 3, 1, "LATENT"], [4, 3, 0, 9, 0, "IMAGE"]],
    });
    let settings = settings_of_texts(vec![("workflow".to_owned(), workflow.to_string())]);
    assert_eq!((settings.prompt.as_deref(), settings.seed), (None, Some(Seed(42))));
    for value in ["calm", "quiet", "dusk", "77", "newer"] {
        assert!(lists(&settings, value), "{value}: {:?}", settings.not_understood);
    }
    assert!(!lists(&settings, "randomize") && !lists(&settings, "stale"), "{:?}", settings.not_understood);
}

/// Each input that a known class reads, and some that no class does.
fn all_inputs() -> Vec<&'static str> {
    let lists = [classes::VALUES, classes::ENCODERS];
    let texts = lists.into_iter().flatten().flat_map(|(_, inputs)| inputs.iter().copied());
    let others = [
        "seed",
        "noise_seed",
        "steps",
        "cfg",
        "sampler_name",
        "scheduler",
        "denoise",
        "shift",
        "guidance",
        "width",
        "height",
        "ckpt_name",
        "unet_name",
        "vae_name",
        "lora_name",
        "strength_model",
        "strength_clip",
        "lora_01",
        "strength_01",
        "lora_name_1",
        "model_weight_1",
        "clip_weight_1",
        "switch_1",
        "stop_at_clip_layer",
        "empty_latent_width",
        "empty_latent_height",
        "positive",
        "negative",
        "clip_skip",
        "string_a",
        "string_b",
        "delimiter",
        "inputcount",
        "select",
        "input1",
        "any_01",
        "something",
        "start_at_step",
        "end_at_step",
        "eta",
        "switch",
        "loras",
        "lora_1",
        "resolution",
        "input_mode",
        "text_a",
        "clean_whitespace",
    ];
    let mut all: Vec<&str> = texts.chain(others).filter(|name| !name.is_empty()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn all_classes() -> Vec<&'static str> {
    let mut all: Vec<&str> =
        classes::VALUES.iter().chain(classes::ENCODERS).chain(classes::HAND_WORDS_ON).chain(classes::MIX_WORDS).map(|it| it.0).collect();
    all.extend(
        classes::HAND_MODEL_ON
            .iter()
            .chain(classes::EMPTY_LATENTS)
            .chain(classes::PICTURE_LATENTS)
            .chain(classes::NOISES)
            .chain(classes::GUIDERS),
    );
    all.extend(classes::JOINS.iter().map(|it| it.class));
    all.extend(classes::WHOLE_LOADERS.iter().map(|it| it.class));
    all.extend(classes::MODEL_FILES.iter().chain(classes::HAND_LATENTS_ON).chain(classes::SIGMAS).chain(classes::SAMPLERS).map(|it| it.0));
    all.extend([
        "SaveImage",
        "ComfySwitchNode",
        "CR LoRA Stack",
        "LoRA Stacker",
        "ImpactSwitch",
        "Any Switch (rgthree)",
        "FaceDetailer",
        "Unknown",
    ]);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    /// Whatever stands where, each value is told in a field or listed.
    #[test]
    fn each_value_of_a_node_on_the_way_is_in_a_field_or_listed(
        class in proptest::sample::select(all_classes()),
        inputs in proptest::sample::subsequence(all_inputs(), 1..12),
        output in 0..8_u64,
        place in proptest::sample::select(vec![("6", "text"), ("3", "seed"), ("3", "steps"), ("3", "cfg"), ("3", "model"), ("3", "positive"),
            ("3", "negative"), ("3", "latent_image"), ("3", "sampler_name"), ("5", "width"), ("6", "clip"), ("4", "ckpt_name"), ("8", "vae")]),
        kind in 0..4_u8,
    ) {
        let mark = |index: usize| 7_700_001 + index as u64;
        let value = |index: usize| match kind {
            0 => Value::from(mark(index)),
            1 => Value::from(format!("w{}", mark(index))),
            // Lists and objects, as the program wraps them.
            2 => json!([mark(index), "x", true]),
            _ => json!({ "__value__": [format!("w{}", mark(index))] }),
        };
        let own: Map<String, Value> = inputs.iter().enumerate().map(|(index, name)| ((*name).to_owned(), value(index))).collect();
        let graph = graph(&[(place.0, place.1, json!(["50", output]))], &[("50", class, Value::Object(own))]);
        let settings = PictureSettings { raw_texts: Vec::new(), ..read(&graph) };
        // Numbers are told with the precision that a field has.
        let told = format!("{settings:?}");
        for (index, name) in inputs.iter().enumerate() {
            let is_told = told.contains(&mark(index).to_string());
            prop_assert!(is_told, "{class} at {place:?}: {name} = {} is nowhere in {told}", mark(index));
        }
    }

    /// The same of drawn nodes, whose values have no names, but for those of the interface.
    #[test]
    fn each_value_of_a_drawn_node_on_the_way_is_in_a_field_or_listed(
        class in proptest::sample::select(all_classes()),
        count in 1..12_usize,
        output in 0..4_u64,
        place in 10..15_u64,
        is_text in any::<bool>(),
    ) {
        const WITH_INTERFACE: [&str; 5] = ["PrimitiveNode", "PrimitiveInt", "PrimitiveFloat", "RandomNoise", "SaveImage"];
        prop_assume!(!WITH_INTERFACE.contains(&class));
        let mark = |index: usize| 7_700_001 + index as u64;
        let value = |index: usize| if is_text { Value::from(format!("w{}", mark(index))) } else { Value::from(mark(index)) };
        let values: Vec<Value> = (0..count).map(value).collect();
        let link = |id: u64, from: u64, to: u64| if id == place { json!([id, 50, output, to, 0, "X"]) } else { json!([id, from, 0, to, 0, "X"]) };
        let workflow = json!({
            "nodes": [
                drawn(3, "KSampler", &[("model", 10), ("positive", 11), ("latent_image", 12)], &json!([42, "fixed", 24, 6.0, "euler", "karras", 1.0])),
                drawn(4, "CheckpointLoaderSimple", &[], &json!(["sea.safetensors"])),
                drawn(5, "EmptyLatentImage", &[], &json!([512, 768, 1])),
                drawn(6, "CLIPTextEncode", &[("text", 13), ("clip", 14)], &json!(["a lake"])),
                drawn(7, "PrimitiveString", &[], &json!(["a lake"])),
                drawn(9, "SaveImage", &[("images", 15)], &json!(["x"])),
                drawn(50, class, &[], &Value::from(values)),
            ],
            "links": [link(10, 4, 3), link(11, 6, 3), link(12, 5, 3), link(13, 7, 6), link(14, 4, 6), link(15, 3, 9)],
        });
        let settings = settings_of_texts(vec![("workflow".to_owned(), workflow.to_string())]);
        let told = format!("{:?}", PictureSettings { raw_texts: Vec::new(), ..settings });
        for index in 0..count {
            prop_assert!(told.contains(&mark(index).to_string()), "{class} at {place}: {} is nowhere in {told}", mark(index));
        }
    }
}
