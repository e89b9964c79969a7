//! Which models are shown, and in which order. Worked out when something changes, not for each frame.

use crate::gui::models::fit::Fits;
use atelier_library::{Availability, ModelCard, ModelKind};

/// Which models are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Those of this kind.
    pub kind: Option<ModelKind>,
    /// Those of this family.
    pub family: Option<String>,
    /// Those in this state.
    pub state: Option<Shown>,
    /// Those that fit this machine.
    pub fits: Option<Fitting>,
}

/// In which state a model is, as a person looks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It can be used now.
    Ready,
    /// It is in memory.
    InMemory,
    /// It is in the queue of downloads.
    Coming,
    /// Something of it is missing.
    Incomplete,
    /// It can be downloaded.
    Catalogue,
}

impl Shown {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Ready, Self::InMemory, Self::Coming, Self::Incomplete, Self::Catalogue];

    /// The words shown.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ready => "Ready to use",
            Self::InMemory => "In memory",
            Self::Coming => "In the queue",
            Self::Incomplete => "Incomplete",
            Self::Catalogue => "To download",
        }
    }
}

/// How well a model must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fitting {
    /// It fits.
    Well,
    /// It runs.
    Somehow,
}

impl Fitting {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Well, Self::Somehow];

    /// The words shown.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Well => "Fits",
            Self::Somehow => "Fits or tight",
        }
    }
}

/// In which order models are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// What is here first, then what fits; what can only be listed after what can be used.
    #[default]
    FitsFirst,
    /// By name.
    Name,
    /// The smallest first.
    Size,
    /// The newest on this disk first.
    Added,
}

impl Sort {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::FitsFirst, Self::Name, Self::Size, Self::Added];

    /// The words shown.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::FitsFirst => "Fits first",
            Self::Name => "Name",
            Self::Size => "Smallest first",
            Self::Added => "Recently added",
        }
    }
}

/// What is known of a card beside the card itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Whether it fits.
    pub fits: Fits,
    /// Whether it is in memory.
    pub in_memory: bool,
    /// Whether it is in the queue of downloads.
    pub coming: bool,
}

impl Filter {
    /// Whether everything is shown.
    #[must_use]
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    fn lets_through(&self, card: &ModelCard, around: Around) -> bool {
        let state = match self.state {
            None => true,
            Some(Shown::Ready) => card.availability.is_ready(),
            Some(Shown::InMemory) => around.in_memory,
            Some(Shown::Coming) => around.coming,
            Some(Shown::Incomplete) => matches!(card.availability, Availability::Incomplete | Availability::Damaged),
            Some(Shown::Catalogue) => card.availability == Availability::Catalogue,
        };
        let fits = match self.fits {
            None => true,
            Some(_) if card.kind != ModelKind::Model => true,
            Some(Fitting::Well) => around.fits == Fits::Fits,
            Some(Fitting::Somehow) => matches!(around.fits, Fits::Fits | Fits::Tight),
        };
        state && fits && self.kind.is_none_or(|it| it == card.kind) && (self.family.is_none() || self.family == card.family)
    }
}

/// The places of the cards that are shown, in their order. `around` has one entry for each card.
#[must_use]
pub(crate) fn order(cards: &[ModelCard], around: &[Around], search: &str, filter: &Filter, sort: Sort) -> Vec<usize> {
    let words: Vec<String> = search.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let all = cards.iter().zip(around).enumerate();
    let shown = all.filter(|(_, (card, around))| card.has(&words) && filter.lets_through(card, **around));
    let mut shown: Vec<(usize, &ModelCard, Around)> = shown.map(|(at, (card, around))| (at, card, *around)).collect();
    let name = |card: &ModelCard| card.name.to_lowercase();
    match sort {
        Sort::FitsFirst => shown.sort_by_key(|(_, card, around)| {
            let fits = if card.kind == ModelKind::Model { around.fits } else { Fits::Fits };
            let far = !(card.availability.is_here() || around.coming);
            (far, card.availability == Availability::Listed, card.kind != ModelKind::Model, fits, !card.recommended, name(card))
        }),
        Sort::Name => shown.sort_by_key(|(_, card, _)| name(card)),
        Sort::Size => shown.sort_by_key(|(_, card, _)| (card.bytes.is_none(), card.bytes, name(card))),
        Sort::Added => shown.sort_by_key(|(_, card, _)| (!card.availability.is_here(), std::cmp::Reverse(card.added_nanos), name(card))),
    }
    shown.into_iter().map(|(at, ..)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::models::tests::card;

    fn cards() -> (Vec<ModelCard>, Vec<Around>) {
        let mut cards =
            vec![card("b", "Beta", Some(5)), card("a", "alpha", None), card("c", "Gamma", Some(3)), card("d", "Delta", Some(9))];
        cards[3].availability = Availability::OnDisk;
        cards[2].family = Some("Flux".into());
        cards[2].kind = ModelKind::Lora;
        let fits = [Fits::Tight, Fits::Unknown, Fits::Unknown, Fits::TooBig];
        let around = fits.map(|fits| Around { fits, ..Around::default() });
        (cards, around.into())
    }

    fn names(search: &str, filter: &Filter, sort: Sort) -> Vec<String> {
        let (cards, around) = cards();
        order(&cards, &around, search, filter, sort).into_iter().map(|at| cards[at].id.clone()).collect()
    }

    #[test]
    fn every_order_is_as_its_name_says() {
        let all = Filter::default();
        assert_eq!(names("", &all, Sort::FitsFirst), ["d", "b", "a", "c"]);
        let (mut cards, around) = cards();
        (cards[0].availability, cards[1].availability) = (Availability::Listed, Availability::InPlace);
        assert_eq!(order(&cards, &around, "", &all, Sort::FitsFirst), [1, 3, 0, 2], "what can be used goes before what is only listed");
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
        assert_eq!(names("", &Filter { state: Some(Shown::Ready), ..all.clone() }, Sort::Name), ["d"]);
        assert_eq!(names("", &Filter { fits: Some(Fitting::Somehow), ..all }, Sort::Name), ["b", "c"], "what is small fits everywhere");
    }
}
