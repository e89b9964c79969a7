use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::recipe::{Affects, CacheMode, FileRole, Hires, ImageSource, InitImage, Lora, Sampler, Scheduler, Seed, SkipLayers, StepCache};
use crate::words::NoWildcards;

/// Models and LoRAs whose names begin with a small letter.
struct Known;

impl AxisFiles for Known {
    fn model(&self, name: &str) -> Result<Recipe, String> {
        let mut recipe = Recipe { steps: 99, negative_in_prompt: name == "odd", ..Recipe::default() };
        recipe.files.set(FileRole::Model, format!("/models/{name}.gguf"));
        Ok(recipe).filter(name)
    }

    fn lora(&self, name: &str) -> Result<PathBuf, String> {
        Ok(Path::new("/loras").join(format!("{name}.safetensors"))).filter(name)
    }
}

trait Filter<T> {
    fn filter(self, name: &str) -> Result<T, String>;
}

impl<T> Filter<T> for Result<T, String> {
    fn filter(self, name: &str) -> Self {
        if name.starts_with(char::is_lowercase) { self } else { Err(format!("there is no {name}; choose another")) }
    }
}

fn base() -> Recipe {
    let mut recipe = Recipe { prompt: "a lake at {day|night}, a lake".into(), seed: Some(Seed(7)), batch_count: 4, ..Recipe::default() };
    recipe.files.set(FileRole::Model, "/models/a.gguf");
    recipe.loras = vec![Lora::new("/loras/Ink.safetensors".into(), 0.8)];
    recipe
}

fn axis(text: &str) -> Axis {
    Axis::read(text, &base(), &Known).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn recipes(axes: &[&str]) -> Vec<Recipe> {
    grid(axes).cells().into_iter().map(|cell| cell.recipe).collect()
}

fn grid(axes: &[&str]) -> Grid {
    Grid::new(base(), axes.iter().map(|text| axis(text)).collect()).unwrap()
}

#[test]
fn a_cell_is_the_recipe_of_the_picture_alone() {
    let grid = grid(&["steps=4,8", "sampler=euler,Heun", "seed=1..3"]);
    assert_eq!(grid.captions().size(), [2, 2, 3]);
    let cells = grid.cells();
    assert_eq!(cells.len(), 12);
    let own = Recipe { batch_count: 1, ..base() };
    assert_eq!(cells[0].recipe, Recipe { steps: 4, sampler: Some(Sampler::Euler), seed: Some(Seed(1)), ..own.clone() });
    assert_eq!(cells[11].recipe, Recipe { steps: 8, sampler: Some(Sampler::Heun), seed: Some(Seed(3)), ..own });
    assert_eq!((cells[1].at, cells[2].at, cells[4].at), ([1, 0, 0], [0, 1, 0], [0, 0, 1]));
    assert_eq!(grid.captions().caption([1, 1, 2]), "steps 8, sampler Heun, seed 3");
}

#[test]
fn every_kind_of_axis_changes_what_it_names() {
    let one = |text: &str, index: usize| recipes(&[text])[index].clone();
    assert_eq!(one("cfg=1..7/4", 3).guidance, 7.0);
    assert_eq!(one("Distilled guidance = 2.5", 0).distilled_guidance, 2.5);
    assert_eq!(one("schedule=karras,none", 0).scheduler, Some(Scheduler::Karras));
    assert_eq!(one("schedule=karras,none", 1).scheduler, None);
    assert_eq!((one("size=768x512", 0).width, one("size=768×512", 0).height), (768, 512));
    assert!(!one("flash-attention=on,off", 1).flash_attention);
    assert_eq!(one("step_cache=easycache,none", 0).step_cache, Some(StepCache::of(CacheMode::EasyCache)));
    assert_eq!(one("step_cache=easycache,none", 1).step_cache, None);
    assert_eq!(one("skip_layers.scale=1.5", 0).skip_layers, Some(SkipLayers { scale: 1.5, ..SkipLayers::default() }));
    assert_eq!(one("clip_skip=1,2", 1).clip_skip, Some(2));
    assert_eq!(one("upscale=1.5,2", 0).hires.unwrap().scale, 1.5);
    assert_eq!(one("placement=gpu0,cpu", 1).placement.backend, "cpu");
    assert_eq!(one("threads=2", 0).threads, Some(2));
    assert_eq!(one("variation=0..1/3", 1).seed_blend.unwrap().amount, 0.5);
    assert_eq!(one("prompt=\"a hill, still\",a sea", 0).prompt, "a hill, still");
    assert_eq!(one("negative=fog", 0).negative_prompt, "fog");
    assert_eq!(one("hires={\"scale\":3,\"strength\":0.5},null", 0).hires, Some(Hires { scale: 3.0, strength: 0.5, ..Hires::default() }));
    assert_eq!(one("lora:ink=0.2,1", 0).loras, [Lora::new("/loras/Ink.safetensors".into(), 0.2)]);
    assert_eq!(one("lora=paint,none", 0).loras.len(), 2);
    assert_eq!(one("lora=paint,none", 1).loras, base().loras);
    assert_eq!(one("lora:paint=0.5", 0).loras[1], Lora::new("/loras/paint.safetensors".into(), 0.5));
    let odd = one("model=b,odd", 1);
    assert_eq!((odd.files.main(), odd.negative_in_prompt, odd.steps), (Some(Path::new("/models/odd.gguf")), true, base().steps));
    assert_eq!(one("words=a lake,a hill", 1).prompt, "a hill at {day|night}, a hill");
    assert_eq!(one("{day|night}", 1).prompt, "a lake at night, a lake");
    assert_eq!(recipes(&["{day|night}", "words=lake,hill"])[3].prompt, "a hill at night, a hill");
}

#[test]
fn axes_may_change_parts_of_the_same_setting() {
    let cells = recipes(&["hires.scale=1.5,3", "hires.strength=0.2,0.4"]);
    let parts: Vec<(f32, f32)> =
        cells.iter().map(|recipe| recipe.hires.as_ref().map(|hires| (hires.scale, hires.strength)).unwrap()).collect();
    assert_eq!(parts, [(1.5, 0.2), (3.0, 0.2), (1.5, 0.4), (3.0, 0.4)]);
}

#[test]
fn seeds_of_an_axis_keep_every_digit() {
    let seeds = |text: &str| recipes(&[text]).into_iter().map(|recipe| recipe.seed).collect::<Vec<_>>();
    let last = [u64::MAX - 2, u64::MAX - 1, u64::MAX].map(|seed| Some(Seed(seed)));
    assert_eq!(seeds("seed=18446744073709551613..18446744073709551615"), last);
    assert_eq!(seeds("seed=18446744073709551613..18446744073709551615+2"), [last[0], last[2]]);
    assert_eq!(seeds("seed=9223372036854775808,18446744073709551615"), [Some(Seed(1 << 63)), Some(Seed::MAX)]);
}

#[test]
fn what_makes_no_sense_is_a_clause_with_what_to_do() {
    let read = |text: &str| Axis::read(text, &base(), &Known).map(|axis| axis.name).unwrap_err().to_string();
    for (text, part) in [
        ("steps", "write a name"),
        ("steps=", "needs values"),
        ("steps=many", "cannot be \"many\""),
        ("steps=0", "cannot be 0"),
        ("steps=1..9000+1", "larger step"),
        ("stepz=4", "no setting is called"),
        ("step=4", "did you mean steps?"),
        ("sampler=fast", "cannot be \"fast\""),
        ("seed=-1", "random seed"),
        ("seed_blend.seed=-1", "random seed"),
        ("seed=18446744073709551616", "cannot be"),
        ("size=big", "is not a size"),
        ("size=1x1", "is not a size"),
        ("strength=0.5", "choose one first"),
        ("hires.size=2", "has no part"),
        ("batch_count=2", "no setting"),
        ("model=Gone", "there is no Gone"),
        ("lora:ink=99", "is not a strength"),
        ("words=sea,hill", "is not in the prompt"),
        ("{sun|moon}", "is not in the prompt"),
        ("{day}", "is not in the prompt"),
        ("a {sun|moon} lake", "is not in the prompt"),
        ("prompt=a __colour__ lake", "names a list of words"),
        ("prompt={1|2|3|4|5|6} {1|2|3|4|5|6} {1|2|3|4|5|6}", "200 values at most"),
        ("negative={1|2|3|4|5|6} {1|2|3|4|5|6},{1|2|3|4|5} {1|2|3|4|5} {1|2|3|4|5|6|7}", "200 values at most"),
    ] {
        let told = read(text);
        assert!(told.contains(part) && (told.contains(';') || text.starts_with("step=")), "{text}: {told}");
    }
    let new = |axes: &[&str]| Grid::new(base(), axes.iter().map(|text| axis(text)).collect()).unwrap_err().to_string();
    assert!(new(&[]).contains("at least one") && new(&["steps=1", "cfg=1", "seed=1", "eta=1"]).contains("1 to 3 axes"));
    assert!(new(&["cfg=1,2", "guidance=3"]).contains("two axes change the guidance"));
    assert!(new(&["seed=1..100", "steps=1..100"]).contains("1000 cells at most, and this one 10000"));
}

#[test]
fn words_of_the_prompt_with_a_choice_become_what_the_prompt_itself_does() {
    let examples: [(&str, &[&str]); 8] = [
        ("{red|blue} lake", &["red lake", "blue lake"]),
        (r"{red|{dark|light} blue|\{odd\}} lake", &["red lake", "dark blue lake", "light blue lake", "{odd} lake"]),
        (r"a {red\|blue|\{green|grey}", &["a red|blue", "a {green", "a grey"]),
        ("{2::red|0::never|blue}", &["red", "blue"]),
        ("{2$$ and $$red|blue}", &["red and blue", "blue and red"]),
        ("{red|blue} {lake|sea}", &["red lake", "red sea", "blue lake", "blue sea"]),
        ("{wide=1|(far:1.2)}", &["wide=1", "(far:1.2)"]),
        ("{red|}", &["red", ""]),
    ];
    for (words, expected) in examples {
        let base = Recipe { prompt: format!("fog, {words}"), batch_count: 200, ..base() };
        let drawn: BTreeSet<String> = base.choose_pictures(Seed(0), &NoWildcards).recipes.into_iter().map(|it| it.prompt).collect();
        let axis = Axis::read(words, &base, &Known).unwrap();
        let labels: Vec<String> = axis.values.iter().map(|value| value.label.clone()).collect();
        assert_eq!(labels, expected.iter().map(|it| if it.is_empty() { "none" } else { *it }).collect::<Vec<_>>(), "{words}");
        let cells = Grid::new(base, vec![axis]).unwrap().cells();
        let prompts: Vec<String> = cells.into_iter().map(|cell| cell.recipe.prompt).collect();
        assert_eq!(prompts, expected.iter().map(|it| format!("fog, {it}")).collect::<Vec<_>>(), "{words}");
        assert_eq!(prompts.into_iter().collect::<BTreeSet<_>>(), drawn, "{words}");
    }
    let prompts: Vec<String> =
        recipes(&[r"prompt={red|{dark|light} blue} lake,a \{sea\} # of mine"]).into_iter().map(|it| it.prompt).collect();
    assert_eq!(prompts, ["red lake", "dark blue lake", "light blue lake", "a {sea}"]);
    assert_eq!(recipes(&["negative={fog|haze}"]).into_iter().map(|it| it.negative_prompt).collect::<Vec<_>>(), ["fog", "haze"]);
    assert_eq!(one_choice("{\"sky\": \"a|b\"}"), "a choice needs two words at least; write {day|night} in the prompt");
}

/// Why words of a prompt are no axis.
fn one_choice(words: &str) -> String {
    Axis::read(words, &Recipe { prompt: words.to_owned(), ..base() }, &Known).unwrap_err().to_string()
}

#[test]
fn a_part_of_a_start_picture_differs_where_there_is_one() {
    let init = Some(InitImage { image: ImageSource::File("/a.png".into()), strength: 0.75 });
    let with = Recipe { init, ..base() };
    let axis = Axis::read("denoise=0.2,0.9", &with, &Known).unwrap();
    let cells = Grid::new(with, vec![axis]).unwrap().cells();
    let strengths: Vec<f32> = cells.iter().map(|cell| cell.recipe.init.as_ref().unwrap().strength).collect();
    assert_eq!(strengths, [0.2, 0.9]);
}

/// What cells will cost without drafts.
fn forecast(cells: &[Cell], time: impl FnMut(&Recipe) -> Option<CellTime>) -> Forecast {
    Grid::forecast(&Grid::turns(cells, None), time)
}

fn none(_: &Recipe) -> Option<CellTime> {
    None
}

#[test]
fn a_forecast_counts_what_differs_alone() {
    let cells = grid(&["steps=4,8,16", "{day|night}", "model=a,b,c,d"]).cells();
    let told = forecast(&cells, |_| Some(CellTime { load_secs: 10.0, encode_secs: 2.0, denoise_secs: 3.0, other_secs: 1.0 }));
    // Two prompts and one negative prompt for each model.
    let expected = Forecast {
        pictures: 24,
        drafts: 0,
        loads: 4,
        encodings: 12,
        evaluations: 8 * 28,
        kept_evaluations: 0,
        secs: Some(40.0 + 12.0 + 96.0),
    };
    assert_eq!(told, expected);
    assert_eq!(told.to_string(), "24 pictures, 2 min 28 s, 12 text encodings, 4 model loads");
    assert_eq!(forecast(&cells[..1], none).to_string(), "1 picture, 2 text encodings, 1 model load");
}

#[test]
fn steps_that_cells_have_in_common_are_counted_once() {
    let cells = grid(&["upscale=1.5,2,3", "vae_tiling=on,off"]).cells();
    let told = forecast(&cells, none);
    // Twenty steps, and twenty more of each second pass, for which the texts are read in another size.
    assert_eq!((told.evaluations, told.kept_evaluations, told.encodings), (20 + 6 * 20, 5 * 20, 2 * 4));
    assert!(told.to_string().ends_with("100 of 240 steps are kept"), "{told}");
    let drafts = forecast(&grid(&["last_step=5,10,none", "sampler=heun"]).cells(), none);
    assert_eq!((drafts.evaluations, drafts.kept_evaluations), (10 + 20 + 19, 20), "drafts are made first");
}

#[test]
fn drafts_of_all_cells_come_before_any_that_is_finished_and_are_not_computed_twice() {
    let cells = grid(&["steps=4,8,16", "{day|night}", "upscale=1.5,2"]).cells();
    let turns = Grid::turns(&cells, Some(DraftStep::Usual));
    // Of four steps there is no draft; those of the upscaled ones are the same.
    let drafts: Vec<&Turn> = turns.iter().filter(|turn| turn.is_draft).collect();
    assert_eq!((drafts.len(), turns.len()), (4, 4 + 12));
    assert!(turns[..4].iter().all(|turn| turn.is_draft && turn.cells.len() == 2), "drafts are first");
    for turn in &drafts {
        assert_eq!((turn.recipe.draft_step(), turn.recipe.hires.as_ref()), (Some(turn.recipe.steps / 4), None));
        assert!(turn.cells.iter().all(|cell| cells[*cell].recipe.steps == turn.recipe.steps));
    }
    // What is finished is the cell itself, each once.
    let mut finished: Vec<usize> = turns[4..].iter().flat_map(|turn| turn.cells.clone()).collect();
    assert!(turns[4..].iter().all(|turn| turn.recipe == cells[turn.cells[0]].recipe));
    finished.sort_unstable();
    assert_eq!(finished, (0..12).collect::<Vec<_>>());
    let (with, without) = (Grid::forecast(&turns, none), forecast(&cells, none));
    assert_eq!((with.pictures, with.drafts, with.loads, with.encodings), (12, 4, 1, without.encodings));
    assert_eq!(with.evaluations, without.evaluations, "no step is computed twice");
    assert!(with.to_string().starts_with("12 pictures after 4 drafts, "), "{with}");
    assert!(Grid::suits_drafts(&cells) && !Grid::suits_drafts(&cells[..1]));
}

#[test]
fn drafts_that_stop_after_a_step_are_of_the_cells_that_go_on_behind_it() {
    let cells = grid(&["steps=4,8,16", "seed=1,2"]).cells();
    let steps = |last_step: u32| {
        let turns = Grid::turns(&cells, Some(DraftStep::After(last_step)));
        let drafts = turns.into_iter().filter(|turn| turn.is_draft);
        drafts.inspect(|turn| assert_eq!(turn.recipe.draft_step(), Some(last_step))).map(|turn| turn.recipe.steps).collect::<BTreeSet<_>>()
    };
    assert_eq!(steps(3), [4, 8, 16].into(), "also of few steps");
    assert_eq!(steps(4), [8, 16].into());
    assert_eq!(steps(15), [16].into());
    assert_eq!(steps(16), BTreeSet::new());
    let turns = Grid::turns(&cells, Some(DraftStep::After(4)));
    assert_eq!(Grid::forecast(&turns, none).kept_evaluations, 4 * 4);
}

#[test]
fn drafts_of_several_models_open_each_of_them_twice_but_one() {
    let cells = grid(&["model=a,b,c", "seed=1,2"]).cells();
    let turns = Grid::turns(&cells, Some(DraftStep::Usual));
    assert_eq!((turns.len(), Grid::forecast(&turns, none).loads), (12, 5));
    assert!(!Grid::suits_drafts(&cells), "a person is to choose it");
    // Drafts, branches and cached steps are made as they are.
    let own = grid(&["last_step=5,none", "step_cache={\"mode\":\"ucache\"},none"]).cells();
    assert_eq!(Grid::turns(&own, Some(DraftStep::Usual)).iter().filter(|turn| turn.is_draft).count(), 1);
}

const AXES: [&str; 9] = [
    "steps=4,8,16",
    "model=a,b",
    "{day|night}",
    "words=lake,hill",
    "cfg=1,4",
    "lora:ink=0.5,1",
    "seed=1..3",
    "upscale=1.5,2",
    "size=512x512,768x512",
];

proptest! {
    #[test]
    fn cells_that_share_a_model_a_text_or_steps_follow_each_other(
        axes in proptest::sample::subsequence(AXES.to_vec(), 1..=3), struck in proptest::collection::btree_set(0_usize..24, 0..9),
    ) {
        let all = grid(&axes).cells();
        let cells: Vec<Cell> = all.into_iter().enumerate().filter(|(index, _)| !struck.contains(index)).map(|(_, cell)| cell).collect();
        let order = Grid::order(&cells);
        prop_assert_eq!(order.iter().copied().collect::<BTreeSet<_>>().len(), cells.len());
        let runs = |key: &dyn Fn(&Recipe) -> String| {
            let keys: Vec<String> = order.iter().map(|index| key(&cells[*index].recipe)).collect();
            let changes = keys.windows(2).filter(|pair| pair[0] != pair[1]).count() + usize::from(!keys.is_empty());
            (changes, keys.into_iter().collect::<BTreeSet<_>>().len())
        };
        let (model_runs, models) = runs(&|recipe| format!("{:?}", recipe.only(Affects::Opening)));
        prop_assert_eq!(model_runs, models);
        let (step_runs, steps) = runs(&|recipe| format!("{:?} {}", recipe.only(Affects::Steps), recipe.width));
        prop_assert_eq!(step_runs, steps);
        let told = forecast(&cells, none);
        prop_assert_eq!((told.pictures, told.loads), (cells.len(), models));
        let alone: u64 = cells.iter().map(|cell| forecast(std::slice::from_ref(cell), none).evaluations).sum();
        prop_assert_eq!(told.evaluations + told.kept_evaluations, alone);
    }
}
