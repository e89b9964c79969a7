//! The tools of an agent, and how they are carried out.

use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

use atelier_core::recipe::{ImageSource, InitImage, Rgb8};
use atelier_gallery::queue::{JobState, Lane, Owner, QueuedJobId};
use atelier_media::{ExportFormat, ExportLoss, read_image};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::picture::{MAX_SIDE, SmallCopy, jpeg_within};
use super::rpc::{RpcError, WRONG_PARAMETERS};
use crate::http::error::Failure;
use crate::http::fields::Fields;
use crate::http::hub::{JobView, Waiter};
use crate::http::images::{MaskSense, base64_text, bytes_of, decode_fine, decode_mask, file_bytes, names_of};
use crate::http::pictures::{enlarge, find, find_start};
use crate::http::recipe::{PICTURES, ResolvedWish, SIDES, STEPS, Wish};
use crate::http::state::{Previews, SharedApp, blocking, outcome};

/// Longest wait for a picture: clients give up after a minute.
const ANSWER_WITHIN: Duration = Duration::from_secs(50);
/// Most bytes of the pictures in an answer, before base64: some clients hold a message to 1 MiB.
const MAX_PICTURE_BYTES: usize = 700_000;
/// The type of small copies.
const JPEG: &str = "image/jpeg";
const USUAL_STRENGTH: f32 = 0.75;
const USUAL_SCALE: f32 = 2.0;

/// Tells a client how far its picture is.
pub(crate) struct Progress {
    token: Value,
    messages: mpsc::UnboundedSender<Value>,
}

impl Progress {
    pub(super) const fn new(token: Value, messages: mpsc::UnboundedSender<Value>) -> Self {
        Self { token, messages }
    }

    fn send(&self, view: &JobView) {
        let params = json!({"progressToken": self.token, "progress": view.progress(), "total": 1.0, "message": words(view)});
        // A client that has gone reads nothing.
        let _ = self.messages.send(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
    }
}

/// Every tool, as clients list them.
pub(super) fn list() -> Value {
    const ANSWER: &str = "The answer is a JPEG of at most 1024 pixels without settings; image_id names the whole picture, which is kept.";
    let text = |about: &str| json!({"type": "string", "description": about});
    let whole = |about: &str, limits: &std::ops::RangeInclusive<u32>| json!({"type": "integer", "minimum": limits.start(), "maximum": limits.end(), "description": about});
    let side = whole("Pixels; the model's own size by default.", &SIDES);
    let negative = text("What it should not show.");
    let model = text("A name from list_models; the default model otherwise.");
    let steps = whole("Steps; the model's own number by default.", &STEPS);
    let seed = json!({"type": "integer", "description": "The same seed and settings give the same picture."});
    let id = text("A picture that was generated here: its image_id.");
    let image = text("A picture in base64, in place of image_id.");
    let tool = |name: &str, title: &str, about: &str, properties: Value, required: &[&str], is_reading: bool| {
        json!({
            "name": name, "title": title, "description": about,
            "inputSchema": {"type": "object", "properties": properties, "required": required},
            "annotations": {"readOnlyHint": is_reading, "destructiveHint": false, "openWorldHint": false},
        })
    };
    json!([
        tool(
            "generate_image",
            "Generate a picture",
            &format!("Generates pictures from a prompt with a model on this computer. {ANSWER}"),
            json!({"prompt": text("What the picture shows."), "negative_prompt": negative, "model": model, "width": side, "height": side,
                "steps": steps, "seed": seed, "count": whole("How many pictures.", &PICTURES)}),
            &["prompt"],
            false,
        ),
        tool(
            "edit_image",
            "Edit a picture",
            &format!("Generates a picture that starts from another one. {ANSWER}"),
            json!({"prompt": text("What the picture shows."), "image_id": id, "image": image, "negative_prompt": negative, "model": model,
                "mask": text("A picture in base64, white where it is regenerated."), "steps": steps, "seed": seed,
                "strength": {"type": "number", "minimum": 0, "maximum": 1, "description": "How much changes, from 0 to 1; 0.75 by default, and as the prompt says with models that edit."}}),
            &["prompt"],
            false,
        ),
        tool(
            "upscale_image",
            "Upscale a picture",
            &format!("Makes a picture that was generated here larger. {ANSWER}"),
            json!({"image_id": id, "scale": {"type": "number", "minimum": 1, "maximum": 4, "description": "2 by default."}}),
            &["image_id"],
            false,
        ),
        tool(
            "get_image",
            "Get a picture",
            "Shows a picture that was generated here: the whole PNG with its settings, which may be several megabytes, or with max_side a JPEG.",
            json!({"image_id": id, "max_side": whole("Pixels of the JPEG's longest side at most.", &SIDES)}),
            &["image_id"],
            true,
        ),
        tool("list_models", "List models", "Lists the models on this computer.", json!({}), &[], true),
        tool(
            "job_status",
            "Look at a job",
            "Tells how far a job is, and shows its pictures once it is done.",
            json!({"job": text("The number of the job.")}),
            &["job"],
            true,
        ),
    ])
}

/// Carries a tool out. What goes wrong with it is a result, so that the model can read it.
pub(super) async fn call(app: &SharedApp, owner: &Owner, params: Value, progress: Option<Progress>) -> Result<Value, RpcError> {
    let Value::Object(mut params) = params else { return Err(RpcError::new(WRONG_PARAMETERS, "The tool has no name.")) };
    let arguments = match params.remove("arguments") {
        Some(Value::Object(arguments)) => Fields::of(arguments),
        None | Some(Value::Null) => Fields::default(),
        Some(_) => return Err(RpcError::new(WRONG_PARAMETERS, "The arguments are not an object.")),
    };
    let done = match params.get("name").and_then(Value::as_str).unwrap_or_default() {
        "generate_image" => generate(app, owner, arguments, progress).await,
        "edit_image" => edit(app, owner, arguments, progress).await,
        "upscale_image" => upscale(app, owner, arguments, progress).await,
        "get_image" => get_image(app, owner, arguments).await,
        "list_models" => list_models(app, arguments).await,
        "job_status" => job_status(app, owner, arguments).await,
        name => return Err(RpcError::new(WRONG_PARAMETERS, format!("There is no tool {name} here."))),
    };
    Ok(match done {
        Ok(content) => json!({"content": content, "isError": false}),
        Err(failure) => json!({"content": [text(failure.sentence())], "isError": true}),
    })
}

fn text(text: impl Into<String>) -> Value {
    json!({"type": "text", "text": text.into()})
}

fn image(bytes: &[u8], kind: &str) -> Value {
    json!({"type": "image", "data": base64_text(bytes), "mimeType": kind})
}

/// A JPEG of a kept picture.
async fn small_copy(path: PathBuf, max_side: u32, max_bytes: usize) -> Result<SmallCopy, Failure> {
    blocking(move || jpeg_within(&path, max_side, max_bytes)).await?.map_err(|error| {
        tracing::warn!("a picture could not be answered: {error}");
        Failure::Failed(atelier_core::advice::Advice::new("The picture was made, and its file cannot be read.", ""))
    })
}

/// What a copy lacks, as the end of a line; nothing where it has all.
fn in_this_copy(losses: &[ExportLoss]) -> String {
    if losses.is_empty() { String::new() } else { format!(" In this copy, {}.", ExportLoss::clauses(losses)) }
}

/// What generating and editing have in common.
fn wish(fields: &mut Fields) -> Wish {
    let wish = Wish {
        prompt: fields.word("prompt").unwrap_or_default(),
        negative_prompt: fields.text("negative_prompt").unwrap_or_default(),
        model: fields.word("model"),
        steps: fields.within("steps", STEPS),
        seed: fields.seed("seed"),
        ..Wish::default()
    };
    if wish.prompt.is_empty() {
        fields.fault("prompt", "It is missing.");
    }
    wish
}

async fn generate(app: &SharedApp, owner: &Owner, mut fields: Fields, progress: Option<Progress>) -> Result<Vec<Value>, Failure> {
    let (width, height) = (fields.within("width", SIDES), fields.within("height", SIDES));
    let pictures = fields.within("count", PICTURES);
    let mut wish = Wish { width, height, pictures, ..wish(&mut fields) };
    wish.notes.extend(fields.finish()?);
    let made = app.make(owner, wish).await?;
    run(app, owner, made, progress).await
}

async fn edit(app: &SharedApp, owner: &Owner, mut fields: Fields, progress: Option<Progress>) -> Result<Vec<Value>, Failure> {
    let (id, image, mask) = (fields.word("image_id"), fields.take("image"), fields.take("mask"));
    if id.is_some() && image.is_some() {
        fields.ignore("image");
    }
    let strength = fields.decimal("strength").map(|it| it.clamp(0.0, 1.0));
    // A strength is that of a start picture.
    let mut wish = Wish { is_edit: strength.is_none(), is_shaped_as_start: true, ..wish(&mut fields) };
    let strength = strength.unwrap_or(USUAL_STRENGTH);
    wish.notes.extend(fields.finish()?);
    let file = match &id {
        Some(id) => Some(ImageSource::File(find_start(app, owner, id).await?.summary.path)),
        None => None,
    };
    let source = file.clone();
    let decoded = app.decode(move || {
        let start: Rgb8 = match (source, image) {
            (Some(source), _) => read_image(&source).map_err(|_| Failure::invalid("image_id", "The picture cannot be read."))?,
            (None, Some(image)) => decode_fine("image", &bytes_of("image", &image)?)?,
            (None, None) => return Err(Failure::invalid("image_id", "It is missing.")),
        };
        let mask = mask.map(|mask| decode_mask("mask", &bytes_of("mask", &mask)?, MaskSense::White)).transpose()?;
        Ok((start, mask))
    });
    let (start, mask) = decoded.await?;
    let mut made = app.make(owner, Wish { init: Some((start, strength)), mask, ..wish }).await?;
    // By its file, so that the new picture says what it was made from.
    match (file, made.recipe.reference_images.first_mut()) {
        (Some(image), Some(reference)) => *reference = image,
        (Some(image), None) => made.recipe.init = Some(InitImage { image, strength }),
        (None, _) => {}
    }
    run(app, owner, made, progress).await
}

async fn upscale(app: &SharedApp, owner: &Owner, mut fields: Fields, progress: Option<Progress>) -> Result<Vec<Value>, Failure> {
    let (id, scale) = (fields.word("image_id"), fields.decimal("scale").unwrap_or(USUAL_SCALE));
    if !(1.0..=4.0).contains(&scale) {
        fields.fault("scale", "It must be from 1 to 4.");
    }
    let note = fields.finish()?;
    let id = id.ok_or_else(|| Failure::invalid("image_id", "It is missing."))?;
    let mut made = enlarge(app, owner, &id, scale).await?;
    made.notes.extend(note);
    run(app, owner, made, progress).await
}

async fn get_image(app: &SharedApp, owner: &Owner, mut fields: Fields) -> Result<Vec<Value>, Failure> {
    let (id, max_side) = (fields.word("image_id"), fields.within("max_side", SIDES));
    let note = fields.finish()?;
    let id = id.ok_or_else(|| Failure::invalid("image_id", "It is missing."))?;
    let found = find(app, owner, &id).await?.summary;
    let path = found.path;
    let (bytes, kind, lost) = if let Some(side) = max_side {
        let SmallCopy { bytes, losses, .. } = small_copy(path, side, MAX_PICTURE_BYTES).await?;
        (bytes, JPEG, in_this_copy(&losses))
    } else {
        let whole = blocking(move || file_bytes(&path, ExportFormat::Png)).await??;
        (whole.bytes, names_of(ExportFormat::Png).1, String::new())
    };
    let about = text(format!("image_id {id}, {}x{}.{lost}", found.width, found.height));
    Ok([image(&bytes, kind), about].into_iter().chain(note.map(text)).collect())
}

async fn list_models(app: &SharedApp, fields: Fields) -> Result<Vec<Value>, Failure> {
    let note = fields.finish()?;
    let list = app.models().await?;
    let names: Vec<&str> = list.models.iter().map(|it| it.name.as_str()).collect();
    let said = if names.is_empty() { "There is no model here yet. Download one in Atelier.".to_owned() } else { names.join("\n") };
    Ok(std::iter::once(said).chain(note).map(text).collect())
}

async fn job_status(app: &SharedApp, owner: &Owner, mut fields: Fields) -> Result<Vec<Value>, Failure> {
    let id = fields.word("job");
    let note = fields.finish()?;
    let unknown = || Failure::not_found("Job", "There is no job of yours with this number, or it ended long ago.");
    let id = id.and_then(|id| QueuedJobId::from_str(&id).ok()).ok_or_else(unknown)?;
    let view = app.hub.job(owner, id).map_err(|_| unknown())?.borrow().clone();
    let mut told = content(&view).await?;
    told.extend(note.map(text));
    Ok(told)
}

/// Adds a job and waits for its pictures, or for as long as clients wait.
async fn run(app: &SharedApp, owner: &Owner, made: ResolvedWish, progress: Option<Progress>) -> Result<Vec<Value>, Failure> {
    let _held = app.hold(owner)?;
    let waiter = app.add(owner, made, Previews::Never, Lane::Interactive).await?;
    content(&follow(waiter, progress).await).await
}

async fn follow(mut waiter: Waiter, progress: Option<Progress>) -> JobView {
    let limit = tokio::time::sleep(ANSWER_WITHIN);
    tokio::pin!(limit);
    loop {
        let view = waiter.view();
        if view.is_over() {
            return view;
        }
        if let Some(progress) = &progress {
            progress.send(&view);
        }
        tokio::select! {
            is_open = waiter.change() => if !is_open {
                return waiter.view();
            },
            () = &mut limit => return waiter.leave_alone(),
        }
    }
}

/// How far a job is, in a sentence.
fn words(view: &JobView) -> String {
    let left = view.ends_in_secs.map_or_else(String::new, |secs| format!(", about {secs:.0} s left"));
    match (view.state, view.step) {
        (JobState::Running, Some(step)) if !view.is_waiting => format!("Step {} of {}{left}", step.done, step.total),
        (JobState::Running, None) if !view.is_waiting => format!("Loading{left}"),
        _ => format!("{} jobs are before it{left}", view.position),
    }
}

/// A job as an agent reads it: its pictures, each with a line about it, or how far it is.
async fn content(view: &JobView) -> Result<Vec<Value>, Failure> {
    if !view.is_over() {
        return Ok(vec![text(format!("The picture is not ready yet: {}. Ask job_status with job {} for it.", words(view), view.id))]);
    }
    outcome(view)?;
    let mut content = Vec::new();
    let each = MAX_PICTURE_BYTES / view.pictures.len().max(1);
    for picture in &view.pictures {
        let SmallCopy { bytes, losses, size: (width, height) } = small_copy(picture.path.clone(), MAX_SIDE, each).await?;
        content.push(image(&bytes, JPEG));
        let seed = view.seed(picture.index).map_or_else(String::new, |seed| format!(", seed {seed}"));
        let (id, lost) = (picture.picture.0, in_this_copy(&losses));
        content.push(text(format!("image_id {id}{seed}, {width}x{height}, made with {}.{lost}", view.model)));
    }
    content.extend(view.all_notes().into_iter().map(text));
    Ok(content)
}
