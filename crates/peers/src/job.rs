//! A job as another studio takes it, and what it tells of it. Pure.

use atelier_core::json::has_more_values;
use atelier_core::recipe::{Rgb8, Sampler, Scheduler, Seed};
use atelier_core::words::Prompt;
use atelier_media::{ExportFormat, PictureError, export_pixels};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::record::clean_line;

/// Pictures of a job: no studio makes more at a time.
pub const MAX_PICTURES: u32 = 8;
/// Values of an event, and of an answer about jobs or models: each model has about a dozen.
const MAX_VALUES: usize = 60_000;
/// Notes of a job, and bytes of a sentence of another studio.
const MAX_NOTES: usize = 32;
pub(crate) const MAX_SENTENCE: usize = 600;
/// Most steps and the longest side in pixels that are believed.
const MAX_STEPS: u32 = 100_000;
const MAX_SIDE: u32 = 65_535;

/// What is asked for. `None` leaves it to the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobRequest {
    /// The model's name there.
    pub model: Option<String>,
    /// With `<lora:NAME:STRENGTH>` for LoRAs of that studio.
    pub prompt: String,
    pub negative_prompt: String,
    /// Pixels.
    pub width: Option<u32>,
    /// Pixels.
    pub height: Option<u32>,
    pub seed: Option<Seed>,
    pub pictures: u32,
    pub steps: Option<u32>,
    pub guidance: Option<f32>,
    pub distilled_guidance: Option<f32>,
    pub sampler: Option<Sampler>,
    pub scheduler: Option<Scheduler>,
    pub eta: Option<f32>,
    pub flow_shift: Option<f32>,
    pub clip_skip: Option<u32>,
    /// The start picture and its denoising strength.
    pub init: Option<(Rgb8, f32)>,
    /// White is generated.
    pub mask: Option<Rgb8>,
    pub references: Vec<Rgb8>,
}

impl JobRequest {
    /// The body of the request. Pictures go as pixels, without what their files say beside them.
    pub(crate) fn body(&self) -> Result<Value, PictureError> {
        let picture = |image: &Rgb8| export_pixels(image, ExportFormat::Png).map(|bytes| Value::from(STANDARD.encode(bytes)));
        let mut sample = Map::new();
        put(&mut sample, "sample_steps", self.steps);
        put(&mut sample, "sample_method", self.sampler.map(Sampler::key));
        put(&mut sample, "scheduler", self.scheduler.map(Scheduler::key));
        put(&mut sample, "eta", self.eta);
        put(&mut sample, "flow_shift", self.flow_shift);
        let mut guidance = Map::new();
        put(&mut guidance, "txt_cfg", self.guidance);
        put(&mut guidance, "distilled_guidance", self.distilled_guidance);
        sample.insert("guidance".to_owned(), Value::Object(guidance));
        let mut body = Map::new();
        body.insert("prompt".to_owned(), json!(self.prompt));
        body.insert("negative_prompt".to_owned(), json!(self.negative_prompt));
        // What was chosen may have braces that are letters.
        if [&self.prompt, &self.negative_prompt].iter().any(|prompt| Prompt::parse(prompt).is_template()) {
            body.insert("words_are_chosen".to_owned(), json!(true));
        }
        body.insert("sample_params".to_owned(), Value::Object(sample));
        body.insert("batch_count".to_owned(), json!(self.pictures));
        body.insert("output_format".to_owned(), json!("png"));
        put(&mut body, "model", self.model.as_deref());
        put(&mut body, "width", self.width);
        put(&mut body, "height", self.height);
        put(&mut body, "seed", self.seed.map(|Seed(seed)| seed));
        put(&mut body, "clip_skip", self.clip_skip);
        if let Some((image, strength)) = &self.init {
            body.insert("init_image".to_owned(), picture(image)?);
            body.insert("strength".to_owned(), json!(strength));
        }
        if let Some(mask) = &self.mask {
            body.insert("mask_image".to_owned(), picture(mask)?);
        }
        if !self.references.is_empty() {
            let references = self.references.iter().map(picture).collect::<Result<Vec<Value>, _>>()?;
            body.insert("ref_images".to_owned(), Value::Array(references));
        }
        Ok(Value::Object(body))
    }
}

fn put<T: Into<Value>>(map: &mut Map<String, Value>, key: &str, value: Option<T>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    Queued,
    Generating,
    Completed,
    Failed,
    Cancelled,
}

/// The settings with which a job begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobBegin {
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    pub steps: u32,
    /// One for each picture.
    pub seeds: Vec<Seed>,
}

/// What another studio tells of a job, brought within bounds.
#[derive(Clone, Debug, PartialEq)]
pub enum JobEvent {
    State {
        status: JobStatus,
        /// Jobs before it, itself included; 0 where it does not wait.
        position: u32,
        /// Once it has begun.
        begin: Option<JobBegin>,
        /// What was changed or ignored, in sentences.
        notes: Vec<String>,
    },
    Step {
        picture: u32,
        done: u32,
        total: u32,
    },
    Preview {
        picture: u32,
        step: u32,
        /// A JPEG file.
        file: Vec<u8>,
    },
    /// A picture that can be fetched.
    Picture {
        index: u32,
        seed: Option<Seed>,
    },
    /// Nothing follows.
    End {
        status: JobStatus,
        /// Why it failed.
        sentence: Option<String>,
        notes: Vec<String>,
    },
}

/// An event or answer makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nonsense;

/// Reads an event; `None` for one that this version does not know.
pub(crate) fn read_event(name: &str, data: &[u8]) -> Result<Option<JobEvent>, Nonsense> {
    if !matches!(name, "state" | "step" | "preview" | "picture" | "end") {
        return Ok(None);
    }
    let value = read_json(data)?;
    let picture = |key: &str| number(&value, key, MAX_PICTURES - 1).ok_or(Nonsense);
    let steps = |key: &str| number(&value, key, MAX_STEPS).ok_or(Nonsense);
    Ok(Some(match name {
        "state" => JobEvent::State {
            status: status(&value)?,
            position: number(&value, "queue_position", u32::MAX).unwrap_or_default(),
            begin: value.get("begin").and_then(begin),
            notes: notes(&value),
        },
        "step" => {
            let total = steps("steps")?;
            JobEvent::Step { picture: picture("picture")?, done: steps("step")?.min(total), total }
        }
        "preview" => {
            let text = value.get("b64_json").and_then(Value::as_str).ok_or(Nonsense)?;
            let file = STANDARD.decode(text).map_err(|_| Nonsense)?;
            JobEvent::Preview { picture: picture("picture")?, step: steps("step")?, file }
        }
        // Where it says that the picture lies is not looked at: the index says it.
        "picture" => JobEvent::Picture { index: picture("index")?, seed: value.get("seed").and_then(seed) },
        _ => {
            let sentence = value.get("error").and_then(|error| error.get("message")).and_then(Value::as_str);
            JobEvent::End { status: status(&value)?, sentence: sentence.map(|it| clean_line(it, MAX_SENTENCE)), notes: notes(&value) }
        }
    }))
}

/// Reads a JSON text of a bounded number of values.
pub(crate) fn read_json(bytes: &[u8]) -> Result<Value, Nonsense> {
    if has_more_values(bytes, MAX_VALUES) {
        return Err(Nonsense);
    }
    serde_json::from_slice(bytes).map_err(|_| Nonsense)
}

fn status(value: &Value) -> Result<JobStatus, Nonsense> {
    match value.get("status").and_then(Value::as_str) {
        Some("queued") => Ok(JobStatus::Queued),
        Some("generating") => Ok(JobStatus::Generating),
        Some("completed") => Ok(JobStatus::Completed),
        Some("failed") => Ok(JobStatus::Failed),
        Some("cancelled") => Ok(JobStatus::Cancelled),
        _ => Err(Nonsense),
    }
}

/// A whole number, where it is at most this.
fn number(value: &Value, key: &str, most: u32) -> Option<u32> {
    u32::try_from(value.get(key)?.as_u64()?).ok().filter(|it| *it <= most)
}

fn seed(value: &Value) -> Option<Seed> {
    value.as_u64().map(Seed)
}

fn begin(value: &Value) -> Option<JobBegin> {
    // Behind one that is none, the next ones would be those of other pictures.
    let seeds = value.get("seeds")?.as_array()?.iter().take(MAX_PICTURES as usize).map_while(seed).collect();
    let (width, height) = (number(value, "width", MAX_SIDE)?, number(value, "height", MAX_SIDE)?);
    Some(JobBegin { width, height, steps: number(value, "steps", MAX_STEPS)?, seeds })
}

fn notes(value: &Value) -> Vec<String> {
    let notes = value.get("notes").and_then(Value::as_array).into_iter().flatten().take(MAX_NOTES);
    notes.filter_map(Value::as_str).map(|note| clean_line(note, MAX_SENTENCE)).filter(|note| !note.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_chosen_is_not_sent() {
        let request = JobRequest { prompt: "a lake".into(), pictures: 1, seed: None, ..JobRequest::default() };
        let expected = json!({"prompt": "a lake", "negative_prompt": "", "batch_count": 1, "output_format": "png",
            "sample_params": {"guidance": {}}});
        assert_eq!(request.body().unwrap(), expected);
        let braces = JobRequest { prompt: "a {lake|sea}".into(), ..request.clone() };
        assert_eq!(braces.body().unwrap()["words_are_chosen"], true, "they were letters here");
        let image = Rgb8::new(1, 1, vec![1, 2, 3]).unwrap();
        let request = JobRequest {
            model: Some("Dream".into()),
            steps: Some(4),
            guidance: Some(1.5),
            sampler: Some(Sampler::EulerA),
            seed: Some(Seed::MAX),
            init: Some((image.clone(), 0.5)),
            references: vec![image],
            ..request
        };
        let body = request.body().unwrap();
        assert_eq!(body["sample_params"], json!({"sample_steps": 4, "sample_method": "euler_a", "guidance": {"txt_cfg": 1.5}}));
        assert_eq!((&body["model"], &body["seed"], &body["strength"]), (&json!("Dream"), &json!(u64::MAX), &json!(0.5)));
        assert!(body["init_image"].as_str().unwrap().starts_with("iVBOR") && body["ref_images"].as_array().unwrap().len() == 1);
    }

    #[test]
    fn events_are_read_within_bounds() {
        let read = |name: &str, data: Value| read_event(name, data.to_string().as_bytes());
        let begun = json!({"status": "generating", "queue_position": 0, "notes": ["Snapped.\u{1b}[2J", 7],
            "begin": {"width": 64, "height": 32, "steps": 4, "seeds": [7, u64::MAX, -1, 9]}});
        let begin = Some(JobBegin { width: 64, height: 32, steps: 4, seeds: vec![Seed(7), Seed::MAX] });
        let notes = vec!["Snapped. [2J".to_owned()];
        assert_eq!(read("state", begun), Ok(Some(JobEvent::State { status: JobStatus::Generating, position: 0, begin, notes })));
        assert_eq!(
            read("step", json!({"picture": 1, "step": 9, "steps": 4})),
            Ok(Some(JobEvent::Step { picture: 1, done: 4, total: 4 })),
            "no step is beyond the last one"
        );
        let picture = json!({"index": 2, "seed": 9, "url": "http://evil.example/../x"});
        assert_eq!(read("picture", picture), Ok(Some(JobEvent::Picture { index: 2, seed: Some(Seed(9)) })));
        let failed = json!({"status": "failed", "error": {"message": "No\nmemory."}});
        let sentence = Some("No memory.".to_owned());
        assert_eq!(read("end", failed), Ok(Some(JobEvent::End { status: JobStatus::Failed, sentence, notes: Vec::new() })));
        assert_eq!(read("of a later version", json!([])), Ok(None));
        for (name, strange) in [
            ("state", json!({"status": "dancing"})),
            ("step", json!({"picture": 8, "step": 1, "steps": 4})),
            ("step", json!({"picture": 0, "step": -1, "steps": 4})),
            ("step", json!({"picture": 0, "step": 1, "steps": 1e9})),
            ("preview", json!({"picture": 0, "step": 1, "b64_json": "../../x"})),
            ("picture", json!({"index": "../../../etc/passwd"})),
            ("picture", json!({"index": 4_294_967_296_u64})),
            ("end", json!(null)),
        ] {
            assert_eq!(read(name, strange.clone()), Err(Nonsense), "{name}: {strange}");
        }
        assert_eq!(read_event("end", &vec![b'['; 100_000]), Err(Nonsense));
        assert_eq!(read_event("end", &[b'['; 1000]), Err(Nonsense), "as deep as that is no event");
    }
}
