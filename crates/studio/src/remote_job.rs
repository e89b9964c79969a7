//! A job that another studio makes: it is sent there, followed to its end, and told as the engine
//! tells its own jobs.

use std::sync::Arc;
use std::time::Instant;

use atelier_core::recipe::{PictureInfo, Recipe, Seed, setting_name};
use atelier_engine::{Begin, End, Failure, Picture, Preview, Step, Timings};
use atelier_language::tr;
use atelier_media::{PictureError, ReceivedPicture, StoredRecipe, read_image, read_metadata};
use atelier_peers::{JobBegin, JobEvent, JobRequest, JobStatus, RemoteJob, Studio, StudioError};

use crate::studio_model::sent_mask;

/// Who hears of a job.
pub trait RemoteListener {
    /// True once the job is to stop.
    fn is_cancelled(&self) -> bool;
    /// Something came from the studio; what it is, is told next.
    fn hear(&mut self) {}
    /// The job waits there, at this place.
    fn wait(&mut self, _place: u32) {}
    /// It begins, once.
    fn begin(&mut self, begin: Begin);
    /// A step was done.
    fn step(&mut self, step: Step);
    /// True where previews are of use.
    fn shows_previews(&self) -> bool;
    /// A preview came, or could not be read: the picture matters more.
    fn preview(&mut self, preview: Result<Preview, StudioError>);
    /// A picture came; false where further ones are of no use.
    fn picture(&mut self, picture: RemotePicture) -> bool;
}

/// A picture that another studio made.
#[derive(Debug)]
pub struct RemotePicture {
    /// The picture, without notes.
    pub picture: Picture,
    /// The settings that its file says.
    pub said: Option<StoredRecipe>,
    /// With what it was made otherwise than it was asked for.
    pub differences: Vec<Difference>,
}

/// A setting with which a picture was made otherwise than it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The setting's name.
    pub name: &'static str,
    /// What was asked for.
    pub asked: String,
    /// What was used; `None` for the model's own.
    pub used: Option<String>,
}

/// The request of a recipe with all its settings. Reads its pictures; blocks.
///
/// # Errors
/// If one of them cannot be read.
pub fn request_of(model: Option<String>, recipe: &Recipe) -> Result<JobRequest, PictureError> {
    let init = match &recipe.init {
        Some(init) => Some((read_image(&init.image)?, init.strength)),
        None => None,
    };
    Ok(JobRequest {
        model,
        prompt: recipe.prompt.clone(),
        negative_prompt: recipe.negative_prompt.clone(),
        width: Some(recipe.width),
        height: Some(recipe.height),
        seed: recipe.seed,
        pictures: recipe.batch_count,
        steps: Some(recipe.steps),
        guidance: Some(recipe.guidance),
        distilled_guidance: Some(recipe.distilled_guidance),
        sampler: recipe.sampler,
        scheduler: recipe.scheduler,
        eta: recipe.eta,
        flow_shift: recipe.flow_shift,
        clip_skip: recipe.clip_skip,
        init,
        mask: recipe.mask.as_ref().map(sent_mask).transpose()?,
        references: recipe.reference_images.iter().map(read_image).collect::<Result<_, _>>()?,
    })
}

/// Settings that were asked for, and that a picture was not made with.
#[must_use]
pub fn differences(asked: &JobRequest, used: &Recipe) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut compare = |key: &str, asked: Option<String>, used: Option<String>| {
        if let Some(asked) = asked.filter(|asked| Some(asked) != used.as_ref()) {
            found.push(Difference { name: setting_name(key), asked, used });
        }
    };
    let text = |value: f32| value.to_string();
    compare("steps", asked.steps.map(|it| it.to_string()), Some(used.steps.to_string()));
    compare("guidance", asked.guidance.map(text), Some(text(used.guidance)));
    compare("distilled_guidance", asked.distilled_guidance.map(text), Some(text(used.distilled_guidance)));
    compare("sampler", asked.sampler.map(|it| it.label().to_owned()), used.sampler.map(|it| it.label().to_owned()));
    compare("scheduler", asked.scheduler.map(|it| it.label().to_owned()), used.scheduler.map(|it| it.label().to_owned()));
    compare("eta", asked.eta.map(text), used.eta.map(text));
    compare("flow_shift", asked.flow_shift.map(text), used.flow_shift.map(text));
    compare("clip_skip", asked.clip_skip.map(|it| it.to_string()), used.clip_skip.map(|it| it.to_string()));
    found
}

/// Has a studio make a job, and tells all of it but its end, which is returned. Blocks until then.
pub fn make(studio: &Studio, request: &JobRequest, listener: &mut dyn RemoteListener) -> End {
    let started = Instant::now();
    let mut run = RemoteRun { studio, request, listener, seeds: None, step: None, pictures: Vec::new() };
    match run.make() {
        Ok(()) => {
            // What each phase took, only the studio knows.
            let timings = Timings { total_secs: started.elapsed().as_secs_f64(), ..Timings::default() };
            End::Done { pictures: run.pictures, timings, notes: Vec::new() }
        }
        Err(StudioError::Cancelled) => End::Cancelled,
        Err(error) => End::Failed(Failure::from(error.advice())),
    }
}

/// A job on its way.
struct RemoteRun<'a> {
    studio: &'a Studio,
    request: &'a JobRequest,
    listener: &'a mut dyn RemoteListener,
    /// The seed of each picture, once it has begun.
    seeds: Option<Vec<Seed>>,
    /// The last step: its picture, its number, and when it was told.
    step: Option<(u32, u32, Instant)>,
    pictures: Vec<PictureInfo>,
}

impl RemoteRun<'_> {
    fn make(&mut self) -> Result<(), StudioError> {
        if self.listener.is_cancelled() {
            return Err(StudioError::Cancelled);
        }
        let job = self.studio.start(self.request)?;
        let end = self.follow(&job).inspect_err(|error| {
            // Nobody would hear of it any more.
            if !matches!(error, StudioError::Cancelled) {
                self.studio.cancel(&job);
            }
        })?;
        match end {
            (JobStatus::Completed, _) if self.pictures.len() < self.request.pictures as usize => {
                Err(self.studio.bad_picture(&tr!("peers-a-picture-is-missing")))
            }
            (JobStatus::Completed, _) => Ok(()),
            (JobStatus::Cancelled, _) => Err(StudioError::Cancelled),
            (JobStatus::Queued | JobStatus::Generating | JobStatus::Failed, sentence) => {
                let sentence = sentence.unwrap_or_else(|| tr!("studio-it-does-not-say").to_owned());
                Err(StudioError::Failed { studio: self.studio.name().to_owned(), sentence })
            }
        }
    }

    /// Hears of the job until its end: how it ended there, and a sentence on it.
    fn follow(&mut self, job: &RemoteJob) -> Result<(JobStatus, Option<String>), StudioError> {
        let mut followed = self.studio.follow(job)?;
        let mut is_useless = false;
        while let Some(event) = followed.next(&|| is_useless || self.listener.is_cancelled())? {
            self.listener.hear();
            match event {
                JobEvent::State { status, position, begin, notes } => {
                    if status == JobStatus::Queued {
                        self.listener.wait(position);
                    }
                    if let Some(begin) = begin {
                        self.begin(begin, notes);
                    }
                }
                JobEvent::Step { picture, done, total } if self.has(picture) => {
                    self.begin_unsaid((0, 0));
                    let step_secs = self.step_secs(picture, done);
                    self.listener.step(Step { picture, done, total, fraction: 0.0, step_secs });
                }
                JobEvent::Preview { picture, step, file } if self.has(picture) && self.listener.shows_previews() => {
                    self.begin_unsaid((0, 0));
                    let image = ReceivedPicture::new(&file).and_then(|received| received.image());
                    let preview = image.map(|image| Preview { picture, step, place: None, image: Arc::new(image) });
                    self.listener.preview(preview.map_err(|error| self.studio.bad_picture(&error)));
                }
                JobEvent::Step { .. } | JobEvent::Preview { .. } => {}
                JobEvent::Picture { index, seed } => is_useless |= !self.picture(job, index, seed)?,
                JobEvent::End { status, sentence, .. } => return Ok((status, sentence)),
            }
        }
        // A job that was followed to its end has told how it ended.
        Err(StudioError::Cancelled)
    }

    fn has(&self, picture: u32) -> bool {
        picture < self.request.pictures.max(1)
    }

    /// Tells that it has begun, once.
    fn begin(&mut self, begin: JobBegin, notes: Vec<String>) {
        if self.seeds.is_some() {
            return;
        }
        let JobBegin { width, height, steps, mut seeds } = begin;
        if let Some(first) = self.request.seed.filter(|_| seeds.len() != self.request.pictures.max(1) as usize) {
            seeds = (0..self.request.pictures.max(1)).map(|index| first.after(u64::from(index))).collect();
        }
        self.seeds = Some(seeds.clone());
        self.listener.begin(Begin { width, height, steps, seeds, notes });
    }

    /// A job begins before it has a step or a picture, whatever it tells. `size`: where none was asked
    /// for.
    fn begin_unsaid(&mut self, size: (u32, u32)) {
        let (width, height) = (self.request.width.unwrap_or(size.0), self.request.height.unwrap_or(size.1));
        self.begin(JobBegin { width, height, steps: self.request.steps.unwrap_or(0), seeds: Vec::new() }, Vec::new());
    }

    /// Seconds that the step before this one took; 0 for the first of a picture.
    fn step_secs(&mut self, picture: u32, done: u32) -> f32 {
        let now = Instant::now();
        let before = self.step.replace((picture, done, now));
        match before {
            Some((before, earlier, at)) if before == picture && done > earlier => (now - at).as_secs_f32() / (done - earlier) as f32,
            _ => 0.0,
        }
    }

    /// Fetches a picture and tells it; false where further ones are of no use.
    fn picture(&mut self, job: &RemoteJob, index: u32, seed: Option<Seed>) -> Result<bool, StudioError> {
        if !self.has(index) {
            return Err(self.studio.bad_picture(&tr!("studio-nobody-asked-for-it")));
        }
        let received = self.studio.picture(job, index)?;
        let image = received.fine_image().map_err(|error| self.studio.bad_picture(&error))?;
        self.begin_unsaid((image.width(), image.height()));
        let told = self.seeds.as_ref().and_then(|seeds| seeds.get(index as usize).copied());
        let seed = seed.or(told).or(self.request.seed);
        let info = PictureInfo { index, seed, cpu_math: None, merged_loras: false };
        let said = read_metadata(received.path()).ok().and_then(|it| it.recipe);
        let used = said.clone().map(|it| it.with_names().recipe);
        let differences = used.map(|used| differences(self.request, &used)).unwrap_or_default();
        self.pictures.push(info);
        let picture = Picture { info, notes: Vec::new(), image: Arc::new(image) };
        Ok(self.listener.picture(RemotePicture { picture, said, differences }))
    }
}

#[cfg(test)]
mod tests {
    use atelier_core::recipe::Sampler;

    use super::*;

    #[test]
    fn what_was_made_otherwise_is_named() {
        let request = JobRequest { steps: Some(4), guidance: Some(1.5), sampler: Some(Sampler::EulerA), ..JobRequest::default() };
        let same = Recipe { steps: 4, guidance: 1.5, sampler: Some(Sampler::EulerA), eta: Some(0.5), ..Recipe::default() };
        assert!(differences(&request, &same).is_empty(), "what was not chosen is the model's own");
        let other = Recipe { steps: 20, sampler: None, ..same };
        let expected = [
            Difference { name: "steps", asked: "4".into(), used: Some("20".into()) },
            Difference { name: "sampler", asked: "Euler a".into(), used: None },
        ];
        assert_eq!(differences(&request, &other), expected);
    }
}
