use std::ops::Bound;

use atelier_media::Tool;
use proptest::prelude::*;

use super::*;
use crate::picture::{PictureFlag, PictureState};

fn conditions(text: &str) -> Vec<(bool, Condition)> {
    Query::parse(text).terms.into_iter().map(|it| (it.is_negated, it.condition.unwrap())).collect()
}

fn only(text: &str) -> Condition {
    let mut all = conditions(text);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0).1
}

fn word(text: &str, matching: Matching) -> Condition {
    Condition::Words { text: text.into(), columns: TextColumns::Any, matching }
}

fn problem(text: &str) -> String {
    Query::parse(text).problem().unwrap_or_else(|| panic!("{text} was understood")).to_owned()
}

#[test]
fn the_example_of_the_manual_is_seven_conditions() {
    let found = conditions("lake model:z-image seed:1..9 lora:ink rating>=3 since:7d -night");
    let integer = |column, least, most| Condition::Integer { column, least, most };
    assert_eq!(
        found,
        [
            (false, word("lake", Matching::WordStart)),
            (false, Condition::Model("z-image".into())),
            (false, integer(IntegerColumn::Seed, Some(1), Some(9))),
            (false, Condition::Lora("ink".into())),
            (false, integer(IntegerColumn::Rating, Some(3), None)),
            (false, Condition::Time(Period::Since(Moment::Ago(7, TimeUnit::Day)))),
            (true, word("night", Matching::WordStart)),
        ]
    );
}

#[test]
fn every_field_reads_its_own_example() {
    for field in FIELDS {
        let query = Query::parse(field.example);
        assert_eq!(query.problem(), None, "{}", field.example);
        assert_eq!(query.chips().len(), 1);
        assert!(query.chips().all(|chip| chip.is_field));
        assert!(!field.description().starts_with("index-"), "{} has no description", field.name);
    }
}

#[test]
fn words_phrases_and_scripts_without_spaces_are_matched_in_their_own_ways() {
    assert_eq!(only("\"red sunset\""), word("red sunset", Matching::Phrase));
    assert_eq!(only("*set"), word("set", Matching::Inside));
    assert_eq!(only("sun*"), word("sun", Matching::WordStart));
    assert_eq!(only("夕日"), word("夕日", Matching::Inside));
    assert_eq!(only("\"湖 夕日\""), word("湖 夕日", Matching::Inside));
    assert_eq!(only("🌅"), word("🌅", Matching::Inside));
    assert_eq!(only("(stone:1.2)"), word("(stone:1.2)", Matching::WordStart));
    assert_eq!(only("\"never closed"), word("never closed", Matching::Phrase));
    assert_eq!(only("-"), word("-", Matching::Inside));
    let prompt = Condition::Words { text: "a lake".into(), columns: TextColumns::Prompt, matching: Matching::Phrase };
    assert_eq!(only("prompt:\"a lake\""), prompt);
}

#[test]
fn numbers_have_ranges_and_comparisons() {
    let seed = |least, most| Condition::Integer { column: IntegerColumn::Seed, least, most };
    for (text, expected) in [
        ("seed:5", seed(Some(5), Some(5))),
        ("seed=5", seed(Some(5), Some(5))),
        ("seed:..9", seed(None, Some(9))),
        ("seed:-3..", seed(Some(-3), None)),
        ("seed>4", seed(Some(5), None)),
        ("seed<4", seed(None, Some(3))),
        ("SEED:<=4", seed(None, Some(4))),
        ("seed:18446744073709551615", seed(Some(u64::MAX.into()), Some(u64::MAX.into()))),
        ("seed>9223372036854775807", seed(Some(1 << 63), None)),
        ("seed>18446744073709551615", seed(Some(1 << 64), None)),
        ("cfg:1.5..4", Condition::Guidance(Bound::Included(1.5), Bound::Included(4.0))),
        ("guidance>7", Condition::Guidance(Bound::Excluded(7.0), Bound::Unbounded)),
        ("size:64x128", Condition::Size(64, 128)),
    ] {
        assert_eq!(only(text), expected, "{text}");
    }
}

#[test]
fn times_are_spans_days_months_and_years() {
    let date = |year, month, day| Moment::Date { year, month, day };
    for (text, expected) in [
        ("since:yesterday", Period::Since(Moment::DaysBeforeToday(1))),
        ("before:2026-11-20", Period::Before(date(2026, 11, 20))),
        ("before:2w", Period::Before(Moment::Ago(2, TimeUnit::Week))),
        ("today", Period::During(Moment::DaysBeforeToday(0), TimeUnit::Day)),
        ("Yesterday", Period::During(Moment::DaysBeforeToday(1), TimeUnit::Day)),
        ("on:today", Period::During(Moment::DaysBeforeToday(0), TimeUnit::Day)),
        ("on:2026-11", Period::During(date(2026, 11, 1), TimeUnit::Month)),
        ("on:2026", Period::During(date(2026, 1, 1), TimeUnit::Year)),
    ] {
        assert_eq!(only(text), Condition::Time(expected), "{text}");
    }
}

#[test]
fn choices_are_known_by_name() {
    assert_eq!(only("is:Missing"), Condition::State(PictureState::Missing));
    assert_eq!(only("flag:none"), Condition::Flag(FlagFilter::None));
    assert_eq!(only("flag:reject"), Condition::Flag(FlagFilter::Is(PictureFlag::Reject)));
    assert_eq!(only("tool:Draw-Things"), Condition::Tool(Tool::DrawThings));
    assert_eq!(only("tag:port*"), Condition::Tag { name: "port".into(), is_prefix: true });
    assert_eq!(only("has:parent"), Condition::Has(Part::Parent));
    assert_eq!(only("has:owner"), Condition::Has(Part::Owner));
    assert_eq!(only("owner:\"Anna B.\""), Condition::Owner("Anna B.".into()));
}

#[test]
fn what_is_not_understood_is_said_in_a_sentence() {
    for (text, part) in [
        ("colour:red", "\"colour\" is not a search field"),
        ("http://x", "put it in quotes"),
        ("model:", "needs a value, as in model:z-image"),
        ("model:\"\"", "needs a value"),
        ("rating>=", "needs a value"),
        ("rating:good", "\"good\" is not a whole number"),
        ("seed:1.5", "not a whole number"),
        ("seed:..", "not a whole number"),
        ("seed>170141183460469231731687303715884105727", "not a whole number"),
        ("guidance:nan", "not a number"),
        ("since:soon", "\"soon\" is not a time"),
        ("since:2026-02-30", "not a time"),
        ("since:99999d", "not a time"),
        ("on:7d", "is not a date"),
        ("is:gone", "write one of here, missing"),
        ("tool:paint", "write one of atelier, a1111"),
        ("model:%", "no letters or digits"),
        ("owner:", "needs a value, as in owner:anna"),
        ("model>3", "compared with < or >"),
        ("size:big", "is not a size"),
        ("\"\"", "nothing between the quotes"),
    ] {
        let sentence = problem(text);
        assert!(sentence.contains(part), "{text}: {sentence}");
        assert!(sentence.ends_with('.') && sentence.len() < 200, "{sentence}");
    }
}

#[test]
fn chips_stand_where_they_were_typed_and_can_be_taken_out() {
    let query = Query::parse("  lake  -model:\"z image\"   rating>=x ");
    let chips: Vec<_> = query.chips().collect();
    assert_eq!(chips.iter().map(|it| it.label).collect::<Vec<_>>(), ["lake", "-model:\"z image\"", "rating>=x"]);
    assert_eq!(chips.iter().map(|it| (it.is_negated, it.is_field)).collect::<Vec<_>>(), [(false, false), (true, true), (false, true)]);
    assert!(chips[2].problem.is_some() && chips[0].problem.is_none());
    assert_eq!(query.without(1), "lake rating>=x");
    assert_eq!(query.without(2), "lake  -model:\"z image\"");
    assert_eq!(query.without(7), query.text());
    assert_eq!(Query::parse("lake ").with("seed:4"), "lake seed:4");
}

#[test]
fn a_term_for_a_value_reads_back_as_that_value() {
    assert_eq!(only(&field_term("model", "z image (turbo)")), Condition::Model("z image (turbo)".into()));
    assert_eq!(field_term("lora", "ink"), "lora:ink");
    assert_eq!(only(&field_term("tag", ">=3")), Condition::Tag { name: ">=3".into(), is_prefix: false });
}

#[test]
fn a_search_without_end_is_refused() {
    assert!(problem(&"a ".repeat(100)).contains("at most"));
    assert!(problem(&"a".repeat(5000)).contains("at most"));
}

proptest! {
    #[test]
    fn any_text_becomes_chips_that_cover_it(text in "(?s).{0,300}") {
        let query = Query::parse(&text);
        let mut end = 0;
        for chip in query.chips() {
            prop_assert!(text[end..chip.range.start].trim().is_empty());
            prop_assert_eq!(chip.label, &text[chip.range.clone()]);
            prop_assert!(!chip.label.is_empty());
            end = chip.range.end;
        }
        prop_assert!(text[end..].trim().is_empty());
    }

    #[test]
    fn fields_with_any_value_never_fail_to_parse(name in "[a-z]{1,9}", operator in "(:|=|>=|<=|>|<)", value in "[^\\s\"]{0,40}") {
        let text = format!("{name}{operator}{value}");
        let query = Query::parse(&text);
        prop_assert_eq!(query.chips().len(), 1);
        prop_assert_eq!(Query::parse(&query.without(0)).chips().len(), 0);
    }

    #[test]
    fn a_parsed_search_parses_the_same_without_and_with_a_chip(words in prop::collection::vec("[a-z]{1,6}|seed:[0-9]{1,4}|-[a-z]{1,3}", 1..8)) {
        let query = Query::parse(&words.join(" "));
        prop_assert_eq!(query.chips().len(), words.len());
        let last = words.len() - 1;
        let shorter = Query::parse(&query.without(last));
        prop_assert_eq!(Query::parse(&shorter.with(&words[last])).terms, query.terms);
    }

    #[test]
    fn values_survive_being_quoted(value in "[^\"\\p{Cc}]{1,30}") {
        prop_assume!(!value.trim().is_empty());
        let query = Query::parse(&field_term("board", &value));
        prop_assert_eq!(&query.terms[0].condition, &Ok(Condition::Board(value.trim().to_owned())));
    }
}
