//! The `OpenAPI` document: which routes there are, and what they take and answer. The fields of a body
//! and the parameters of a query are those that their reader asks for
//! ([`Description`](super::fields::Description)).

use serde_json::{Map, Value, json};

use super::{jobs, openai, pairing, pictures, sdapi};

/// A route: method, path, group, and what it does in a sentence.
type Route = (&'static str, &'static str, &'static str, &'static str);

/// Every route.
const ROUTES: &[Route] = &[
    ("get", "/healthz", "Server", "Whether the server is there."),
    ("get", "/openapi.json", "Server", "This document."),
    ("get", "/atelier/v1/identity/{challenge}", "Server", "Who this server is, and proofs that it knows its tokens."),
    ("post", "/atelier/v1/pairing", "Server", "Have a browser keep a token in a cookie, for the page at /."),
    ("post", "/sdapi/v1/txt2img", "A1111", "Generate pictures from a prompt."),
    ("post", "/sdapi/v1/img2img", "A1111", "Generate pictures from a picture and a prompt, or inpaint it."),
    ("get", "/sdapi/v1/progress", "A1111", "Progress of your job, with a preview."),
    ("post", "/sdapi/v1/interrupt", "A1111", "Stop your job."),
    ("post", "/sdapi/v1/skip", "A1111", "Stop your job."),
    ("get", "/sdapi/v1/options", "A1111", "The model that you chose."),
    ("post", "/sdapi/v1/options", "A1111", "Choose a model."),
    ("get", "/sdapi/v1/sd-models", "A1111", "Models."),
    ("post", "/sdapi/v1/refresh-checkpoints", "A1111", "Look for models again."),
    ("post", "/sdapi/v1/refresh-loras", "A1111", "Look for LoRAs again."),
    ("post", "/sdapi/v1/refresh-vae", "A1111", "Look for VAEs again."),
    ("get", "/sdapi/v1/samplers", "A1111", "Samplers."),
    ("get", "/sdapi/v1/schedulers", "A1111", "Schedulers."),
    ("get", "/sdapi/v1/upscalers", "A1111", "Upscalers."),
    ("get", "/sdapi/v1/latent-upscale-modes", "A1111", "Ways to upscale latents."),
    ("get", "/sdapi/v1/sd-vae", "A1111", "VAEs."),
    ("get", "/sdapi/v1/sd-modules", "A1111", "VAEs."),
    ("get", "/sdapi/v1/loras", "A1111", "LoRAs."),
    ("get", "/sdapi/v1/embeddings", "A1111", "Embeddings."),
    ("get", "/sdapi/v1/prompt-styles", "A1111", "Styles."),
    ("get", "/sdapi/v1/hypernetworks", "A1111", "Hypernetworks: none."),
    ("get", "/sdapi/v1/face-restorers", "A1111", "Face restorers: none."),
    ("get", "/sdapi/v1/realesrgan-models", "A1111", "RealESRGAN models: see the upscalers."),
    ("get", "/sdapi/v1/script-info", "A1111", "Scripts: none."),
    ("get", "/sdapi/v1/scripts", "A1111", "Names of scripts."),
    ("get", "/sdapi/v1/cmd-flags", "A1111", "Flags."),
    ("get", "/sdapi/v1/memory", "A1111", "Free memory."),
    ("post", "/sdapi/v1/extra-single-image", "A1111", "Upscale a picture."),
    ("post", "/sdapi/v1/extra-batch-images", "A1111", "Upscale pictures."),
    ("post", "/sdapi/v1/png-info", "A1111", "The settings in a picture."),
    ("post", "/sdapi/v1/unload-checkpoint", "A1111", "Free the memory of models; only on this computer."),
    ("post", "/sdapi/v1/reload-checkpoint", "A1111", "Load the model; only on this computer."),
    ("post", "/sdapi/v1/interrogate", "A1111", "Describe a picture: not available."),
    ("post", "/controlnet/txt2img", "ControlNet", "As /sdapi/v1/txt2img, with controlnet_units."),
    ("post", "/controlnet/img2img", "ControlNet", "As /sdapi/v1/img2img, with controlnet_units."),
    ("get", "/controlnet/version", "ControlNet", "Version of the interface."),
    ("get", "/controlnet/settings", "ControlNet", "Units of a picture."),
    ("get", "/controlnet/model_list", "ControlNet", "ControlNet models."),
    ("get", "/controlnet/module_list", "ControlNet", "Preprocessors."),
    ("get", "/controlnet/control_types", "ControlNet", "Kinds of control."),
    ("post", "/controlnet/detect", "ControlNet", "Preprocess a picture: not available."),
    ("get", "/v1/models", "OpenAI", "Models."),
    ("get", "/v1/models/{id}", "OpenAI", "A model."),
    ("post", "/v1/images/generations", "OpenAI", "Generate pictures from a prompt; with stream, as events."),
    ("post", "/v1/images/edits", "OpenAI", "Edit a picture, or inpaint where its mask is transparent."),
    ("post", "/v1/images/variations", "OpenAI", "Vary a picture."),
    ("get", "/v1/files/{name}", "OpenAI", "A picture that was answered as a link; for an hour."),
    ("get", "/sdcpp/v1/capabilities", "Jobs", "Models, samplers and limits."),
    ("post", "/sdcpp/v1/img_gen", "Jobs", "Add a job."),
    ("get", "/sdcpp/v1/jobs", "Jobs", "Your jobs."),
    ("get", "/sdcpp/v1/jobs/{id}", "Jobs", "A job, with its pictures once it is done."),
    ("post", "/sdcpp/v1/jobs/{id}/cancel", "Jobs", "Cancel a job."),
    ("get", "/sdcpp/v1/jobs/{id}/events", "Jobs", "What changes about a job, as events: state, step, preview, picture, end."),
    ("get", "/sdcpp/v1/jobs/{id}/images/{index}", "Jobs", "A picture of a job."),
    ("post", "/mcp", "MCP", "Tools for agents: one message of JSON-RPC."),
    ("get", "/atelier/v1/pictures", "Pictures", "Your newest pictures."),
    ("get", "/atelier/v1/pictures/{id}", "Pictures", "A picture of yours."),
    ("get", "/atelier/v1/pictures/{id}/thumbnail", "Pictures", "A picture of yours, small."),
    ("post", "/atelier/v1/pictures/{id}/rating", "Pictures", "Rate a picture of yours, 0 to 5."),
    ("post", "/atelier/v1/pictures/{id}/upscale", "Pictures", "Upscale a picture of yours, as a job."),
];

/// What holds for all routes.
const DESCRIPTION: &str = "Pictures by this machine's models. A field that is null is not given; one without a default is the model's own \
    where a picture needs it; one that is not described is named in a note of the answer.";

/// The routes, for the test that asks for each.
pub(crate) const fn routes() -> &'static [Route] {
    ROUTES
}

/// The body of a route: its fields by the type that it is sent as. Without fields nothing in it is read.
fn body_of(path: &str) -> Value {
    let readers = [sdapi::describe, openai::describe, jobs::describe, pictures::describe, pairing::describe];
    let mut schema = readers.iter().find_map(|describe| describe(path)).map_or_else(|| json!({"type": "object"}), |it| it.schema());
    let pictures = openai::form_pictures(path);
    for name in pictures {
        schema["properties"][*name] = json!({"type": "string", "contentMediaType": "image/*"});
    }
    let kind = if pictures.is_empty() { "application/json" } else { "multipart/form-data" };
    json!({"content": {kind: {"schema": schema}}})
}

/// The parameters of a route: those in its path, and those of its query.
fn parameters_of(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = names.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
    let in_query = sdapi::describe_query(path).map(|it| it.parameters()).unwrap_or_default();
    in_path.chain(in_query).collect()
}

/// The document.
pub(crate) fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for (method, path, group, summary) in routes() {
        let entry = paths.entry((*path).to_owned()).or_insert_with(|| json!({}));
        let mut operation = json!({
            "tags": [group],
            "summary": summary,
            "responses": {
                "200": {"description": "Done."},
                "401": {"description": "A token is needed."},
                "403": {"description": "Another host name, or a page of another site."},
            },
        });
        let parameters = parameters_of(path);
        if !parameters.is_empty() {
            operation["parameters"] = Value::Array(parameters);
        }
        if *method == "post" {
            operation["requestBody"] = body_of(path);
            operation["responses"]["413"] = json!({"description": "The body is too large."});
            operation["responses"]["422"] = json!({"description": "A value cannot be used."});
            operation["responses"]["429"] = json!({"description": "Too many jobs wait."});
            operation["responses"]["507"] = json!({"description": "The disk space for your pictures is full."});
        }
        entry[*method] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Atelier", "version": env!("CARGO_PKG_VERSION"), "description": DESCRIPTION},
        "paths": paths,
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}, "login": {"type": "http", "scheme": "basic"}}},
        "security": [{}, {"bearer": []}, {"login": []}],
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn schema(path: &str, kind: &str) -> Value {
        body_of(path)["content"][kind]["schema"].clone()
    }

    /// The names of all fields of a schema, also of those inside others.
    fn collect_names(schema: &Value, names: &mut BTreeSet<String>) {
        for (name, inside) in schema["properties"].as_object().into_iter().flatten() {
            names.insert(name.clone());
            collect_names(inside, names);
            collect_names(&inside["items"], names);
        }
    }

    #[test]
    fn every_field_that_a_route_reads_is_in_the_document() {
        const SOURCES: [&str; 9] = [
            include_str!("sdapi/request.rs"),
            include_str!("sdapi/controlnet.rs"),
            include_str!("sdapi/extras.rs"),
            include_str!("sdapi/options.rs"),
            include_str!("openai/request.rs"),
            include_str!("jobs/request.rs"),
            include_str!("jobs/further.rs"),
            include_str!("pictures.rs"),
            include_str!("pairing.rs"),
        ];
        const READS: [&str; 22] = [
            "clamped",
            "clamped_or",
            "decimal",
            "decimal_or",
            "flag",
            "list",
            "named_or",
            "not_negative",
            "number",
            "object",
            "objects",
            "picture",
            "prose",
            "seed",
            "switch",
            "take",
            "text",
            "whole",
            "whole_or",
            "within",
            "within_or",
            "word",
        ];
        let mut described = BTreeSet::new();
        for (_, path, ..) in routes() {
            for body in body_of(path)["content"].as_object().into_iter().flatten() {
                collect_names(&body.1["schema"], &mut described);
            }
        }
        let mut count = 0;
        for source in SOURCES {
            let code: String = source.split("#[cfg(test)]").next().unwrap_or_default().split_whitespace().collect();
            for read in READS {
                for after in code.split(&format!(".{read}(\"")).skip(1) {
                    let key = after.split('"').next().unwrap_or_default();
                    assert!(described.contains(key), "{key} is read and not described");
                    count += 1;
                }
            }
        }
        assert!(count > 90, "{count}: the readers ask for their fields in another way");
        // Read by a variable that has the name.
        for key in ["hr_resize_x", "tile_size_x", "rel_size_y", "guidance_end", "restore_faces", "upscaling_resize_w"] {
            assert!(described.contains(key), "{key}");
        }
    }

    #[test]
    fn bodies_have_the_types_ranges_and_defaults_of_their_readers() {
        let txt2img = &schema("/sdapi/v1/txt2img", "application/json")["properties"];
        assert_eq!(txt2img["steps"], json!({"type": "integer", "minimum": 1, "maximum": 150}), "the model has its own");
        assert_eq!(txt2img["batch_size"], json!({"type": "integer", "minimum": 1, "maximum": 10, "default": 1}));
        assert_eq!(txt2img["denoising_strength"]["default"], 0.7, "of a second pass");
        assert!(txt2img["hr_scale"].is_object() && txt2img["init_images"].is_null());
        let unit = &txt2img["alwayson_scripts"]["properties"]["ControlNet"]["properties"]["args"]["items"]["properties"];
        assert_eq!(unit["guidance_end"], json!({"type": "number", "minimum": 0.0, "maximum": 1.0, "default": 1.0}));
        let img2img = &schema("/controlnet/img2img", "application/json")["properties"];
        assert_eq!(img2img["denoising_strength"]["default"], 0.75);
        assert_eq!(img2img["init_images"]["items"]["contentEncoding"], "base64");
        assert!(img2img["hr_scale"].is_null());

        let generation = schema("/v1/images/generations", "application/json");
        assert_eq!(generation["required"], json!(["prompt"]));
        assert_eq!(generation["properties"]["response_format"]["enum"], json!(["b64_json", "url"]));
        let edit = schema("/v1/images/edits", "multipart/form-data");
        assert_eq!((&edit["required"], edit["properties"]["mask"]["type"].as_str()), (&json!(["image"]), Some("string")));

        let job = &schema("/sdcpp/v1/img_gen", "application/json")["properties"];
        assert_eq!(job["batch_count"]["maximum"], 8);
        assert_eq!(job["lora"]["items"]["properties"]["multiplier"]["default"], 1.0);
        assert!(job["cache_mode"]["enum"].as_array().is_some_and(|names| names.contains(&json!("spectrum"))));
        let rating = schema("/atelier/v1/pictures/{id}/rating", "application/json");
        assert_eq!(rating["properties"]["rating"], json!({"type": "integer", "minimum": 0, "maximum": 5}));
        assert_eq!(schema("/sdapi/v1/interrupt", "application/json"), json!({"type": "object"}));
    }
}
