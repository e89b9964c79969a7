//! Filter, search and order of the cards. Pure; computed after a change, not for each frame.

use atelier_language::tr;
use atelier_library::{Availability, ModelCard, ModelKind};

use crate::gui::models::fit::FitLevel;

/// Filter of the cards; each field that is `None` lets all cards pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub kind: Option<ModelKind>,
    pub family: Option<String>,
    /// State of the model.
    pub state: Option<StateFilter>,
    /// Fit into this machine's memory.
    pub fit: Option<FitFilter>,
}

/// Filter by a model's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateFilter {
    Ready,
    /// Its weights are in memory.
    InMemory,
    /// In the download queue.
    Queued,
    /// Files are missing or damaged.
    Incomplete,
    /// Offered by the catalogue.
    Catalogue,
}

impl StateFilter {
    /// All of them, in the order of the menu.
    pub const ALL: [Self; 5] = [Self::Ready, Self::InMemory, Self::Queued, Self::Incomplete, Self::Catalogue];

    /// Text of its menu entry.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Ready => tr!("models-ready-to-use"),
            Self::InMemory => tr!("models-in-memory"),
            Self::Queued => tr!("models-in-the-queue"),
            Self::Incomplete => tr!("models-incomplete"),
            Self::Catalogue => tr!("models-to-download"),
        }
    }
}

/// Filter by fit into this machine's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FitFilter {
    /// [`FitLevel::Fits`].
    Fits,
    /// [`FitLevel::Fits`] or [`FitLevel::Tight`].
    Runs,
}

impl FitFilter {
    /// All of them, in the order of the menu.
    pub const ALL: [Self; 2] = [Self::Fits, Self::Runs];

    /// Text of its menu entry.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Fits => tr!("models-fits"),
            Self::Runs => tr!("models-fits-or-tight"),
        }
    }
}

/// Order of the cards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// On this machine first, then by fit; cards that can only be listed after usable ones.
    #[default]
    FitsFirst,
    Name,
    /// By bytes, the smallest first.
    Size,
    /// By time of the newest file on this disk, the newest first.
    Added,
}

impl Sort {
    /// All of them, in the order of the menu.
    pub const ALL: [Self; 4] = [Self::FitsFirst, Self::Name, Self::Size, Self::Added];

    /// Text of its menu entry.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::FitsFirst => tr!("models-fits-first"),
            Self::Name => tr!("common-name"),
            Self::Size => tr!("models-smallest-first"),
            Self::Added => tr!("models-recently-added"),
        }
    }
}

/// Card status that changes without a rescan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CardStatus {
    /// Fit into this machine's memory.
    pub fit: FitLevel,
    /// Its weights are in memory.
    pub in_memory: bool,
    /// It is in the download queue.
    pub is_queued: bool,
}

impl Filter {
    /// True where every card passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn accepts(&self, card: &ModelCard, status: CardStatus) -> bool {
        let state = match self.state {
            None => true,
            Some(StateFilter::Ready) => card.availability.is_ready(),
            Some(StateFilter::InMemory) => status.in_memory,
            Some(StateFilter::Queued) => status.is_queued,
            Some(StateFilter::Incomplete) => matches!(card.availability, Availability::Incomplete | Availability::Damaged),
            Some(StateFilter::Catalogue) => card.availability == Availability::Catalogue,
        };
        let fit = match self.fit {
            None => true,
            // LoRAs, upscalers and parts are small.
            Some(_) if card.kind != ModelKind::Model => true,
            Some(FitFilter::Fits) => status.fit == FitLevel::Fits,
            Some(FitFilter::Runs) => matches!(status.fit, FitLevel::Fits | FitLevel::Tight),
        };
        state && fit && self.kind.is_none_or(|it| it == card.kind) && (self.family.is_none() || self.family == card.family)
    }
}

/// Indices of the cards that pass search and filter, in order. `statuses` has one entry for each
/// card.
#[must_use]
pub(crate) fn visible_cards(cards: &[ModelCard], statuses: &[CardStatus], search: &str, filter: &Filter, sort: Sort) -> Vec<usize> {
    let words: Vec<String> = search.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let all = cards.iter().zip(statuses).enumerate();
    let visible = all.filter(|(_, (card, status))| card.has(&words) && filter.accepts(card, **status));
    let mut visible: Vec<(usize, &ModelCard, CardStatus)> = visible.map(|(at, (card, status))| (at, card, *status)).collect();
    let name = |card: &ModelCard| card.name.to_lowercase();
    match sort {
        Sort::FitsFirst => visible.sort_by_key(|(_, card, status)| {
            let is_model = card.kind == ModelKind::Model;
            let fit = if is_model { status.fit } else { FitLevel::Fits };
            let is_remote = !(card.availability.is_here() || status.is_queued);
            (is_remote, card.availability == Availability::Listed, !is_model, fit, !card.recommended, name(card))
        }),
        Sort::Name => visible.sort_by_key(|(_, card, _)| name(card)),
        Sort::Size => visible.sort_by_key(|(_, card, _)| (card.bytes.is_none(), card.bytes, name(card))),
        Sort::Added => {
            visible.sort_by_key(|(_, card, _)| (!card.availability.is_here(), std::cmp::Reverse(card.added_nanos), name(card)));
        }
    }
    visible.into_iter().map(|(at, ..)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::models::state::tests::card;

    fn cards() -> (Vec<ModelCard>, Vec<CardStatus>) {
        let mut cards =
            vec![card("b", "Beta", Some(5)), card("a", "alpha", None), card("c", "Gamma", Some(3)), card("d", "Delta", Some(9))];
        cards[3].availability = Availability::OnDisk;
        cards[2].family = Some("Flux".into());
        cards[2].kind = ModelKind::Lora;
        let fits = [FitLevel::Tight, FitLevel::Unknown, FitLevel::Unknown, FitLevel::TooBig];
        let statuses = fits.map(|fit| CardStatus { fit, ..CardStatus::default() });
        (cards, statuses.into())
    }

    fn names(search: &str, filter: &Filter, sort: Sort) -> Vec<String> {
        let (cards, statuses) = cards();
        visible_cards(&cards, &statuses, search, filter, sort).into_iter().map(|at| cards[at].id.clone()).collect()
    }

    #[test]
    fn every_order_is_as_its_name_says() {
        let all = Filter::default();
        assert_eq!(names("", &all, Sort::FitsFirst), ["d", "b", "a", "c"]);
        let (mut cards, statuses) = cards();
        (cards[0].availability, cards[1].availability) = (Availability::Listed, Availability::InPlace);
        let order = visible_cards(&cards, &statuses, "", &all, Sort::FitsFirst);
        assert_eq!(order, [1, 3, 0, 2], "what can be used goes before what is only listed");
        assert_eq!(names("", &all, Sort::Name), ["a", "b", "d", "c"]);
        assert_eq!(names("", &all, Sort::Size), ["c", "b", "d", "a"], "unknown sizes come last");
        assert_eq!(names("", &all, Sort::Added)[0], "d");
    }

    #[test]
    fn a_search_and_each_filter_leave_what_they_ask_for() {
        let all = Filter::default();
        assert_eq!(names("  ALPHA ", &all, Sort::Name), ["a"]);
        assert!(names("alpha beta", &all, Sort::Name).is_empty(), "every word must be there");
        assert_eq!(names("", &Filter { family: Some("Flux".into()), ..all.clone() }, Sort::Name), ["c"]);
        assert_eq!(names("", &Filter { kind: Some(ModelKind::Model), ..all.clone() }, Sort::Name), ["a", "b", "d"]);
        assert_eq!(names("", &Filter { state: Some(StateFilter::Ready), ..all.clone() }, Sort::Name), ["d"]);
        assert_eq!(names("", &Filter { fit: Some(FitFilter::Runs), ..all }, Sort::Name), ["b", "c"], "what is small fits everywhere");
    }
}
