use proptest::prelude::*;

use super::*;

const SDXL: ModelSizes = ModelSizes { multiple: 64, least: 512, best: 1024, most: 1280 };

/// A mask with a rectangle of 255.
fn mask(width: u32, height: u32, rect: PixelRect) -> Mask {
    let mut mask = Mask::filled(width, height, 0);
    for (at, pixel) in mask.pixels_mut().iter_mut().enumerate() {
        if rect.contains((at as u32 % width) as i32, (at as u32 / width) as i32) {
            *pixel = 255;
        }
    }
    mask
}

fn rect(left: i32, top: i32, width: u32, height: u32) -> PixelRect {
    PixelRect { left, top, width, height }
}

#[test]
fn a_small_part_of_a_large_picture_is_seen_with_its_surroundings_and_upscaled() {
    let mask = mask(2000, 1500, rect(1000, 700, 100, 60));
    let plan = plan_area(&mask, &SDXL, 0.75, &AreaSettings::default()).unwrap();
    assert_eq!((plan.crop.width, plan.crop.height), (512, 512), "{:?}", plan.crop);
    assert_eq!(plan.work, (1024, 1024));
    assert!(plan.crop.contains(1050, 730));
    let wide = plan_area(&mask, &SDXL, 0.75, &AreaSettings { context: 8.0, ..AreaSettings::default() }).unwrap();
    assert_eq!((wide.crop.width, wide.crop.height), (832, 512), "{:?}", wide.crop);
}

#[test]
fn a_crop_near_the_best_size_is_widened_and_keeps_its_scale_and_a_large_one_is_reduced() {
    let plan = |side: u32| {
        let mask = mask(4000, 4000, rect(1500, 1500, side, side));
        plan_area(&mask, &SDXL, 0.5, &AreaSettings::default()).unwrap()
    };
    assert_eq!((plan(620).crop.width, plan(620).work), (1024, (1024, 1024)));
    assert_eq!((plan(800).crop.width, plan(800).work), (1216, (1216, 1216)));
    assert_eq!((plan(2000).crop.width, plan(2000).work), (3008, (1280, 1280)));
}

#[test]
fn a_chosen_crop_is_taken_and_widened_where_the_mask_reaches_out_of_it() {
    let mask = mask(1000, 1000, rect(400, 400, 50, 50));
    let plan = |crop| plan_area(&mask, &SDXL, 1.0, &AreaSettings { crop: Some(crop), ..AreaSettings::default() }).unwrap().crop;
    assert_eq!(plan(rect(100, 200, 700, 600)), rect(100, 200, 700, 600));
    let widened = plan(rect(420, 420, 900, 900));
    assert!(widened.left < 400 && widened.top < 400 && widened.right() == 1000 && widened.bottom() == 1000, "{widened:?}");
}

#[test]
fn an_empty_mask_and_a_faint_one_are_refused() {
    let settings = AreaSettings::default();
    assert_eq!(plan_area(&Mask::filled(64, 64, 0), &SDXL, 1.0, &settings), None);
    assert_eq!(plan_area(&Mask::filled(64, 64, 127), &SDXL, 1.0, &settings), None);
    assert_eq!(plan_area(&Mask::filled(0, 0, 0), &SDXL, 1.0, &settings), None);
}

#[test]
fn the_size_of_a_recipe_is_the_best_one() {
    assert_eq!(SDXL.with_size(64, 64), ModelSizes { least: 32, best: 64, most: 80, ..SDXL });
    assert_eq!(SDXL.with_size(2048, 2048), ModelSizes { least: 1024, best: 2048, most: 2560, ..SDXL });
    assert_eq!(SDXL.with_size(512, 2048), SDXL);
}

#[test]
fn the_edge_is_softer_at_higher_strengths_and_hard_for_the_engine_at_full_strength() {
    let mask = mask(800, 800, rect(300, 300, 200, 200));
    let plan = |strength| plan_area(&mask, &SDXL, strength, &AreaSettings::default()).unwrap();
    let denoised = |plan: &AreaPlan| plan.denoise.pixels().iter().filter(|it| **it > 0).count();
    assert!(denoised(&plan(0.9)) > denoised(&plan(0.2)));
    assert!(plan(0.9).denoise.pixels().iter().any(|it| (1..255).contains(it)));
    assert!(plan(1.0).denoise.pixels().iter().all(|it| *it == 0 || *it == 255));
    let hard = AreaSettings { soft_mask: false, ..AreaSettings::default() };
    assert!(plan_area(&mask, &SDXL, 0.5, &hard).unwrap().denoise.pixels().iter().all(|it| *it == 0 || *it == 255));
}

fn sizes() -> impl Strategy<Value = ModelSizes> {
    (prop::sample::select(vec![16_u32, 32, 64]), 64_u32..400, 0_u32..300, 0_u32..300).prop_map(|(multiple, least, more, most)| ModelSizes {
        multiple,
        least,
        best: least + more,
        most: least + more + most,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_plan_holds_its_promises(
        (width, height) in (1_u32..300, 1_u32..300),
        (left, top, wide, high) in (0_u32..300, 0_u32..300, 1_u32..200, 1_u32..200),
        sizes in sizes(),
        strength in -0.5_f32..1.5,
        context in 0.0_f32..10.0,
        feather in prop::option::of(0_u32..80),
        crop in prop::option::of((-50_i32..350, -50_i32..350, 0_u32..400, 0_u32..400)),
    ) {
        let mask = mask(width, height, rect((left % width) as i32, (top % height) as i32, wide, high));
        let crop = crop.map(|(left, top, width, height)| rect(left, top, width, height));
        let settings = AreaSettings { context, feather, crop, ..AreaSettings::default() };
        let plan = plan_area(&mask, &sizes, strength, &settings).unwrap();
        let again = plan_area(&mask, &sizes, strength, &settings).unwrap();
        prop_assert_eq!(&plan, &again);

        let selection = selection_bounds(&mask).unwrap();
        prop_assert_eq!(plan_crop((width, height), &selection, &sizes, strength, &settings), (plan.crop, plan.work));
        prop_assert!(!plan.crop.is_empty());
        prop_assert_eq!(plan.crop.intersection(&PixelRect::of_size(width, height)), plan.crop);
        for side in [plan.work.0, plan.work.1] {
            prop_assert!(side % sizes.multiple == 0 && (64..=16_384).contains(&side), "{:?}", plan.work);
        }
        let (pixels, most) = (u64::from(plan.work.0) * u64::from(plan.work.1), u64::from(sizes.most + sizes.multiple));
        let is_narrow = plan.crop.width.max(plan.crop.height) > 2 * plan.crop.width.min(plan.crop.height);
        prop_assert!(is_narrow || pixels <= most * most, "{:?}", plan.work);

        let size = (plan.crop.width, plan.crop.height);
        prop_assert_eq!((plan.denoise.width(), plan.denoise.height()), size);
        prop_assert_eq!((plan.paste.width(), plan.paste.height()), size);
        for y in 0..height {
            for x in 0..width {
                let (in_x, in_y) = (x as i32 - plan.crop.left, y as i32 - plan.crop.top);
                let is_inside = plan.crop.contains(x as i32, y as i32);
                let at = || (in_y as u32 * plan.crop.width + in_x as u32) as usize;
                if mask.row(y)[x as usize] == 255 {
                    prop_assert!(is_inside);
                    prop_assert_eq!((plan.denoise.pixels()[at()], plan.paste.pixels()[at()]), (255, 255));
                } else if is_inside && plan.paste.pixels()[at()] > 0 {
                    prop_assert!(plan.denoise.pixels()[at()] > 0, "what is kept was denoised");
                }
            }
        }
    }

    #[test]
    fn nothing_is_kept_at_an_edge_of_the_crop_inside_the_picture(left in 150_i32..250, top in 150_i32..250, side in 1_u32..100, strength in 0.0_f32..=1.0) {
        let plan = plan_area(&mask(500, 500, rect(left, top, side, side)), &SDXL.with_size(64, 64), strength, &AreaSettings::default()).unwrap();
        let (width, height) = (plan.crop.width, plan.crop.height);
        for y in 0..height {
            for x in 0..width {
                let is_edge = (x == 0 && plan.crop.left > 0) || (y == 0 && plan.crop.top > 0)
                    || (x + 1 == width && plan.crop.right() < 500) || (y + 1 == height && plan.crop.bottom() < 500);
                if is_edge {
                    prop_assert_eq!((plan.paste.row(y)[x as usize], plan.denoise.row(y)[x as usize]), (0, 0));
                }
            }
        }
    }
}
