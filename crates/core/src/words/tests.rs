use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::recipe::Seed;

/// Lists of the tests.
struct Lists(Vec<(&'static str, Vec<&'static str>)>);

impl Wildcards for Lists {
    fn lines(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(it, _)| *it == name).flat_map(|(_, lines)| lines.iter().copied()).collect()
    }
}

fn lists() -> Lists {
    Lists(vec![
        ("colour", vec!["blue", "green", "red"]),
        ("top", vec!["one", "two"]),
        ("sub/a", vec!["x {1|2}", "__colour__ y"]),
        ("weighed", vec!["p", "2::q", "0::never"]),
        ("self", vec!["a __self__"]),
    ])
}

fn expand(template: &str, seed: u64) -> Expansion {
    Prompt::parse(template).expand(&mut Draw::of_picture(Seed(seed)), &lists())
}

/// All that a template becomes.
fn all(template: &str) -> BTreeSet<String> {
    (0..400).map(|seed| expand(template, seed).prompt).collect()
}

/// All that a template becomes, without chance.
fn expansions(template: &str, most: usize) -> Option<Vec<String>> {
    Prompt::parse(template).expansions(most, &lists())
}

/// Words with their weights, as A1111's `parse_prompt_attention` lists them.
fn weighted(text: &str) -> Vec<(String, f32)> {
    let prompt = Prompt::parse(text);
    let mut pieces: Vec<(String, f32)> = Vec::new();
    let mut weights = vec![1.0_f32];
    for span in &prompt.spans {
        let group = |number: usize| match prompt.groups[number].kind {
            GroupKind::More => 1.1,
            GroupKind::Less => 1.0 / 1.1,
            GroupKind::Weight(weight) => weight,
            _ => 1.0,
        };
        let words = match span.kind {
            SpanKind::Open(number) => {
                weights.push(weights.last().unwrap() * group(number));
                continue;
            }
            SpanKind::Close(_) => {
                weights.pop();
                continue;
            }
            SpanKind::Literal => &prompt.text_of(span)[1..],
            _ => prompt.text_of(span),
        };
        let weight = *weights.last().unwrap();
        match pieces.last_mut() {
            Some(last) if last.1 == weight => last.0.push_str(words),
            _ => pieces.push((words.to_owned(), weight)),
        }
    }
    pieces
}

/// The examples that A1111 publishes with its parser of weights, as inputs and results.
#[test]
fn weights_are_those_of_the_published_examples() {
    let examples: [(&str, &[(&str, f32)]); 6] = [
        ("normal text", &[("normal text", 1.0)]),
        ("an (important) word", &[("an ", 1.0), ("important", 1.1), (" word", 1.0)]),
        (r"\(literal\]", &[("(literal]", 1.0)]),
        ("(unnecessary)(parens)", &[("unnecessaryparens", 1.1)]),
        ("a [less] b", &[("a ", 1.0), ("less", 1.0 / 1.1), (" b", 1.0)]),
        (
            "a (((house:1.3)) [on] a (hill:0.5), sun, (((sky)))).",
            &[
                ("a ", 1.0),
                ("house", 1.573),
                (" ", 1.1),
                ("on", 1.0),
                (" a ", 1.1),
                ("hill", 0.55),
                (", sun, ", 1.1),
                ("sky", 1.4641),
                (".", 1.0),
            ],
        ),
    ];
    for (text, expected) in examples {
        let found = weighted(text);
        let words: Vec<&str> = found.iter().map(|(words, _)| words.as_str()).collect();
        assert_eq!(words, expected.iter().map(|(words, _)| *words).collect::<Vec<_>>(), "{text}");
        assert!(found.iter().zip(expected).all(|(one, two)| (one.1 - two.1).abs() < 1e-4), "{text}: {found:?}");
    }
}

/// The examples that A1111 publishes with its parser of schedules, each of 10 steps.
#[test]
fn schedules_are_those_of_the_published_examples() {
    let examples: [(&str, &[(u32, &str)]); 13] = [
        ("test", &[(10, "test")]),
        ("a [b:3]", &[(3, "a "), (10, "a b")]),
        ("a [b: 3]", &[(3, "a "), (10, "a b")]),
        ("a [[[b]]:2]", &[(2, "a "), (10, "a [[b]]")]),
        ("[(a:2):3]", &[(3, ""), (10, "(a:2)")]),
        ("a [b : c : 1] d", &[(1, "a b  d"), (10, "a  c  d")]),
        ("a[b:[c:d:2]:1]e", &[(1, "abe"), (2, "ace"), (10, "ade")]),
        ("a [unbalanced", &[(10, "a [unbalanced")]),
        ("a [b:.5] c", &[(5, "a  c"), (10, "a b c")]),
        ("a [{b|d{:.5] c", &[(5, "a  c"), (10, "a {b|d{ c")]),
        ("((a][:b:c [d:3]", &[(3, "((a][:b:c "), (10, "((a][:b:c d")]),
        (
            "[fe|]male",
            &[
                (1, "female"),
                (2, "male"),
                (3, "female"),
                (4, "male"),
                (5, "female"),
                (6, "male"),
                (7, "female"),
                (8, "male"),
                (9, "female"),
                (10, "male"),
            ],
        ),
        ("[fe|||]male", &[(1, "female"), (4, "male"), (5, "female"), (8, "male"), (9, "female"), (10, "male")]),
    ];
    for (text, expected) in examples {
        let found = Prompt::parse(text).over_steps(10, 16).unwrap();
        assert_eq!(found.iter().map(|it| (it.until_step, it.prompt.as_str())).collect::<Vec<_>>(), expected, "{text}");
    }
    assert_eq!(Prompt::parse("[a|b]").over_steps(40, 16), None, "more ranges than a picture may have");
}

/// What version 0.31 of the dynamicprompts package makes of its syntax, by running it.
#[test]
fn choices_are_those_of_dynamicprompts() {
    let examples: [(&str, &[&str]); 33] = [
        ("a {red|blue} lake", &["a red lake", "a blue lake"]),
        ("{2$$a|b|c}", &["a,b", "a,c", "b,a", "b,c", "c,a", "c,b"]),
        ("{1-2$$a|b|c}", &["a", "b", "c", "a,b", "a,c", "b,a", "b,c", "c,a", "c,b"]),
        ("{2$$ and $$a|b|c}", &["a and b", "a and c", "b and a", "b and c", "c and a", "c and b"]),
        ("{-2$$a|b}", &["a", "b", "a,b", "b,a"]),
        ("{1-$$a|b}", &["a", "b", "a,b", "b,a"]),
        ("{0-1$$a|b}", &["", "a", "b"]),
        ("{0$$a|b}", &[""]),
        ("{0.5::a|b}", &["a", "b"]),
        ("{1.5::a|1::b}", &["a", "b"]),
        ("{a|{b|c}}", &["a", "b", "c"]),
        ("{{a|b}|{c|d}}", &["a", "b", "c", "d"]),
        ("{|a}", &["", "a"]),
        ("{a|}", &["a", ""]),
        ("{2$$a}", &["a"]),
        ("a {a,b|c}", &["a a,b", "a c"]),
        ("a {1-3$$, $$a|b}", &["a a", "a b", "a a, b", "a b, a"]),
        ("(a:1.2) {(b:1.3)|[c]}", &["(a:1.2) (b:1.3)", "(a:1.2) [c]"]),
        ("a|b", &["a|b"]),
        ("a } b", &["a } b"]),
        ("{3$$a|b}", &["a,b", "b,a"]),
        ("{2-1$$a|b|c}", &["a", "b", "c", "a,b", "a,c", "b,a", "b,c", "c,a", "c,b"]),
        ("{ a | b }", &["a ", "b "]),
        ("{2:: a|b}", &[" a", "b"]),
        ("{a:b|c}", &["a:b", "c"]),
        ("<lora:{a|b}:0.5>", &["<lora:a:0.5>", "<lora:b:0.5>"]),
        ("{2$$, $${a|b}|c}", &["a, c", "b, c", "c, a", "c, b"]),
        ("{2$$|$$a|b}", &["a|b", "b|a"]),
        ("[a|b] [a:b:0.5]", &["[a|b] [a:b:0.5]"]),
        ("{a::b|c}", &["a::b", "c"]),
        ("{-1::a|b}", &["-1::a", "b"]),
        ("a {b|c} // d", &["a b", "a c"]),
        ("{2$$a|b$$c}", &["c"]),
    ];
    let compare = |template: &str, expected: &[&str]| {
        let expected: BTreeSet<String> = expected.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(all(template), expected, "{template}");
        assert_eq!(expansions(template, 100).unwrap().into_iter().collect::<BTreeSet<_>>(), expected, "{template}");
    };
    for (template, expected) in examples {
        compare(template, expected);
    }
    let lists: [(&str, &[&str]); 6] = [
        ("__colour__", &["blue", "green", "red"]),
        ("a__top__b", &["aoneb", "atwob"]),
        ("{2$$ and $$__top__}", &["one and two", "two and one"]),
        ("__sub/a__", &["x 1", "x 2", "blue y", "green y", "red y"]),
        ("__missing__ __ top __", &["__missing__ __ top __"]),
        ("__weighed__", &["p", "q"]),
    ];
    for (template, expected) in lists {
        compare(template, expected);
    }
}

#[test]
fn expansions_come_once_in_the_order_of_writing_and_never_too_many() {
    let written = ["a d and e", "a e and d", "b d and e", "b e and d", "c d and e", "c e and d"];
    assert_eq!(expansions("{a|{b|c}} {2$$ and $$d|e}", 6).unwrap(), written);
    assert_eq!(expansions("{a|{b|c}} {2$$ and $$d|e}", 5), None);
    assert_eq!(expansions("{a|a|b}", 3).unwrap(), ["a", "b"]);
    assert_eq!(expansions(r"{2::a|0::never|\{b\|c\}}", 9).unwrap(), ["a", "{b|c}"]);
    assert_eq!(expansions("{0::a|0::b} c # d", 9).unwrap(), [" c"]);
    assert_eq!(expansions("a lake", 1).unwrap(), ["a lake"]);
    assert_eq!(expansions(&"{a|b}".repeat(1000), 200), None);
}

/// Where this room goes its own way, so that no prompt without a choice changes.
#[test]
fn braces_without_options_and_json_are_letters() {
    let json = r##"{"style": "oil|ink", "sky": {"colour": "#ff0000 (x:1.2)"}, "n": [1, 2]}"##;
    for text in ["{a}", "{}", "{a, b}", "a {b|c", json, "a #1 fan, http://x.y // z".split(" //").next().unwrap(), ":) {:"] {
        let prompt = Prompt::parse(text);
        assert!(!prompt.is_template() && !prompt.has_weights(), "{text}: {prompt:?}");
        assert_eq!(expand(text, 3).prompt, text);
    }
    assert_eq!(all(r"\{a|b\} {c \| d|e}"), ["{a|b} c | d", "{a|b} e"].map(str::to_owned).into());
    assert_eq!(all("{[a|b]|c}"), ["[a|b]", "c"].map(str::to_owned).into(), "an alternation is one option");
}

#[test]
fn what_was_chosen_stays_when_it_looks_like_a_choice() {
    for text in [
        "a {red|blue} lake",
        "{2$$ and $$a|b|{c|d}} [{e|f}:g:3] (h:1.2)",
        "[{é|x}|y] {2::a|b}",
        "a {lake}, [a|b]",
        "{a|b",
        "__colour__ {__top__|x} __a b",
        "# {red|blue} # x\n// y /* {z} */ w",
        "a /* {b|c */ d} /* e",
        "# {\"a\": \"b # c /* d */\"} //",
        "https://x.y/z #tag #1, a#b",
    ] {
        let letters = Prompt::parse(text).as_letters();
        assert_eq!(all(&letters), [text.to_owned()].into(), "{letters}");
    }
    assert_eq!(expand(r"\__colour__ \_ \__ x", 1).prompt, r"__colour__ \_ \__ x");
}

#[test]
fn comments_go_with_their_lines() {
    let text = "# lake of the north\na lake, /* a boat, */ trees # birds?\n// hills\nfog /* x";
    let said = expand(text, 1);
    assert_eq!(said.prompt, "a lake, trees\nfog /* x");
    assert_eq!(Prompt::parse(text).faults.iter().map(|it| it.kind).collect::<Vec<_>>(), [FaultKind::OpenComment]);
}

#[test]
fn a_comments_mark_is_letters_behind_a_backslash_and_no_other_sign_loses_one() {
    assert_eq!(expand(r"\# a \// b \/* {c} */ d # e", 1).prompt, "# a // b /* {c} */ d");
    for text in [r"C:\#1\//x", r"a\# b", r"\#tag", r"\/ x"] {
        assert!(!Prompt::parse(text).is_template(), "{text}");
        assert_eq!(expand(text, 1).prompt, text);
    }
}

#[test]
fn what_was_chosen_is_told_in_its_place() {
    let text = "a {red|{blue|teal}} lake, __top__";
    let said = expand(text, 3);
    let [(first, colour), (second, number)] = said.chosen.as_slice() else { panic!("{said:?}") };
    assert_eq!((&text[first.clone()], &text[second.clone()]), ("{red|{blue|teal}}", "__top__"));
    assert_eq!(said.prompt, format!("a {colour} lake, {number}"));
    assert_eq!(said, expand(text, 3), "a seed chooses once and for all");
    assert_eq!(all("{red|blue} {red|blue}").len(), 4, "each choice is one of its own");
}

#[test]
fn shares_are_how_often_an_option_comes() {
    let count = (0..3000).filter(|seed| expand("{3::a|b}", *seed).prompt == "a").count();
    assert!((2100..2400).contains(&count), "{count} of 3000");
    let first = (0..3000).filter(|seed| expand("{a|b}", *seed).prompt == "a").count();
    assert!((1400..1600).contains(&first), "{first} of 3000, also for neighbouring seeds");
}

#[test]
fn faults_point_at_letters() {
    let faults = |text: &str| Prompt::parse(text).faults.into_iter().map(|it| (it.range, it.kind)).collect::<Vec<_>>();
    assert_eq!(faults("é (b"), [(3..4, FaultKind::Unclosed)]);
    assert_eq!(faults("a ) [b"), [(2..3, FaultKind::Unopened), (4..5, FaultKind::Unclosed)]);
    assert_eq!(faults("(a:1.2.3)"), [(2..8, FaultKind::NoNumber)]);
    assert_eq!(faults("{a|b"), [(0..1, FaultKind::Unclosed)]);
    assert_eq!(faults(&"(".repeat(65))[64], (64..65, FaultKind::TooDeep));
    assert_eq!(faults("a (b:1.2) {c|d} <lora:e:1> [f:g:3]"), []);
    assert_eq!(faults("é [<lora:e:1>|f]"), [(4..14, FaultKind::LoraInTurns)]);
    assert_eq!(faults("[<lora:e:1>:<lora:f:1>:3] [g|h]"), []);
    let missing = expand("a {b|__nothing__} __nothing__", 1).faults;
    assert!(missing.iter().all(|it| it.kind == FaultKind::UnknownWildcard) && missing.iter().any(|it| it.range == (18..29)), "{missing:?}");
    assert_eq!(expand("x __self__", 1).faults, [Fault { range: 2..10, kind: FaultKind::EndlessWildcard }]);
}

#[test]
fn a_megabyte_of_anything_takes_little_time_and_depth() {
    let wide = Lists(vec![
        ("wide", vec!["{9$$__wide2__}"; 1]),
        ("wide2", vec!["__wide3__ __wide3__"; 9]),
        ("wide3", vec!["a long line of words"; 9]),
    ]);
    let units = [
        "(", "[", "{", "{a|", "}", "(a:", ":1.1)", "[a:b:", "|", "::::", "__", "__a__ ", "<lora:", "/* ", "# \n", "{\"a\":", "\\", "{2$$",
        "é", "[a|b]", "{a|b}", ":  ", "BREAK ", "\\# ", "\\/* ",
    ];
    for unit in units {
        let text = unit.repeat(1_000_000 / unit.len());
        let began = std::time::Instant::now();
        let prompt = Prompt::parse(&text);
        let expansion = prompt.expand(&mut Draw::of_picture(Seed(1)), &wide);
        assert!(expansion.prompt.len() <= 1_000_000 + 100);
        assert_eq!(prompt.print(), text, "{unit}");
        // All units together take some seconds; work that is quadratic in the text takes many minutes.
        assert!(began.elapsed().as_secs() < 120, "{unit}: {:?}", began.elapsed());
    }
    let said = Prompt::parse(&"{9$$__wide__}".repeat(1000)).expand(&mut Draw::of_picture(Seed(1)), &wide);
    assert!(said.prompt.len() <= crate::recipe::ROWS.prompt.limits * 4 && said.faults.iter().any(|it| it.kind == FaultKind::TooLong));
}

/// Prompts of signs that mean something.
fn prompts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "|",
        ":",
        "::",
        "$$",
        "2$$",
        "1-2$$",
        ", ",
        "\\",
        "__",
        "__a__",
        "#",
        "# ",
        "//",
        "/*",
        "*/",
        "\n",
        " ",
        "\"",
        "0.5",
        "1.2",
        ":1.3)",
        ":3]",
        "<lora:",
        ">",
        "<lora:a:0.5>",
        "embedding:",
        "BREAK",
        "AND",
        "a",
        "é",
        "夕",
        "word",
        "-",
        "+",
        ".",
        "=",
    ]);
    prop_oneof![prop::collection::vec(pieces, 0..60).prop_map(|it| it.concat()), any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn spans_cover_every_text_and_print_it_again(text in prompts(), seed in any::<u64>(), step in 1_u32..20) {
        let prompt = Prompt::parse(&text);
        let mut end = 0;
        for span in &prompt.spans {
            prop_assert_eq!(span.range.start, end);
            prop_assert!(span.range.end > end && text.is_char_boundary(span.range.end));
            end = span.range.end;
        }
        prop_assert_eq!(end, text.len());
        prop_assert_eq!(&prompt.print(), &text);
        for (number, group) in prompt.groups.iter().enumerate() {
            prop_assert_eq!(prompt.spans[group.open].kind, SpanKind::Open(number));
            prop_assert_eq!(prompt.spans[group.close].kind, SpanKind::Close(number));
        }
        prop_assert!(prompt.faults.iter().all(|fault| text.get(fault.range.clone()).is_some_and(|it| !it.is_empty())));
        let made = prompt.expand(&mut Draw::of_picture(Seed(seed)), &lists());
        prop_assert!(prompt.is_template() || made.prompt == text);
        prop_assert!(prompt.expansions(50, &lists()).is_none_or(|all| all.contains(&made.prompt)));
        prop_assert!(made.chosen.iter().all(|(range, chosen)| text.get(range.clone()).is_some() && made.prompt.contains(chosen.as_str())));
        prop_assert!(prompt.changes_over_steps() || prompt.at_step(step, 20) == text);
        prop_assert_eq!(&take_loras_if(&text, |_| false), &text);
    }

    #[test]
    fn a_change_that_is_moved_is_the_only_one(
        (before, from, to, after) in (prompts(), "[a-z ]{0,5}", "[a-z é]{0,5}", prompts()),
        number in prop::sample::select(vec!["0.4", ".5", "1.0", "0", "7", " 12 ", "+3", "1.5"]),
        which in any::<prop::sample::Index>(),
        (steps, done) in (1_u32..60, 0_u32..60),
    ) {
        let text = format!("{before}[{from}:{to}:{number}]{after}");
        let prompt = Prompt::parse(&text);
        let changes = prompt.step_changes();
        // What is around it may make letters of its brackets.
        if changes.is_empty() {
            return Ok(());
        }
        let (at, done) = (which.index(changes.len()), done.min(steps));
        let number = changes[at].number.clone();
        let moved = prompt.with_change_after(changes[at].group, done, steps).unwrap();
        // Every byte beside the number.
        prop_assert!(moved.starts_with(&text[..number.start]) && moved.ends_with(&text[number.end..]));
        prop_assert!(moved.len() >= text.len() - number.len());
        let again = Prompt::parse(&moved).step_changes();
        prop_assert_eq!(again.len(), changes.len());
        for (index, (new, old)) in again.iter().zip(&changes).enumerate() {
            let expected = if index == at { done } else { old.when.steps_before(steps) };
            prop_assert_eq!(new.when.steps_before(steps), expected);
            // A share stays a share, so that the change stays where it is in a picture of other steps.
            prop_assert_eq!(matches!(new.when, When::Share(_)), matches!(old.when, When::Share(_)) || (index == at && done == 0));
        }
    }

    #[test]
    fn a_text_of_letters_alone_is_one_piece(text in "[a-z ,.!?é]{1,40}") {
        let prompt = Prompt::parse(&text);
        prop_assert_eq!(prompt.spans, [Span { range: 0..text.len(), kind: SpanKind::Words }]);
        prop_assert!(prompt.groups.is_empty() && prompt.faults.is_empty());
    }
}

#[test]
fn one_prompt_of_a_template_is_looked_at_before_anything_is_chosen() {
    let sample = |text: &str| Prompt::parse(text).sample();
    assert_eq!(sample("a (red:1.2) lake"), "a (red:1.2) lake");
    assert_eq!(sample("a {red|blue} lake <lora:ink:0.5>/* fog */, __trees__"), "a red lake, ");
    assert_eq!(sample("a [lake:sea:0.5]"), "a sea");
    assert_eq!(sample(r"\# <lora:ink:1> a [lake:sea:0.5] # fog"), "# a sea");
    for (text, varies) in
        [("a lake # fog", false), ("a {red|blue} lake", true), ("__trees__", true), ("[a|b]", true), ("(a:1.2) [b]", false)]
    {
        assert_eq!(Prompt::parse(text).varies(), varies, "{text}");
    }
}
