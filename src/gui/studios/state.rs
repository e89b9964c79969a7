//! State of other studios.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use atelier_core::advice::Advice;
use atelier_core::mailbox::Mailbox;
use atelier_core::paths::Paths;
use atelier_peers::{FoundStudio, KeptStudio, KeptStudios, Network, OfferedModel, StudioAddress, StudioError};

use crate::gui::options::Options;
use atelier_studio::studio_model::StudioModel;

/// Studios that are asked for their models at a time.
const MAX_ASKED: usize = 4;

/// State of other studios.
#[derive(Debug, Default)]
pub struct State {
    /// Where they are kept; `None` keeps none.
    pub(crate) file: Option<PathBuf>,
    /// Where they are looked for.
    pub(crate) network: Network,
    /// The dialog is shown.
    pub is_open: bool,
    /// The search, while the dialog is open.
    pub(crate) search: Option<Search>,
    /// Those that the search has found.
    pub(crate) found: Vec<FoundStudio>,
    /// Why nothing is found: the system lets nothing be searched.
    pub(crate) search_trouble: Option<Advice>,
    pub(crate) kept: KeptStudios,
    /// The list of them was read.
    pub(crate) is_read: bool,
    /// What is known of the models of the kept ones, by address.
    pub(crate) models: BTreeMap<String, StudioModels>,
    /// The link, address or token that is typed.
    pub link: String,
    /// How the studio is called that is being connected to.
    pub(crate) connecting: Option<String>,
    /// Why the last command was not carried out.
    pub(crate) trouble: Option<Advice>,
    /// The kept studio to which a person moved the chosen model, until a model of it is chosen.
    pub(crate) placing: Option<String>,
    /// The studios stood on the board in the last frame.
    pub(super) was_on_board: bool,
}

impl State {
    /// The state at the start; nothing is read, searched or asked yet.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        let file = options.paths.as_ref().map(Paths::studios_file);
        Self { file, network: options.studios_network, ..Self::default() }
    }

    /// What is known of the models of the studio at this address.
    pub(crate) fn models_of(&self, address: &StudioAddress) -> Option<&StudioModels> {
        self.models.get(&address.to_string())
    }

    /// True while a studio is asked for its models.
    pub(crate) fn is_asking(&self, address: &StudioAddress) -> bool {
        self.models_of(address).is_some_and(|it| it.answer == Answer::Awaited)
    }

    /// The models that a studio told last, where it ever did.
    pub(crate) fn offered_by(&self, studio: &KeptStudio) -> Option<&[OfferedModel]> {
        self.models_of(&studio.address)?.offered.as_deref()
    }

    /// A model of a kept studio as it was offered, where that is known.
    pub(crate) fn offered(&self, model: &StudioModel) -> Option<&OfferedModel> {
        self.offered_by(self.kept.named(&model.studio)?)?.iter().find(|it| it.name == model.model)
    }

    /// The model of a studio that has one of these names, the first of which comes first.
    pub(crate) fn same_model(&self, studio: &KeptStudio, names: &[String]) -> Option<StudioModel> {
        let offered = self.offered_by(studio)?;
        let of_name = |name: &String| offered.iter().find(|it| it.name.eq_ignore_ascii_case(name));
        let same = names.iter().find_map(of_name)?;
        Some(StudioModel { studio: studio.name.clone(), model: same.name.clone() })
    }

    /// True where a model waits to be placed until the studio at this address tells its models. A later
    /// answer moves nothing: another model may be chosen by then.
    pub(super) fn is_first_answer_of_placing(&self, address: &StudioAddress) -> bool {
        let studio = self.kept.at(address).filter(|studio| self.placing.as_ref() == Some(&studio.name));
        studio.is_some_and(|studio| self.offered_by(studio).is_none())
    }

    /// True where a studio answered when it was asked last.
    pub(crate) fn is_reached(&self, studio: &KeptStudio) -> bool {
        self.models_of(&studio.address).is_some_and(|it| it.answer == Answer::Given)
    }

    /// Why a studio gave no answer when it was asked last.
    pub(crate) fn trouble_of(&self, studio: &KeptStudio) -> Option<&Advice> {
        match &self.models_of(&studio.address)?.answer {
            Answer::Missing(advice) => Some(advice),
            Answer::Unasked | Answer::Due | Answer::Awaited | Answer::Given => None,
        }
    }

    /// All kept studios are to be asked for their models; what they told stays until they answer.
    pub(crate) fn ask_all(&mut self) {
        self.ask_those(|_, _| true);
    }

    /// Those that were never asked are to be asked for their models.
    pub(crate) fn ask_new(&mut self) {
        self.ask_those(|_, answer| *answer == Answer::Unasked);
    }

    /// The kept studio of this name is to be asked for its models.
    pub(crate) fn ask_named(&mut self, name: &str) {
        self.ask_those(|studio, _| studio.name == name);
    }

    fn ask_those(&mut self, is_meant: impl Fn(&KeptStudio, &Answer) -> bool) {
        for studio in self.kept.iter() {
            let models = self.models.entry(studio.address.to_string()).or_default();
            if models.answer != Answer::Awaited && is_meant(studio, &models.answer) {
                models.answer = Answer::Due;
            }
        }
    }

    /// The studios that are to be asked now, which count as asked from here on.
    pub(crate) fn take_due(&mut self) -> Vec<KeptStudio> {
        let mut asked = self.models.values().filter(|it| it.answer == Answer::Awaited).count();
        let mut due = Vec::new();
        for studio in self.kept.iter() {
            let models = self.models.entry(studio.address.to_string()).or_default();
            if asked < MAX_ASKED && models.answer == Answer::Due {
                models.answer = Answer::Awaited;
                asked += 1;
                due.push(studio.clone());
            }
        }
        due
    }

    /// Takes the answer of a studio. One that was forgotten meanwhile is not shown again.
    pub(crate) fn take_models(&mut self, address: &StudioAddress, told: Result<Vec<OfferedModel>, Advice>) {
        if self.kept.at(address).is_none() {
            return;
        }
        let models = self.models.entry(address.to_string()).or_default();
        models.answer = match told {
            Ok(offered) => {
                models.offered = Some(offered);
                Answer::Given
            }
            Err(advice) => Answer::Missing(advice),
        };
    }

    /// Takes the list of kept studios, as it is in the file now.
    pub(crate) fn take_kept(&mut self, kept: KeptStudios) {
        (self.kept, self.is_read) = (kept, true);
        let addresses: Vec<String> = self.kept.iter().map(|it| it.address.to_string()).collect();
        self.models.retain(|address, _| addresses.contains(address));
        self.placing.take_if(|name| self.kept.named(name).is_none());
    }

    /// Takes the list of kept studios in which one has another address now: what is known of it stays.
    pub(crate) fn take_moved(&mut self, kept: KeptStudios, from: &StudioAddress, to: &StudioAddress) {
        if let Some(models) = self.models.remove(&from.to_string()) {
            self.models.insert(to.to_string(), models);
        }
        self.take_kept(kept);
    }

    /// Those that were found and are not kept.
    pub(crate) fn strangers(&self) -> impl Iterator<Item = &FoundStudio> {
        self.found.iter().filter(|it| self.kept.at(&it.address).is_none())
    }
}

/// What is known of the models of a studio.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StudioModels {
    /// What it told last; `None` where it never did.
    pub(crate) offered: Option<Vec<OfferedModel>>,
    pub(crate) answer: Answer,
}

/// The answer to the last question for models.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Answer {
    /// Nobody has asked yet.
    #[default]
    Unasked,
    /// It is to be asked.
    Due,
    Awaited,
    Given,
    /// There is none, and why.
    Missing(Advice),
}

/// What a search tells: all studios that are there now.
pub(crate) type Found = Result<Vec<FoundStudio>, StudioError>;

/// A search on a thread of its own, which ends soon after this is dropped.
pub(crate) struct Search {
    pub(crate) news: Arc<Mailbox<Found>>,
    pub(crate) is_over: Arc<AtomicBool>,
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").finish_non_exhaustive()
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> StudioAddress {
        text.parse().unwrap()
    }

    fn state(count: usize) -> State {
        let mut kept = KeptStudios::default();
        for n in 0..count {
            assert!(kept.keep(KeptStudio { name: format!("{n}"), address: address(&format!("10.0.0.{n}")), token: None, id: None }));
        }
        let mut state = State { kept, ..State::default() };
        state.ask_all();
        state
    }

    fn dream() -> Vec<OfferedModel> {
        vec![OfferedModel { name: "Dream".into(), ..OfferedModel::default() }]
    }

    #[test]
    fn the_chosen_model_is_known_to_a_studio_by_any_of_its_names() {
        let mut state = state(1);
        let studio = state.take_due().remove(0);
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(state.same_model(&studio, &names(&["Dream"])), None, "it has told nothing yet");
        let offered = |name: &str| OfferedModel { name: name.into(), ..OfferedModel::default() };
        state.take_models(&studio.address, Ok(vec![offered("sdxl"), offered("Dream"), offered("Dream (v2)")]));
        let same = |wanted: &[&str]| state.same_model(&studio, &names(wanted)).map(|it| it.model);
        assert_eq!(same(&["Dream", "sdxl"]).as_deref(), Some("Dream"), "the first name comes first");
        assert_eq!(same(&["My own", "SDXL"]).as_deref(), Some("sdxl"));
        assert_eq!((same(&["Drea"]), same(&[])), (None, None));
    }

    #[test]
    fn only_the_first_answer_of_the_studio_that_was_chosen_places_a_model() {
        let mut state = State { placing: Some("1".into()), ..state(2) };
        let (other, studio) = (address("10.0.0.0"), address("10.0.0.1"));
        assert!(state.is_first_answer_of_placing(&studio) && !state.is_first_answer_of_placing(&other));
        state.take_models(&studio, Err(Advice::new("It is off.", "Switch it on.")));
        assert!(state.is_first_answer_of_placing(&studio), "it has told no models yet");
        state.take_models(&studio, Ok(dream()));
        assert!(!state.is_first_answer_of_placing(&studio));
    }

    #[test]
    fn a_studio_that_is_forgotten_is_no_place_for_a_model() {
        let mut state = State { placing: Some("0".into()), ..state(2) };
        state.take_kept(state.kept.clone());
        assert_eq!(state.placing.as_deref(), Some("0"));
        let mut kept = state.kept.clone();
        assert!(kept.forget("0"));
        state.take_kept(kept);
        assert_eq!(state.placing, None);
    }

    #[test]
    fn few_studios_are_asked_at_a_time_and_each_once() {
        let mut state = state(MAX_ASKED + 1);
        let first = state.take_due();
        assert_eq!(first.len(), MAX_ASKED);
        assert!(state.take_due().is_empty(), "the others wait");
        state.take_models(&first[0].address, Ok(dream()));
        let next = state.take_due();
        assert_eq!(next.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), [MAX_ASKED.to_string()]);
        state.take_models(&next[0].address, Ok(Vec::new()));
        assert!(state.take_due().is_empty());
        state.ask_all();
        assert_eq!(state.take_due().len(), 1, "the others still have not answered");
    }

    #[test]
    fn the_studio_of_the_chosen_model_is_asked_alone_and_the_others_once_they_are_wanted() {
        let mut state = State { models: BTreeMap::new(), ..state(3) };
        assert!(state.take_due().is_empty(), "nobody is asked by himself");
        state.ask_named("1");
        let due = state.take_due();
        assert_eq!(due.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["1"]);
        state.take_models(&due[0].address, Ok(dream()));
        state.ask_new();
        assert_eq!(state.take_due().len(), 2, "it has answered already");
    }

    #[test]
    fn what_a_studio_told_stays_where_it_answers_no_more_and_goes_with_it() {
        let mut state = state(1);
        let studio = state.take_due().remove(0);
        state.take_models(&studio.address, Ok(dream()));
        let why = Advice::new("It is gone.", "");
        state.take_models(&studio.address, Err(why.clone()));
        let known = state.models_of(&studio.address).unwrap();
        assert_eq!((known.offered.as_deref(), &known.answer), (Some(&dream()[..]), &Answer::Missing(why)));
        let model = |name: &str| StudioModel { studio: "0".into(), model: name.into() };
        assert!(state.offered(&model("Dream")).is_some() && state.offered(&model("Gone")).is_none());
        state.take_kept(KeptStudios::default());
        assert_eq!(state.models_of(&studio.address), None);
    }

    #[test]
    fn what_is_known_of_a_studio_stays_where_it_has_another_address() {
        let mut state = state(2);
        let studio = state.take_due().remove(1);
        let now = address("10.0.0.99");
        let mut kept = state.kept.clone();
        assert!(kept.keep(KeptStudio { address: now.clone(), ..studio.clone() }), "in place of the one of its name");
        state.take_moved(kept, &studio.address, &now);
        assert_eq!(state.models_of(&studio.address), None);
        assert_eq!(state.models_of(&now).unwrap().answer, Answer::Awaited, "it was asked");
        state.take_models(&now, Ok(dream()));
        assert!(state.offered(&StudioModel { studio: studio.name, model: "Dream".into() }).is_some());
    }

    #[test]
    fn a_kept_studio_is_no_stranger_and_whoever_takes_its_name_is_one() {
        let found = |name: &str, at: &str| FoundStudio { name: name.into(), address: address(at), needs_token: true, id: None };
        let state = State { found: vec![found("Anna", "10.0.0.0"), found("0", "10.0.0.9")], ..state(1) };
        assert_eq!(state.strangers().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["0"]);
    }
}
